package cpusample

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"
)

// Bounds of what is read of a program file: the largest that are seen (browsers, libtorch with debug symbols) have 2
// million functions and names of 4 KiB.
const (
	maxFunctions = 4 << 20
	maxNameBytes = 4 << 10
)

// A module is a program file or library with its functions. Names stay in the file until they are asked for.
type module struct {
	file      io.ReaderAt
	loads     []elf.ProgHeader
	functions []function // sorted by address
	names     [len(symbolTables)]span
	stubs     []span // in memory: jumps to functions of other libraries
	cfi       *cfi   // nil: there is none

	// Of unwinding.
	entry         uint64 // address where the program begins
	framePointers bool   // functions that have no call frame information keep these
}

// A function is 24 bytes, of which there may be millions. size is never 0.
type function struct {
	address, size uint64
	name          uint32 // offset within the names
	table         uint8  // 0: names of .symtab, 1: of .dynsym
	open          bool   // has no size of its own (assembly): it ends where the next begins, or its section
}

// symbolTables are the sections with symbols, the fuller first.
var symbolTables = [...]elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM}

// span is a part of a file or of memory.
type span struct{ at, size uint64 }

var errNoSymbols = errors.New("has no symbols")

// readELF reads what functions a file has. The file stays in use.
func readELF(file io.ReaderAt, bytes int64) (*module, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	m := &module{file: file, loads: loadsOf(f)}
	for _, section := range f.Sections {
		if strings.HasPrefix(section.Name, ".plt") {
			m.stubs = append(m.stubs, span{section.Addr, section.Size})
		}
	}
	for i, kind := range symbolTables {
		if s := f.SectionByType(kind); s != nil && int(s.Link) < len(f.Sections) {
			m.readTable(f, s, i, uint64(bytes))
		}
	}
	m.cfi, err = readCFI(file, f, bytes)
	if len(m.functions) == 0 && err != nil {
		return nil, errNoSymbols
	}
	m.sort()
	return m, nil
}

// loadsOf is the parts of a file that are loaded.
func loadsOf(f *elf.File) (out []elf.ProgHeader) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			out = append(out, p.ProgHeader)
		}
	}
	return out
}

// readTable adds the functions of a table of symbols, read in pieces.
func (m *module) readTable(f *elf.File, s *elf.Section, table int, fileBytes uint64) {
	names := f.Sections[s.Link]
	if s.Type == elf.SHT_NOBITS || names.Type == elf.SHT_NOBITS || s.Offset > fileBytes ||
		s.FileSize > fileBytes-s.Offset ||
		f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		return
	}
	m.names[table] = span{names.Offset, names.FileSize}
	r := io.NewSectionReader(m.file, int64(s.Offset), int64(s.FileSize))
	buf := make([]byte, min(s.FileSize/elf.Sym64Size, 4096)*elf.Sym64Size)
	for len(buf) > 0 {
		n, err := io.ReadFull(r, buf)
		for b := buf[:n]; len(b) >= elf.Sym64Size; b = b[elf.Sym64Size:] {
			kind, section := elf.SymType(b[4]&15), binary.LittleEndian.Uint16(b[6:])
			// STT_GNU_IFUNC (10) names the function that chooses; its code is rarely what runs, but its name is right.
			if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || section == uint16(elf.SHN_UNDEF) ||
				len(m.functions) >= maxFunctions {
				continue
			}
			fn := function{
				address: binary.LittleEndian.Uint64(b[8:]), size: binary.LittleEndian.Uint64(b[16:]),
				name: binary.LittleEndian.Uint32(b), table: uint8(table),
			}
			if fn.size == 0 && int(section) < len(f.Sections) {
				fn.size, fn.open = f.Sections[section].Addr+f.Sections[section].Size-fn.address, true
			}
			if fn.size > 0 {
				m.functions = append(m.functions, fn)
			}
		}
		if err != nil {
			return
		}
	}
}

// sort orders functions by address. Where several names stand for one address, the first is the fullest table's with
// a size.
func (m *module) sort() {
	slices.SortFunc(m.functions, func(a, b function) int {
		switch {
		case a.address != b.address:
			return cmp.Compare(a.address, b.address)
		case a.open != b.open:
			if b.open {
				return -1
			}
			return 1
		}
		return cmp.Or(int(a.table)-int(b.table), cmp.Compare(a.name, b.name))
	})
	m.functions = slices.CompactFunc(m.functions, func(a, b function) bool { return a.address == b.address })
}

// address is where a byte of the file lies in memory, as the file counts: symbols count so too.
func (m *module) address(offset uint64) (uint64, bool) {
	for _, p := range m.loads {
		if offset >= p.Off && offset-p.Off < p.Filesz {
			return p.Vaddr + (offset - p.Off), true
		}
	}
	return 0, false
}

// name is the function at an address, or "".
func (m *module) name(address uint64) string {
	for _, s := range m.stubs {
		if address-s.at < s.size {
			return "[plt]"
		}
	}
	i := sort.Search(len(m.functions), func(i int) bool { return m.functions[i].address > address })
	// A function may lie within another (hot and cold parts, local labels): look back a few.
	for back := 1; back <= 4 && i-back >= 0; back++ {
		f := m.functions[i-back]
		if address-f.address < f.size && (back == 1 || !f.open) {
			return m.text(f)
		}
	}
	return ""
}

// begin is where the function at an address begins, of functions that have no name too, by what exceptions need; or
// the address.
func (m *module) begin(address uint64) uint64 {
	if m.cfi != nil {
		if p, ok := m.cfi.find(address); ok {
			return p.start
		}
	}
	return address
}

// text reads a function's name.
func (m *module) text(f function) string {
	names := m.names[f.table]
	if uint64(f.name) >= names.size {
		return ""
	}
	var buf [256]byte
	var out []byte
	for at := uint64(f.name); at < names.size && len(out) < maxNameBytes; {
		n, _ := m.file.ReadAt(buf[:min(uint64(len(buf)), names.size-at)], int64(names.at+at))
		if n == 0 {
			return ""
		}
		if end := slices.Index(buf[:n], 0); end >= 0 {
			return string(append(out, buf[:end]...))
		}
		out, at = append(out, buf[:n]...), at+uint64(n)
	}
	return string(out)
}
