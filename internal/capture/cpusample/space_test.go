package cpusample

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// Mappings over mappings: every address belongs to the last that was put over it, with the right place in its file.
func TestSpaceAdd(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		s := newSpace(1)
		var path [200]string
		var offset [200]uint64
		for i := range 30 {
			start := uint64(random.IntN(190))
			end := start + uint64(random.IntN(int(200-start)))
			m := &mapping{start: start, end: end, offset: uint64(1000 * i), path: string(rune('a' + i))}
			s.add(m)
			for a := start; a < end; a++ {
				path[a], offset[a] = m.path, m.offset+a-start
			}
		}
		for a := range uint64(200) {
			m := s.at(a)
			switch {
			case m == nil && path[a] == "":
			case m == nil || m.path != path[a] || m.offset+a-m.start != offset[a]:
				t.Fatalf("address %d: %+v, want %q at %d", a, m, path[a], offset[a])
			}
		}
	}
}

func TestSpaceFork(t *testing.T) {
	s := newSpace(1)
	s.add(&mapping{start: 0, end: 100, path: "a"})
	child := s.fork(2)
	child.add(&mapping{start: 50, end: 60, path: "child"})
	s.add(&mapping{start: 50, end: 60, path: "parent"})
	if got := s.at(55).path + child.at(55).path + s.at(70).path + child.at(70).path; got != "parentchildaa" {
		t.Errorf("a fork's memory is its own: %s", got)
	}
}

func TestParseMap(t *testing.T) {
	for line, want := range map[string]*mapping{
		"55d0-55e0 r-xp 00002000 08:01 1234                       /usr/bin/cat": {start: 0x55d0, end: 0x55e0,
			offset: 0x2000, inode: 1234, path: "/usr/bin/cat"},
		"7f00-7f10 r-xp 00000000 00:00 0                          [vdso]": {start: 0x7f00, end: 0x7f10,
			path: "[vdso]"},
		"7f00-7f10 rwxp 00000000 00:00 0 ": {start: 0x7f00, end: 0x7f10,
			path: "//anon"},
		"7f00-7f10 rwxp 00000000 00:00 0": {start: 0x7f00, end: 0x7f10,
			path: "//anon"},
		"7f00-7f10 r-xp 00001000 08:01 9                          /a b/c  d.so (deleted)": {start: 0x7f00, end: 0x7f10,
			offset: 0x1000, inode: 9, path: "/a b/c  d.so (deleted)"},
		"7f00-7f10 r--p 00001000 08:01 9                          /usr/lib/libc.so.6": nil,
		"":                             nil,
		"nonsense":                     nil,
		"7f00 r-xp 0 08:01 9 /x":       nil,
		"7f00-7f10 r-xp zz 08:01 9 /x": nil,
		"7f00-7f10 r-x 0 08:01 9 /x":   nil,
	} {
		if got := parseMap(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestIsFile(t *testing.T) {
	for path, want := range map[string]bool{
		"/usr/lib/libc.so.6": true, "/app/x (deleted)": true, "//anon": false, "[vdso]": false, "[heap]": false,
		"/memfd:jit (deleted)": false, "/dev/zero": false, "anon_inode:[perf_event]": false, "": false,
	} {
		if got := (&mapping{path: path}).isFile(); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
