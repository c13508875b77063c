package cpusample

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Every function that nm lists in a program is found, at its first and at its last byte.
func TestReadELF(t *testing.T) {
	nm, err := exec.LookPath("nm")
	if err != nil {
		t.Skip("NOT TESTED: there is no nm here")
	}
	program := compiled(t, "hot.c")
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	m, err := readELF(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.Command(nm, "-S", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(list)) {
		w := strings.Fields(line)
		if len(w) != 4 || strings.ToLower(w[2]) != "t" {
			continue
		}
		address, _ := strconv.ParseUint(w[0], 16, 64)
		size, _ := strconv.ParseUint(w[1], 16, 64)
		for _, a := range []uint64{address, address + size - 1} {
			if got := m.name(a); got != w[3] {
				t.Errorf("%#x: %q, want %s", a, got, w[3])
			}
		}
		n++
	}
	if n < 5 {
		t.Errorf("nm lists %d functions", n)
	}
	if got := m.name(0); got != "" {
		t.Errorf("address 0 is %s", got)
	}
}

// Of a program without symbols every address of a function is told by where the function begins.
func TestStripped(t *testing.T) {
	program := compiled(t, "hot.c")
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	full, err := readELF(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	strip, err := exec.LookPath("strip")
	if err != nil {
		t.Skip("NOT TESTED: there is no strip here")
	}
	if out, err := exec.Command(strip, "-o", program+".bare", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := newSymbols(t.TempDir())
	defer s.close()
	m := &mapping{start: 0, end: 1 << 20, path: program + ".bare"}
	for _, fn := range full.functions {
		if full.text(fn) != "hot_three" {
			continue
		}
		offset := fn.address - full.loads[1].Vaddr + full.loads[1].Off // the second segment is the code
		for _, at := range []uint64{offset, offset + fn.size - 1} {
			got, found, _ := s.name(newSpace(1), m, at)
			if want := fmt.Sprintf("hot.bare+%#x", fn.address); found || got.symbol != want {
				t.Errorf("%v, want %s", got, want)
			}
		}
		return
	}
	t.Error("no hot_three")
}

func FuzzELF(f *testing.F) {
	if vdso := ownVDSO(); vdso != nil { // a small whole one
		f.Add(vdso, uint64(0x800))
		f.Add(vdso[:len(vdso)/2], uint64(0x800))
	}
	f.Fuzz(func(t *testing.T, b []byte, address uint64) {
		m, err := readELF(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if len(m.functions) > len(b)/24*2 {
			t.Fatalf("%d functions in %d bytes", len(m.functions), len(b))
		}
		m.name(address)
		for _, fn := range m.functions[:min(len(m.functions), 16)] {
			m.name(fn.address)
		}
		m.address(address)
	})
}

// The vdso names what programs call in it.
func TestVDSO(t *testing.T) {
	image := ownVDSO()
	if image == nil {
		t.Skip("NOT TESTED: this system has no vdso")
	}
	m, err := readELF(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	s := newSymbols("/proc")
	in := &mapping{start: 0x7000, end: 0x7000 + uint64(len(image)), path: vdsoModule}
	for _, f := range m.functions {
		if want := m.text(f); strings.Contains(want, "clock_gettime") {
			// It begins with its only segment, at 0.
			if got, found, _ := s.name(newSpace(1), in, 0x7000+f.address); !found || got != (named{want, vdsoModule}) {
				t.Errorf("%v, want %s", got, want)
			}
			return
		}
	}
	t.Errorf("no clock_gettime among %d functions", len(m.functions))
}
