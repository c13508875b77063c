// Package cubin reads what a GPU's machine code says of itself: the functions of a cubin, which source line
// each instruction was made from, and what an instruction reads, writes and waits for. It knows no text form of
// the instructions: that takes NVIDIA's disassembler, which Disassemble runs where one is installed.
package cubin

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A File is a cubin, an ELF file of one module for one architecture. It holds on to the bytes that it was parsed from.
type File struct {
	Functions []*Function // in the order of the symbol table
	SM        int         // architecture, as 90 for 9.0; 0: the file does not say
	sections  []section
	byIndex   map[uint32]*Function
	byName    map[string]*Function // the first of a name
}

// A Function is a kernel or a function that kernels call.
type Function struct {
	Name   string // symbol, mangled
	Index  uint32 // of the symbol in the symbol table: profile.Function.Index
	Start  uint64 // offset in its section
	Code   []byte // InstructionBytes an instruction; callees that follow it in its section come behind Size
	Size   uint64 // bytes of it alone
	sm     int
	source *section
}

// InstructionBytes is how long an instruction is since Volta (compute capability 7.0).
const InstructionBytes = 16

// A section is the code of a kernel and the line table rows that belong to it.
type section struct {
	data      []byte
	loadedAt  uint64     // of a module that was stored as it ran; else 0
	sequences []sequence // by start
}

// Parse reads a cubin. Sizes and offsets in it are not believed: what lies outside the bytes given is left out or an
// error.
func Parse(data []byte) (*File, error) {
	f, err := elf.NewFile(standard{data})
	if err != nil {
		return nil, fmt.Errorf("not a cubin: %w", err)
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("not a cubin: %s %s, want 64 bits, little-endian", f.Class, f.Data)
	}
	file := &File{
		SM: architecture(data), sections: make([]section, len(f.Sections)),
		byIndex: make(map[uint32]*Function), byName: make(map[string]*Function),
	}
	for i, s := range f.Sections {
		if s.Flags&elf.SHF_COMPRESSED != 0 { // would unpack to any size; no cubin has one
			return nil, fmt.Errorf("cubin: section %d is compressed", i)
		}
		if s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_EXECINSTR != 0 {
			file.sections[i].data = inside(data, s.Offset, s.FileSize)
		}
	}
	symbols, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("cubin: symbols: %w", err)
	}
	file.unload(symbols)
	file.addFunctions(symbols)
	file.addLines(f, data, symbols)
	return file, nil
}

// standard is a cubin with the ELF version that package elf asks for. Up to CUDA 12 the field holds the toolkit's
// version: 128 for 12.8.
type standard struct{ data []byte }

func (s standard) ReadAt(p []byte, at int64) (int, error) {
	n, err := bytes.NewReader(s.data).ReadAt(p, at)
	const version = 20 // offset of e_version, four bytes
	for i, b := range [...]byte{byte(elf.EV_CURRENT), 0, 0, 0} {
		if j := version + int64(i) - at; j >= 0 && j < int64(n) {
			p[j] = b
		}
	}
	return n, err
}

// architecture is the compute capability in the ELF header's flags: since ABI version 8 it is in bits 8 to 15, before
// in bits 0 to 7.
func architecture(data []byte) int {
	const abiVersion, flags = 8, 48 // offsets in the header, which elf.NewFile has found whole
	if data[abiVersion] >= 8 {
		return int(data[flags+1])
	}
	return int(data[flags])
}

// inside is the part of data that a header names, or as much of it as is there.
func inside(data []byte, offset, size uint64) []byte {
	if offset >= uint64(len(data)) {
		return nil
	}
	return data[offset:][:min(size, uint64(len(data))-offset)]
}

// unload turns addresses of symbols into offsets. Up to 2022.1 reports hold modules as they were loaded: a kernel's
// symbol has the address that it ran at, which is the beginning of its section.
func (f *File) unload(symbols []elf.Symbol) {
	for _, s := range symbols {
		if at := f.section(s); at != nil && s.Value >= uint64(len(at.data)) &&
			(at.loadedAt == 0 || s.Value < at.loadedAt) {
			at.loadedAt = s.Value
		}
	}
	for i := range symbols {
		if at := f.section(symbols[i]); at != nil {
			symbols[i].Value = at.offset(symbols[i].Value)
		}
	}
}

// section is the section of a symbol; nil: it has none.
func (f *File) section(s elf.Symbol) *section {
	if int(s.Section) >= len(f.sections) {
		return nil
	}
	return &f.sections[s.Section]
}

// offset is a symbol's value, or an address where the module ran, as an offset in its section.
func (s *section) offset(value uint64) uint64 {
	if value >= uint64(len(s.data)) {
		return value - s.loadedAt
	}
	return value
}

func (f *File) addFunctions(symbols []elf.Symbol) {
	for i, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || int(s.Section) >= len(f.sections) {
			continue
		}
		at := &f.sections[s.Section]
		code := inside(at.data, s.Value, ^uint64(0))
		if len(code) < InstructionBytes {
			continue
		}
		fn := &Function{
			Name: s.Name, Index: uint32(i + 1), // Symbols leaves out the empty symbol 0
			Start: s.Value, Code: code, Size: min(s.Size, uint64(len(code))), sm: f.SM, source: at,
		}
		f.Functions = append(f.Functions, fn)
		f.byIndex[fn.Index] = fn
		if f.byName[fn.Name] == nil {
			f.byName[fn.Name] = fn
		}
	}
}

// Function is the function of that symbol, or nil. The number of the symbol decides where it is given and fits,
// since the name of a local function need not be the only one.
func (f *File) Function(symbol string, index uint32) *Function {
	if fn := f.byIndex[index]; fn != nil && fn.Name == symbol {
		return fn
	}
	return f.byName[symbol]
}

// A Line is a place in a source file.
type Line struct {
	File string // path as compiled
	Line int    // from 1
}

// maxInlined is how many calls deep a chain of inlined functions is followed: a table that points in circles ends
// there.
const maxInlined = 64

// Lines are where the instruction at offset (bytes from the function's start) comes from, innermost first: a line of an
// inlined function, then the line that called it, outwards. Empty: the table has no line for it.
func (fn *Function) Lines(offset uint64) []Line {
	at := fn.Start + offset
	after := sort.Search(len(fn.source.sequences), func(i int) bool { return fn.source.sequences[i].start > at })
	if after == 0 || at >= fn.source.sequences[after-1].end {
		return nil
	}
	return fn.source.sequences[after-1].lines(at)
}

// lines is Lines in a sequence that covers the offset.
func (s *sequence) lines(at uint64) []Line {
	after := sort.Search(len(s.order), func(i int) bool { return s.rows[s.order[i]].offset > at })
	if after == 0 {
		return nil
	}
	var lines []Line
	for row := s.order[after-1]; len(lines) < maxInlined; {
		r := s.rows[row]
		lines = append(lines, Line{s.file(r.file), int(r.line)})
		if r.context == 0 || int64(r.context) > int64(len(s.rows)) || int32(r.context-1) == row {
			break
		}
		row = int32(r.context - 1)
	}
	return lines
}

// HasLines says whether any instruction of the module has a line.
func (f *File) HasLines() bool {
	return slices.ContainsFunc(f.sections, func(s section) bool { return len(s.sequences) > 0 })
}

// Toolkit says whether a path belongs to CUDA's own headers, and not to the user's program: an instruction from one
// is better shown where the user called it.
func Toolkit(path string) bool {
	for _, part := range []string{"/cuda/", "/cuda-", "/nvhpc/", "/hpc_sdk/", "/nvidia/", "/usr/include/",
		"/usr/lib/"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return strings.Contains(path, "/targets/") && strings.Contains(path, "-linux/include")
}
