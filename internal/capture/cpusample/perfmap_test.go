package cpusample

import (
	"os"
	"path/filepath"
	"testing"
)

func TestJitName(t *testing.T) {
	for entry, want := range map[string][2]string{
		"py::train:/app/train.py":         {"train (/app/train.py)", pythonModule},
		"py::Model.forward:/a:b/model.py": {"Model.forward (/a:b/model.py)", pythonModule},
		"py::f.<locals>.<lambda>:/x.py":   {"f.<locals>.<lambda> (/x.py)", pythonModule},
		"py::_find_and_load:<frozen importlib._bootstrap>": {"_find_and_load (<frozen importlib._bootstrap>)",
			pythonModule},
		"py::<module>:<string>":     {"<module> (<string>)", pythonModule},
		"py::f:relative.py":         {"f (relative.py)", pythonModule},
		"py::odd":                   {"odd", pythonModule},
		"py::":                      {"", pythonModule},
		"LazyCompile:*main /x.js:1": {"LazyCompile:*main /x.js:1", jitModule},
	} {
		if symbol, module := jitName(entry); symbol != want[0] || module != want[1] {
			t.Errorf("%s: %s of %s, want %s", entry, symbol, module, want)
		}
	}
}

// The file grows: whole lines are taken, each once; nonsense is passed over; what was written last counts.
func TestPerfMapGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perf-1.map")
	m := &perfMap{paths: []string{path}}
	m.update() // not there yet
	for _, step := range []struct {
		add  string
		want map[uint64]string
	}{
		{"1000 10 py::a:/a.py\n0x2000 0x20 jit b\nnonsense\n\n3000 zz c\n4000 0 empty\n5000 10 cut of",
			map[uint64]string{
				0xfff: "", 0x1000: "py::a:/a.py", 0x100f: "py::a:/a.py", 0x1010: "", 0x2010: "jit b", 0x3000: "",
				0x4000: "", 0x5000: "",
			}},
		{"f\n2000 20 newer\n", map[uint64]string{0x5000: "cut off", 0x2000: "newer", 0x1001: "py::a:/a.py"}},
		{"800 10 first\n", map[uint64]string{0x800: "first", 0x5000: "cut off"}},
	} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(step.add); err != nil {
			t.Fatal(err)
		}
		f.Close()
		m.update()
		for address, want := range step.want {
			if got := m.name(address); got != want {
				t.Errorf("%#x: %q, want %q", address, got, want)
			}
		}
	}
}

// In a container a process knows itself by another number and has a /tmp of its own; a link or a folder in the map's
// place is not followed.
func TestPerfMapOfContainer(t *testing.T) {
	proc := t.TempDir()
	tmp := filepath.Join(proc, "4242", "root", "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(proc, "4242", "status"), "Name:\tpython\nNSpid:\t4242\t7\n")
	write(filepath.Join(tmp, "perf-7.map"), "1000 10 inner\n")
	m := newPerfMap(proc, 4242)
	m.update()
	if got := m.name(0x1000); got != "inner" {
		t.Errorf("got %q", got)
	}
	if err := os.Rename(filepath.Join(tmp, "perf-7.map"), filepath.Join(tmp, "other")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(tmp, "perf-7.map")); err != nil {
		t.Fatal(err)
	}
	m = newPerfMap(proc, 4242)
	m.update()
	if got := m.name(0x1000); got != "" {
		t.Errorf("a link is followed: %q", got)
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add("1000 10 py::a:/a.py\n", "0x2000 20 b\n1000 10 c\n", uint64(0x1001))
	f.Fuzz(func(t *testing.T, first, second string, address uint64) {
		path := filepath.Join(t.TempDir(), "m")
		m := &perfMap{paths: []string{path}}
		for _, text := range []string{first, first + second} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			m.update()
		}
		if len(m.entries) > len(first)+len(second) {
			t.Error("more entries than bytes")
		}
		symbol, _ := jitName(m.name(address))
		_ = symbol
	})
}
