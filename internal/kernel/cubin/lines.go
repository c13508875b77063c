package cubin

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// A sequence is a run of rows of .debug_line for one stretch of code. Offsets are in its section.
type sequence struct {
	start, end uint64
	rows       []row   // as the table has them: a context is a row's number from 1
	order      []int32 // of rows, by offset
	unit       *unit
}

type row struct {
	offset  uint64
	file    uint32
	line    uint32
	context uint32 // row that called the inlined function which this one is in; 0: none
}

// A unit is the head of a line table: what its numbers mean.
type unit struct {
	directories      []string
	files            []fileEntry
	minInstruction   uint64
	lineBase         int64
	lineRange        uint64
	opcodeBase       byte
	operands         []byte // of the standard opcodes, from 1
	fromVersion4     bool
	addressAtSection func(at int, value uint64) (section int, offset uint64, ok bool)
}

type fileEntry struct {
	directory uint64
	name      string
}

// addLines reads .debug_line. Addresses in it are 0 until relocated: the relocation of an address says which function
// a sequence is of. debug/dwarf can neither relocate a cubin nor keep the rows' contexts, hence this decoder: DWARF 2
// to 4, as NVIDIA's compilers write (2 in all that were seen, up to CUDA 13.0).
func (f *File) addLines(file *elf.File, data []byte, symbols []elf.Symbol) {
	table := file.Section(".debug_line")
	if table == nil {
		return
	}
	relocations := relocations(file, data)
	bytes := inside(data, table.Offset, table.FileSize)
	locate := func(at int, value uint64) (int, uint64, bool) {
		r, ok := relocations[uint64(at)]
		if !ok || r.symbol == 0 || uint64(r.symbol) > uint64(len(symbols)) {
			return 0, 0, false
		}
		s := symbols[r.symbol-1]
		section := f.section(s)
		if section == nil {
			return 0, 0, false
		}
		if r.hasAddend {
			value = uint64(r.addend)
		}
		return int(s.Section), s.Value + section.offset(value), true
	}
	for at := 0; at+4 <= len(bytes); {
		length := binary.LittleEndian.Uint32(bytes[at:])
		if length >= 0xfffffff0 || uint64(length) > uint64(len(bytes)-at-4) { // 64-bit DWARF is not written for GPUs
			return
		}
		end := at + 4 + int(length)
		f.addUnit(&cursor{data: bytes[:end], at: at + 4}, locate)
		at = end
	}
	for i := range f.sections {
		slices.SortStableFunc(f.sections[i].sequences, func(a, b sequence) int { return cmp.Compare(a.start, b.start) })
	}
}

type relocation struct {
	symbol    uint32
	addend    int64
	hasAddend bool // else the addend is what stands at the place
}

// relocations are those of .debug_line by the offset that they change.
func relocations(file *elf.File, data []byte) map[uint64]relocation {
	found := make(map[uint64]relocation)
	for _, kind := range []struct {
		name string
		size int
	}{{".rel.debug_line", 16}, {".rela.debug_line", 24}} {
		s := file.Section(kind.name)
		if s == nil {
			continue
		}
		for part := inside(data, s.Offset, s.FileSize); len(part) >= kind.size; part = part[kind.size:] {
			r := relocation{symbol: binary.LittleEndian.Uint32(part[12:])}
			if kind.size == 24 {
				r.addend, r.hasAddend = int64(binary.LittleEndian.Uint64(part[16:])), true
			}
			found[binary.LittleEndian.Uint64(part)] = r
		}
	}
	return found
}

// addUnit reads one unit: its head, then its program.
func (f *File) addUnit(c *cursor, locate func(int, uint64) (int, uint64, bool)) {
	version := c.uint16()
	if version < 2 || version > 4 {
		return
	}
	headLength := c.uint32()
	program := c.at + int(min(uint64(headLength), uint64(len(c.data)-c.at)))
	u := &unit{addressAtSection: locate, fromVersion4: version >= 4}
	u.minInstruction = uint64(c.byte())
	if u.fromVersion4 {
		c.byte() // operations an instruction
	}
	c.byte() // is_stmt at first
	u.lineBase = int64(int8(c.byte()))
	u.lineRange = uint64(c.byte())
	u.opcodeBase = c.byte()
	if c.failed || u.lineRange == 0 || u.opcodeBase == 0 {
		return
	}
	u.operands = c.take(int(u.opcodeBase) - 1)
	for !c.failed && c.peek() != 0 {
		u.directories = append(u.directories, c.text())
	}
	c.byte()
	for !c.failed && c.peek() != 0 {
		u.files = append(u.files, c.fileEntry())
	}
	if c.failed {
		return
	}
	c.at = program
	for u.run(f, c) {
	}
}

// state is the registers of the line program's machine.
type state struct {
	row
	section int
	placed  bool // by a relocated address: else nobody knows which function the rows are of
}

// run reads one sequence; false: the program is over.
func (u *unit) run(f *File, c *cursor) bool {
	s := state{row: row{file: 1, line: 1}}
	var q sequence
	for !c.failed && c.at < len(c.data) {
		op := c.byte()
		switch {
		case op >= u.opcodeBase:
			adjusted := uint64(op - u.opcodeBase)
			s.offset += adjusted / u.lineRange * u.minInstruction
			s.line = uint32(int64(s.line) + u.lineBase + int64(adjusted%u.lineRange))
			q.rows = append(q.rows, s.row)
		case op == 0:
			if u.extended(c, &s) {
				if s.placed && len(q.rows) > 0 {
					u.keep(f, q, s)
				}
				return true
			}
		case op == 1: // copy
			q.rows = append(q.rows, s.row)
		default:
			u.standard(op, c, &s)
		}
	}
	return false
}

// standard does a standard opcode but copy.
func (u *unit) standard(op byte, c *cursor, s *state) {
	switch op {
	case 2: // advance pc
		s.offset += c.uleb() * u.minInstruction
	case 3: // advance line
		s.line = uint32(int64(s.line) + c.sleb())
	case 4: // set file
		s.file = uint32(min(c.uleb(), 1<<32-1))
	case 8: // as the special opcode 255, without a row
		s.offset += uint64(255-u.opcodeBase) / u.lineRange * u.minInstruction
	case 9: // advance pc, fixed
		s.offset += uint64(c.uint16())
	default: // column, flags and what this decoder does not know: skipped by their number of operands
		if int(op) <= len(u.operands) {
			for range u.operands[op-1] {
				c.uleb()
			}
		}
	}
}

// extended does an extended opcode and says whether it ended the sequence.
func (u *unit) extended(c *cursor, s *state) (ended bool) {
	length := c.uleb()
	if c.failed || length == 0 || length > uint64(len(c.data)-c.at) {
		c.failed = c.failed || length != 0
		return false
	}
	next := c.at + int(length)
	switch c.byte() {
	case 1: // end of sequence
		ended = true
	case 2: // set address
		if length == 9 {
			at := c.at
			s.section, s.offset, s.placed = u.addressAtSection(at, c.uint64())
		}
	case 0x90:
		// NVIDIA's: the rows from here on are inlined into the row of that number; the second operand is the callee's
		// name
		s.context = uint32(min(c.uleb(), 1<<32-1))
	}
	c.at = next
	return ended
}

// keep files a sequence under its section.
func (u *unit) keep(f *File, q sequence, s state) {
	q.unit = u
	q.order = make([]int32, len(q.rows))
	for i := range q.order {
		q.order[i] = int32(i)
	}
	slices.SortStableFunc(q.order, func(a, b int32) int { return cmp.Compare(q.rows[a].offset, q.rows[b].offset) })
	q.start, q.end = q.rows[q.order[0]].offset, s.offset
	at := &f.sections[s.section]
	at.sequences = append(at.sequences, q)
}

// file is the path of a file by its number.
func (s *sequence) file(n uint32) string {
	if n == 0 || uint64(n) > uint64(len(s.unit.files)) {
		return ""
	}
	f := s.unit.files[n-1]
	if f.directory == 0 || f.directory > uint64(len(s.unit.directories)) || len(f.name) > 0 && f.name[0] == '/' {
		return f.name
	}
	if directory := s.unit.directories[f.directory-1]; directory != "." {
		return directory + "/" + f.name
	}
	return f.name
}

// A cursor reads bytes; past the end it gives zeros and has failed.
type cursor struct {
	data   []byte
	at     int
	failed bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.data)-c.at {
		c.failed = true
		return make([]byte, min(max(n, 0), 256))
	}
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *cursor) byte() byte     { return c.take(1)[0] }
func (c *cursor) uint16() uint16 { return binary.LittleEndian.Uint16(c.take(2)) }
func (c *cursor) uint32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) uint64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }

func (c *cursor) peek() byte {
	if c.at >= len(c.data) {
		c.failed = true
		return 0
	}
	return c.data[c.at]
}

func (c *cursor) uleb() uint64 {
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		c.failed = true
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := 0; shift < 64; shift += 7 {
		b := c.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.failed = true
	return 0
}

func (c *cursor) text() string {
	end := bytes.IndexByte(c.data[c.at:], 0)
	if end < 0 {
		c.failed = true
		return ""
	}
	text := string(c.take(end))
	c.at++
	return text
}

func (c *cursor) fileEntry() fileEntry {
	name := c.text()
	directory := c.uleb()
	c.uleb() // time
	c.uleb() // size
	return fileEntry{directory, name}
}
