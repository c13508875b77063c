package perf

import (
	"debug/elf"
	"encoding/binary"
	"io"
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

// An unwinder walks stacks by call frame information. It is used by one goroutine.
type unwinder struct {
	symbols *symbols // its own: with call frame information, without functions
	rows    map[place]*row
}

func newUnwinder(proc string) *unwinder {
	s := newSymbols(proc)
	s.read = readUnwind
	return &unwinder{symbols: s, rows: map[place]*row{}}
}

// readUnwind is the module of a file for unwinding.
func readUnwind(file io.ReaderAt, bytes int64) (*module, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	c, err := readCFI(file, f, bytes)
	if err != nil || f.Machine != elf.EM_X86_64 {
		return nil, errCFI
	}
	return &module{file: file, loads: c.loads, cfi: c}, nil
}

// walk is the addresses of a stack, innermost first. whole: it goes to where the thread began.
func (u *unwinder) walk(s *space, d *dump) (out []uint64, whole bool) {
	sp0, regs := d.regs[regSP], d.regs
	out = make([]uint64, 0, 64)
	signal := true // the innermost address is no return address
	for len(out) < maxWalk {
		pc := regs[regRA]
		if pc == 0 {
			return out, true
		}
		at := pc
		if !signal {
			at--
		}
		m := s.at(at)
		if m == nil {
			return out, false
		}
		if signal && len(out) > 0 {
			pc++ // callers are looked up one before: this one must be found where it is
		}
		out = append(out, pc)
		var next [regCount]uint64
		var ok, end bool
		if r := u.row(s, m, at); r != nil {
			next, ok, end = r.caller(&regs, d, sp0)
			signal = r.signal
		} else {
			next, ok = withoutCFI(s, m, &regs, d, sp0)
			signal = false
		}
		if end {
			return out, true
		}
		if !ok || next[regSP] <= regs[regSP] {
			return out, false
		}
		regs = next
	}
	return out, false
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
	if file := u.symbols.module(s.pid, m); file != nil {
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

// caller is the registers of the caller. end: there is none, the thread began here.
func (r *row) caller(regs *[regCount]uint64, d *dump, sp0 uint64) (next [regCount]uint64, ok, end bool) {
	var cfa uint64
	switch {
	case r.cfaExpr != nil:
		if cfa, ok = evaluate(r.cfaExpr, regs, d, sp0, nil); !ok {
			return next, false, false
		}
	case r.cfaReg < regCount:
		cfa = regs[r.cfaReg] + uint64(r.cfaOffset)
	default:
		return next, false, false
	}
	next = *regs
	next[regSP] = cfa
	for i, rule := range r.regs {
		switch rule.kind {
		case ruleAt:
			next[i], ok = d.word(sp0, cfa+uint64(rule.offset))
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

// withoutCFI is the caller of code that was made at run time. Python's trampolines, through which it calls each function so that
// profilers see them, keep either a frame pointer or nothing but room for one word between the stack pointer and the return address
// (Python/asm_trampoline.S of 3.12 and later); other compilers keep frame pointers.
func withoutCFI(s *space, m *mapping, regs *[regCount]uint64, d *dump, sp0 uint64) (next [regCount]uint64, ok bool) {
	next = *regs
	sp, bp := regs[regSP], regs[regBP]
	if !m.isFile() && bp != sp {
		if ra, has := d.word(sp0, sp+8); has && s.at(ra-1) != nil {
			next[regRA], next[regSP] = ra, sp+16
			return next, true
		}
	}
	if bp < sp {
		return next, false
	}
	ra, ok1 := d.word(sp0, bp+8)
	up, ok2 := d.word(sp0, bp)
	next[regRA], next[regBP], next[regSP] = ra, up, bp+16
	return next, ok1 && ok2
}

// evaluate runs a DWARF expression: those few operations that compilers and libc use in call frame information (frames that were
// aligned, stubs of the procedure linkage table, signal frames).
func evaluate(expr []byte, regs *[regCount]uint64, d *dump, sp0 uint64, first *uint64) (uint64, bool) {
	const (
		opDeref, opConst1u, opConst1s, opAnd, opMinus, opPlus, opPlusConst, opShl, opGe = 0x06, 0x08, 0x09, 0x1a, 0x1c, 0x22, 0x23, 0x24, 0x2a
		opLit0, opLit31, opBreg0, opBreg16                                              = 0x30, 0x4f, 0x70, 0x80
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
