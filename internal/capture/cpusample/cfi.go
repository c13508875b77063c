package cpusample

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"sort"
)

// Call frame information: .eh_frame says for every instruction of a program how its caller's registers are found, as
// compilers write it for exceptions, with or without frame pointers. The format is that of DWARF 5 (part 6.4), with the
// changes of the Linux Standard Base (part 10.6). Numbers of registers are those of the x86-64 psABI.

// Registers of x86-64 in DWARF's numbering.
const (
	regBP    = 6
	regSP    = 7
	regRA    = 16 // the return address
	regCount = 17
)

// A rule says where a register of the caller is.
type rule struct {
	kind   ruleKind
	offset int64 // from the CFA
	expr   []byte
}

type ruleKind uint8

const (
	ruleSame     ruleKind   = iota // as in the callee
	ruleAt                         // in memory, at CFA + offset
	ruleValue                      // is CFA + offset
	ruleExprAt                     // in memory, where the expression says
	ruleExpr                       // is what the expression says
	ruleMissing                    // there is none: of the return address, the stack ends
	maxCFIBytes  = 64 << 10        // of a function's instructions
	maxTable     = 64 << 20        // of .eh_frame_hdr: 8 M functions
	maxRemember  = 8               // DW_CFA_remember_state within each other
	pointerTable = 0x3b            // DW_EH_PE_datarel|sdata4: how every linker writes the table
)

// A row is the rules for one instruction.
type row struct {
	cfaReg    uint8
	cfaOffset int64
	cfaExpr   []byte // instead of both
	regs      [regCount]rule
	changed   []uint8 // registers whose rule is not ruleSame
	signal    bool    // a signal's frame: its caller's address is not a return address
}

// nonSame is the registers whose rule is not ruleSame.
func (r *row) nonSame() (out []uint8) {
	for i := range r.regs {
		if r.regs[i].kind != ruleSame {
			out = append(out, uint8(i))
		}
	}
	return out
}

// A cfi finds rows of a program file. The table stays in memory, instructions in the file.
type cfi struct {
	file  io.ReaderAt
	loads []elf.ProgHeader
	at    uint64 // address of .eh_frame_hdr
	table []byte // pairs of (function, description), each int32 from at; sorted
}

var errCFI = errors.New("no call frame information that can be read")

// readCFI reads the table of a file. bytes is the file's length.
func readCFI(file io.ReaderAt, f *elf.File, bytes int64) (*cfi, error) {
	c := &cfi{file: file, loads: loadsOf(f)}
	var header *elf.Prog
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			header = p
		}
	}
	if header == nil || header.Filesz < 12 || header.Filesz > maxTable || header.Off > uint64(bytes) ||
		header.Filesz > uint64(bytes)-header.Off {
		return nil, errCFI
	}
	b := make([]byte, header.Filesz)
	if _, err := file.ReadAt(b, int64(header.Off)); err != nil {
		return nil, err
	}
	const version, fourBytes, udata4 = 1, 0xb, 3
	if b[0] != version || b[1]&0xf != fourBytes || b[2] != udata4 || b[3] != pointerTable {
		return nil, errCFI
	}
	n := uint64(binary.LittleEndian.Uint32(b[8:]))
	if n > uint64(len(b)-12)/8 {
		return nil, errCFI
	}
	c.at, c.table = header.Vaddr, b[12:12+8*n]
	return c, nil
}

// row is the rules at an address, as the file counts; ok is false where there are none.
func (c *cfi) row(address uint64) (r row, ok bool) {
	p, ok := c.find(address)
	if !ok {
		return r, false
	}
	p.row.regs[regRA] = rule{kind: ruleMissing}
	if !p.run(p.initial, ^uint64(0)) {
		return r, false
	}
	p.first = p.row
	if !p.run(p.code, address-p.start) {
		return r, false
	}
	p.row.signal, p.row.changed = p.signal, p.row.nonSame()
	return p.row, true
}

// find is the program of the function at an address.
func (c *cfi) find(address uint64) (p program, ok bool) {
	n := len(c.table) / 8
	entry := func(i, at int) uint64 {
		return c.at + uint64(int64(int32(binary.LittleEndian.Uint32(c.table[8*i+at:]))))
	}
	i := sort.Search(n, func(i int) bool { return entry(i, 0) > address })
	if i == 0 {
		return p, false
	}
	fde, err := c.entry(entry(i-1, 4))
	if err != nil || fde.id == 0 {
		return p, false
	}
	cie, err := c.entry(fde.cie)
	if err != nil || cie.id != 0 {
		return p, false
	}
	return p, p.describe(cie.body) && p.covers(fde, address)
}

// An entry is a CIE (id 0) or an FDE.
type entry struct {
	id   uint32
	cie  uint64 // address of an FDE's CIE
	at   uint64 // address of body
	body []byte
}

// entry reads the entry at an address.
func (c *cfi) entry(address uint64) (e entry, err error) {
	var head [8]byte
	if err = c.read(head[:], address); err != nil {
		return e, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 4 || length > maxCFIBytes {
		return e, errCFI // 0xffffffff, 64-bit lengths, among them: no compiler writes them here
	}
	e.id = binary.LittleEndian.Uint32(head[4:])
	e.cie, e.at = address+4-uint64(e.id), address+8
	e.body = make([]byte, length-4)
	return e, c.read(e.body, e.at)
}

// read reads memory as the file has it.
func (c *cfi) read(b []byte, address uint64) error {
	for _, p := range c.loads {
		if address >= p.Vaddr && address-p.Vaddr < p.Filesz && uint64(len(b)) <= p.Filesz-(address-p.Vaddr) {
			_, err := c.file.ReadAt(b, int64(p.Off+address-p.Vaddr))
			return err
		}
	}
	return errCFI
}

// A program runs the instructions of an entry until it comes to an address.
type program struct {
	codeAlign  uint64
	dataAlign  int64
	pointers   byte // how the FDE's addresses are written
	augmented  bool
	signal     bool
	initial    []byte
	start      uint64
	code       []byte
	row, first row
	remembered []row
}

// describe reads a CIE.
func (p *program) describe(b []byte) bool {
	c := cursor{b: b}
	version := c.u8()
	text := c.text()
	c.skip(len(text) + 1)
	p.codeAlign, p.dataAlign = c.uleb(), c.sleb()
	if version == 1 {
		c.u8()
	} else {
		c.uleb()
	}
	if len(text) > 0 && text[0] == 'z' {
		p.augmented = true
		extra := cursor{b: c.take(c.uleb())}
		for _, letter := range text[1:] {
			switch letter {
			case 'R':
				p.pointers = extra.u8()
			case 'P':
				if !extra.skipPointer(extra.u8()) {
					return false
				}
			case 'L':
				extra.u8()
			case 'S':
				p.signal = true
			}
		}
		c.failed = c.failed || extra.failed
	}
	p.initial = c.b
	return !c.failed && (version == 1 || version == 3)
}

// covers reads an FDE, and says whether an address is its function's.
func (p *program) covers(e entry, address uint64) bool {
	c := cursor{b: e.body}
	const pcrelSdata4 = 0x1b // how every compiler writes it for position-independent code, and GNU's for other code
	if p.pointers != pcrelSdata4 {
		return false
	}
	p.start = e.at + uint64(int64(int32(c.u32())))
	size := uint64(c.u32())
	if p.augmented {
		c.take(c.uleb())
	}
	p.code = c.b
	return !c.failed && address-p.start < size
}
