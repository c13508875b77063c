package cpusample

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"slices"
	"strings"
)

// A dump is what a thread had in its registers and on its stack when it was sampled.
type dump struct {
	regs  [regCount]uint64 // DWARF's numbering; regRA is where it was
	stack []byte           // from the stack pointer on
	full  bool             // it may go on
}

// word is the memory at an address of the stack.
func (d *dump) word(sp0, address uint64) (uint64, bool) {
	at := address - sp0
	if at > uint64(len(d.stack)) || uint64(len(d.stack))-at < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(d.stack[at:]), true
}

// An ending is why a stack is followed no further.
type ending uint8

const (
	atStart ending = iota // the thread began there
	tooDeep               // it is deeper than what was taken of it, or has more than maxWalk frames
	astray                // code has neither call frame information nor frame pointers, or they lead nowhere
)

// An unwinder walks stacks by call frame information. It is used by one goroutine.
type unwinder struct {
	symbols *symbols // its own: with call frame information, without functions
	rows    map[place]*row
	recent  [1 << 12]lookup // by address: stacks have most of their frames from the last one
	out     []uint64
}

// A lookup is what was found for an address of a space.
type lookup struct {
	space   *space
	version uint32 // of the space
	address uint64
	mapping *mapping
	row     *row
}

func newUnwinder(proc string) *unwinder {
	s := newSymbols(proc)
	s.read = readUnwind
	return &unwinder{symbols: s, rows: map[place]*row{}}
}

// readUnwind is the module of a file for unwinding. Go's compiler writes no call frame information but keeps frame
// pointers.
func readUnwind(file io.ReaderAt, bytes int64) (*module, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	if f.Machine != elf.EM_X86_64 {
		return nil, errCFI
	}
	m := &module{file: file, loads: loadsOf(f), entry: f.Entry}
	if m.cfi, err = readCFI(file, f, bytes); err != nil {
		m.cfi = nil
	}
	isGo := func(s *elf.Section) bool { return strings.HasSuffix(s.Name, ".gopclntab") }
	m.framePointers = m.cfi == nil || slices.ContainsFunc(f.Sections, isGo)
	return m, nil
}

// walk is the addresses of a stack, innermost first, and why there are no more. They are kept until the next walk.
func (u *unwinder) walk(s *space, d *dump) (_ []uint64, end ending) {
	sp0, regs := d.regs[regSP], d.regs
	out := u.out[:0]
	defer func() { u.out = out }()
	exact := true // the innermost address is no return address
	for len(out) < maxWalk {
		pc := regs[regRA]
		if pc == 0 {
			return out, atStart
		}
		at := pc
		if !exact {
			at--
		}
		found := u.find(s, at)
		if found.mapping == nil {
			return out, astray
		}
		if exact && len(out) > 0 {
			pc++ // callers are looked up one before: this one must be found where it is
		}
		out = append(out, pc)
		var next [regCount]uint64
		var ok, start bool
		if r := found.row; r != nil {
			next, ok, start = r.caller(&regs, d, sp0)
			exact = r.signal
		} else {
			next, ok, start = u.withoutCFI(s, found.mapping, at, len(out) == 1, &regs, d, sp0)
			exact = false
		}
		switch {
		case start:
			return out, atStart
		case !ok && d.endsBefore(next[regSP]):
			return out, tooDeep
		case !ok || next[regSP] <= regs[regSP]:
			return out, astray
		}
		regs = next
	}
	return out, tooDeep
}

// endsBefore says whether the stack goes on to an address beyond what was taken of it. A frame of more than 1 MiB is
// nonsense.
func (d *dump) endsBefore(address uint64) bool {
	const largest = 1 << 20
	end := d.regs[regSP] + uint64(len(d.stack))
	return d.full && address > end-8 && address < end+largest
}

// find is the mapping and the rules of an address; nil: there are none.
func (u *unwinder) find(s *space, address uint64) *lookup {
	l := &u.recent[(address^address>>12)%uint64(len(u.recent))]
	if l.space != s || l.version != s.version || l.address != address {
		*l = lookup{space: s, version: s.version, address: address, mapping: s.at(address)}
		if l.mapping != nil {
			l.row = u.row(s, l.mapping, address)
		}
	}
	return l
}

// row is the rules at an address; nil: there are none.
func (u *unwinder) row(s *space, m *mapping, address uint64) *row {
	if !m.isFile() && m.path != vdsoModule {
		return nil
	}
	key := place{m, address}
	if r, known := u.rows[key]; known {
		return r
	}
	var found *row
	if file := u.symbols.module(s.pid, m); file != nil && file.cfi != nil {
		if inFile, ok := file.address(address - m.start + m.offset); ok {
			if r, ok := file.cfi.row(inFile); ok {
				found = &r
			}
		}
	}
	if len(u.rows) >= maxNames {
		clear(u.rows)
	}
	u.rows[key] = found
	return found
}

// caller is the registers of the caller. start: there is none, the thread began here. Where it fails next has as much
// as is known.
func (r *row) caller(regs *[regCount]uint64, d *dump, sp0 uint64) (next [regCount]uint64, ok, start bool) {
	var cfa uint64
	switch {
	case r.cfaExpr != nil:
		if cfa, ok = evaluate(r.cfaExpr, regs, d, sp0, nil); !ok {
			next[regSP] = regs[regBP] // the expressions of compilers begin with it
			return next, false, false
		}
	case r.cfaReg < regCount:
		cfa = regs[r.cfaReg] + uint64(r.cfaOffset)
	default:
		return next, false, false
	}
	next = *regs
	next[regSP] = cfa
	for _, i := range r.changed {
		rule := &r.regs[i]
		switch rule.kind {
		case ruleAt:
			address := cfa + uint64(rule.offset)
			if address < regs[regSP] && i != regRA {
				continue // the function is about to return: it has taken the register from there already
			}
			next[i], ok = d.word(sp0, address)
		case ruleValue:
			next[i], ok = cfa+uint64(rule.offset), true
		case ruleExprAt, ruleExpr:
			if next[i], ok = evaluate(rule.expr, regs, d, sp0, &cfa); ok && rule.kind == ruleExprAt {
				next[i], ok = d.word(sp0, next[i])
			}
		case ruleMissing:
			if i == regRA {
				return next, true, true
			}
			continue
		default:
			continue
		}
		if !ok && (i == regRA || i == regBP || i == regSP) {
			return next, false, false
		}
	}
	return next, true, false
}

// withoutCFI is the caller of code that has no call frame information. Python's trampolines, through which it calls
// each function so that profilers see them, keep either a frame pointer or nothing but room for one word between the
// stack pointer and the return address (Python/asm_trampoline.S of 3.12 and later), and the innermost not even that
// at its beginning and end; other compilers keep frame pointers. The last of these is 0, and so ends a stack where
// all code has them. Where the loader begins there is neither. Where it fails next has as much as is known.
func (u *unwinder) withoutCFI(s *space, m *mapping, address uint64, innermost bool, regs *[regCount]uint64, d *dump,
	sp0 uint64) (next [regCount]uint64, ok, start bool) {
	next = *regs
	sp, bp := regs[regSP], regs[regBP]
	if !m.isFile() && bp != sp {
		for _, at := range [...]uint64{sp + 8, sp} {
			ra, has := d.word(sp0, at)
			if !has || s.at(ra-1) != nil {
				next[regRA], next[regSP] = ra, at+8
				return next, has, false
			}
			if !innermost {
				break
			}
		}
	}
	if file := u.file(s, m); file != nil {
		at, _ := file.address(address - m.start + m.offset)
		start = bp == 0 && file.framePointers || at-file.entry < entryBytes
	}
	if start || bp < sp {
		return next, false, start
	}
	ra, ok1 := d.word(sp0, bp+8)
	up, ok2 := d.word(sp0, bp)
	next[regRA], next[regBP], next[regSP] = ra, up, bp+16
	return next, ok1 && ok2, false
}

// entryBytes is how long the code is with which the loader of libc begins; it has 80 (RTLD_START,
// sysdeps/x86_64/dl-machine.h).
const entryBytes = 96

// file is the program file of a mapping; nil: it has none, or none that can be read.
func (u *unwinder) file(s *space, m *mapping) *module {
	if !m.isFile() {
		return nil
	}
	return u.symbols.module(s.pid, m)
}

// evaluate runs a DWARF expression: those few operations that compilers and libc use in call frame information
// (frames that were aligned, stubs of the procedure linkage table, signal frames).
func evaluate(expr []byte, regs *[regCount]uint64, d *dump, sp0 uint64, first *uint64) (uint64, bool) {
	const (
		opDeref, opConst1u, opConst1s, opAnd, opMinus, opPlus, opPlusConst, opShl, opGe = 0x06, 0x08, 0x09, 0x1a, 0x1c,
			0x22, 0x23, 0x24, 0x2a
		opLit0, opLit31, opBreg0, opBreg16 = 0x30, 0x4f, 0x70, 0x80
	)
	var stack [16]uint64
	n := 0
	if first != nil {
		stack[0], n = *first, 1
	}
	c := cursor{b: expr}
	for len(c.b) > 0 {
		op := c.u8()
		var v uint64
		switch {
		case op >= opLit0 && op <= opLit31:
			v = uint64(op - opLit0)
		case op >= opBreg0 && op <= opBreg16:
			v = regs[op-opBreg0] + uint64(c.sleb())
		case op == opConst1u:
			v = uint64(c.u8())
		case op == opConst1s:
			v = uint64(int64(int8(c.u8())))
		case op == opDeref || op == opPlusConst:
			if n < 1 {
				return 0, false
			}
			n--
			if v = stack[n]; op == opPlusConst {
				v += c.uleb()
			} else if w, ok := d.word(sp0, v); ok {
				v = w
			} else {
				return 0, false
			}
		default:
			if n < 2 {
				return 0, false
			}
			n -= 2
			a, b := stack[n], stack[n+1]
			switch op {
			case opAnd:
				v = a & b
			case opMinus:
				v = a - b
			case opPlus:
				v = a + b
			case opShl:
				v = a << (b & 63)
			case opGe:
				if int64(a) >= int64(b) {
					v = 1
				}
			default:
				return 0, false
			}
		}
		if c.failed || n >= len(stack) {
			return 0, false
		}
		stack[n] = v
		n++
	}
	return stack[max(n-1, 0)], n > 0
}
