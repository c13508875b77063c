package cpusample

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// dumpOf is a sample with registers and stack, as the kernel writes it.
func dumpOf(regs [regCount]uint64, stack []byte, dynamic uint64) []byte {
	b := sampleOf(10, 10, 7, 2, contextUser, 0x1010)
	b = append(b, u64s(2)...)
	for _, reg := range dwarfRegs {
		b = append(b, u64s(regs[reg])...)
	}
	b = append(append(append(b, u64s(uint64(len(stack)))...), stack...), u64s(dynamic)...)
	binary.LittleEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

func TestParseDump(t *testing.T) {
	var regs [regCount]uint64
	for i := range regs {
		regs[i] = uint64(100 + i)
	}
	stack := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 4)
	for _, dynamic := range []uint64{0, 16, 32} {
		b := dumpOf(regs, stack, dynamic)
		r, ok := parse(b, true)
		if !ok || r.dump == nil || r.dump.regs != regs || !bytes.Equal(r.dump.stack, stack[:dynamic]) ||
			r.dump.full != (dynamic == 32) {
			t.Errorf("%d: %v %+v", dynamic, ok, r.dump)
		}
		for n := range len(b) {
			parse(b[:n], true)
		}
	}
	if r, _ := parse(dumpOf(regs, stack, 33), true); r.dump != nil && len(r.dump.stack) > 32 {
		t.Error("more stack than there is")
	}
	kernelThread := append(sampleOf(10, 10, 7, 1), u64s(0, 0)...)
	if r, ok := parse(kernelThread, true); !ok || r.dump != nil {
		t.Error("a thread without registers has some")
	}
}

// Code that was made at run time: a trampoline of Python 3.12, one with a frame pointer, and what is none of both.
func TestWithoutCFI(t *testing.T) {
	s := newSpace(1)
	jit := &mapping{start: 0x1000, end: 0x2000, path: "//anon"}
	file := &mapping{start: 0x5000, end: 0x6000, path: "/no/c.so"}
	s.add(jit)
	s.add(file)
	const sp = 0x8000
	for _, test := range []struct {
		name           string
		in             *mapping
		bp             uint64
		stack          []uint64
		ok             bool
		ra, up, callSP uint64
		innermost      bool
	}{
		{"room for a word", jit, 0x7777, []uint64{0xdead, 0x5010}, true, 0x5010, 0x7777, sp + 16, false},
		{"frame pointer", jit, sp, []uint64{0x8100, 0x5010}, true, 0x5010, 0x8100, sp + 16, false},
		{"frame pointer further up", jit, sp + 16, []uint64{1, 2, 0x8100, 0x5020}, true, 0x5020, 0x8100, sp + 32,
			false},
		{"a library without information", file, sp + 16, []uint64{1, 0x5010, 0x8100, 0x5020}, true, 0x5020, 0x8100,
			sp + 32, false},
		{"a trampoline that has not yet made room", jit, 0x7777, []uint64{0x5010, 0xdead}, true, 0x5010, 0x7777, sp +
			8, true},
		{"the same, further out", jit, 0x7777, []uint64{0x5010, 0xdead}, false, 0, 0, 0, false},
		{"neither", jit, 0x10, []uint64{1, 2}, false, 0, 0, 0, false},
		{"beyond what was kept", jit, sp + 64, []uint64{1, 2}, false, 0, 0, 0, false},
		{"far beyond", jit, ^uint64(0) - 3, []uint64{1, 2}, false, 0, 0, 0, false},
	} {
		regs := [regCount]uint64{regSP: sp, regBP: test.bp, regRA: 0x1010}
		next, ok, _ := newUnwinder(t.TempDir()).withoutCFI(s, test.in, 0x1010, test.innermost, &regs,
			&dump{regs: regs, stack: u64s(test.stack...)}, sp)
		if ok != test.ok || ok && (next[regRA] != test.ra || next[regBP] != test.up || next[regSP] != test.callSP) {
			t.Errorf("%s: %v, to %#x, frame %#x, stack %#x", test.name, ok, next[regRA], next[regBP], next[regSP])
		}
	}
}

// A stack that goes on beyond what was taken of it is too deep; one whose next frame lies elsewhere has gone astray.
func TestEndings(t *testing.T) {
	s := newSpace(1)
	s.add(&mapping{start: 0x1000, end: 0x2000, path: "//anon"})
	const sp = 0x8000
	for _, test := range []struct {
		name  string
		bp    uint64
		stack []uint64
		full  bool
		want  ending
		depth int
	}{
		{"the next frame is beyond", sp + 16, []uint64{1, 2, sp + 256, 0x1020, 1, 1}, true, tooDeep, 2},
		{"a trampoline is cut", 0x77, []uint64{1}, true, tooDeep, 1},
		{"the stack is whole", sp + 16, []uint64{1, 2, sp + 256, 0x1020, 1, 1}, false, astray, 2},
		{"the next frame is far away", sp + 16, []uint64{1, 2, 1 << 40, 0x1020, 1, 1}, true, astray, 2},
		{"it goes to no code", sp, []uint64{sp + 256, 0x9990, 1, 1, 1}, true, astray, 1},
		{"it begins there", sp, []uint64{sp + 256, 0, 1, 1, 1}, true, atStart, 1},
	} {
		d := &dump{regs: [regCount]uint64{regSP: sp, regBP: test.bp, regRA: 0x1010}, stack: u64s(test.stack...),
			full: test.full}
		stack, end := newUnwinder(t.TempDir()).walk(s, d)
		if end != test.want || len(stack) != test.depth {
			t.Errorf("%s: ending %d after %#x, want %d after %d frames", test.name, end, stack, test.want, test.depth)
		}
	}
}

// Within a function's last instructions its registers are those of its caller again, and their places on the stack
// are given up.
func TestCallerAtTheEndOfAFunction(t *testing.T) {
	const sp = 0x8000
	regs := [regCount]uint64{regSP: sp, regBP: 0x7777, regRA: 0x1010}
	r := row{cfaReg: regSP, cfaOffset: 8}
	r.regs[regRA] = rule{kind: ruleAt, offset: -8}
	r.regs[regBP] = rule{kind: ruleAt, offset: -16}
	r.changed = r.nonSame()
	next, ok, start := r.caller(&regs, &dump{regs: regs, stack: u64s(0x5010)}, sp)
	if !ok || start || next[regRA] != 0x5010 || next[regBP] != 0x7777 || next[regSP] != sp+8 {
		t.Errorf("%v, %v, to %#x", ok, start, next)
	}
	r.regs[regRA].offset = -16 // nobody could return from there
	if _, ok, _ := r.caller(&regs, &dump{regs: regs, stack: u64s(0x5010)}, sp); ok {
		t.Error("a return address below the stack is taken")
	}
}

func TestEvaluate(t *testing.T) {
	regs := [regCount]uint64{6: 0x8010, 7: 0x8000, regRA: 0x100b}
	d := &dump{regs: regs, stack: u64s(11, 22, 33)}
	first := uint64(5)
	for _, test := range []struct {
		expr  string
		first *uint64
		want  uint64
		ok    bool
	}{
		// breg6 -8, deref: a frame that was aligned
		{"\x76\x78\x06", nil, 22, true},
		// a stub of the linkage table, at its second half
		{"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", nil, 0x8010, true},
		{"\x23\x03", &first, 8, true},
		{"\x08\xff\x09\xff\x22", nil, 254, true},
		{"\x06", nil, 0, false},
		{"\x22", nil, 0, false},
		{"", nil, 0, false},
		{"\xff", nil, 0, false},
		{"\x76\x80\x01\x06", nil, 0, false}, // outside of what was kept
		{strings.Repeat("\x30", 100), nil, 0, false},
	} {
		got, ok := evaluate([]byte(test.expr), &regs, d, 0x8000, test.first)
		if ok != test.ok || ok && got != test.want {
			t.Errorf("% x: %#x, %v; want %#x, %v", test.expr, got, ok, test.want, test.ok)
		}
	}
}

// What is read of a program's call frame information is what readelf reads.
func TestCFIAgainstReadelf(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("NOT TESTED: there is no readelf here")
	}
	for _, program := range []string{compiled(t, "hot.c", "-O2", "-fomit-frame-pointer"), "/bin/bash",
		"/lib/x86_64-linux-gnu/libc.so.6"} {
		f, err := os.Open(program)
		if err != nil {
			t.Logf("NOT TESTED: %v", err)
			continue
		}
		defer f.Close()
		info, _ := f.Stat()
		m, err := readUnwind(f, info.Size())
		if err != nil || m.cfi == nil {
			t.Fatal(program, err, "no call frame information is read")
		}
		// it fails where a file of debug symbols is missing
		out, _ := exec.Command(readelf, "--debug-dump=frames-interp", program).Output()
		checked := compareRows(t, m.cfi, string(out))
		if t.Logf("%s: %d rows", program, checked); checked < 20 {
			t.Errorf("%s: %d rows compared", program, checked)
		}
	}
}

// compareRows compares each row of a listing: "ADDRESS CFA REGISTERS", below a line that names the columns.
func compareRows(t *testing.T, c *cfi, listing string) (checked int) {
	names := map[string]int{"rbx": 3, "rbp": 6, "r12": 12, "r13": 13, "r14": 14, "r15": 15, "ra": regRA}
	sections := map[string]int{"rsp": regSP, "rbp": regBP}
	var columns []string
	wrong := 0
	inFDE := false
	for line := range strings.Lines(listing) {
		w := strings.Fields(line)
		switch {
		case strings.Contains(line, " FDE ") || strings.Contains(line, " CIE"):
			inFDE = strings.Contains(line, " FDE ")
		case len(w) > 2 && w[0] == "LOC":
			columns = w[2:]
		case inFDE && len(w) == len(columns)+2 && len(w[0]) == 16 && wrong < 10:
			address, err := strconv.ParseUint(w[0], 16, 64)
			register, offset, ok := strings.Cut(w[1], "+")
			if err != nil || !ok {
				continue // an expression
			}
			r, found := c.row(address)
			n, _ := strconv.ParseInt(offset, 10, 64)
			if sections[register] != 0 && (!found || int(r.cfaReg) != sections[register] || r.cfaOffset != n ||
				r.cfaExpr != nil) {
				t.Errorf("%s: CFA is register %d%+d, found %v; readelf says %s", w[0], r.cfaReg, r.cfaOffset, found,
					w[1])
				wrong++
			}
			for i, column := range columns {
				at, isAt := strings.CutPrefix(w[i+2], "c")
				reg, ours := names[column]
				if n, err := strconv.ParseInt(at, 10, 64); isAt && ours && err == nil &&
					(r.regs[reg].kind != ruleAt || r.regs[reg].offset != n) {
					t.Errorf("%s: %s is %+v; readelf says %s", w[0], column, r.regs[reg], w[i+2])
					wrong++
				}
			}
			checked++
		}
	}
	return checked
}

func FuzzCFI(f *testing.F) {
	vdso := ownVDSO()
	stack := make([]byte, 256)
	f.Add(vdso, uint64(0x800), stack)
	f.Fuzz(func(t *testing.T, image []byte, address uint64, stack []byte) {
		m, err := readUnwind(bytes.NewReader(image), int64(len(image)))
		if err != nil || m.cfi == nil {
			return
		}
		c := m.cfi
		for i := range uint64(32) {
			if r, ok := c.row(address + i*16); ok {
				regs := [regCount]uint64{regSP: 0x8000, regBP: 0x8010, regRA: address}
				r.caller(&regs, &dump{regs: regs, stack: stack}, 0x8000)
			}
		}
	})
}

// Whatever a CIE, a function's instructions and an expression say, running them ends and does not panic.
func FuzzCFIProgram(f *testing.F) {
	f.Add([]byte("\x01zR\x00\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01"), []byte("\x41\x0e\x10\x86\x02\x43\x0d\x06"),
		[]byte("\x76\x78\x06"))
	f.Fuzz(func(_ *testing.T, cie, code, expr []byte) {
		var p program
		if p.describe(cie) && p.run(p.initial, ^uint64(0)) {
			p.first = p.row
			p.run(code, 1000)
		}
		regs := [regCount]uint64{regSP: 0x8000}
		evaluate(expr, &regs, &dump{stack: cie}, 0x8000, nil)
	})
}
