package cpusample

import (
	"bytes"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Bounds of /tmp/perf-PID.map. Python writes a line for each function that it calls, other compilers one for each
// version of it.
const (
	maxMapBytes   = 64 << 20
	maxMapEntries = 1 << 20
)

// A perfMap is /tmp/perf-PID.map: names of code made at run time, a line "START SIZE NAME" each, appended as it is
// made.
type perfMap struct {
	paths   []string // where it may be; the first that is there counts
	read    int64    // bytes of whole lines taken
	entries []mapEntry
}

// A mapEntry is code from start on.
type mapEntry struct {
	start, size uint64
	name        string
}

// newPerfMap is of the process pid as /proc counts. In a container it knows itself by another number, and has a /tmp
// of its own.
func newPerfMap(proc string, pid uint32) *perfMap {
	outer := strconv.Itoa(int(pid))
	inner := outer
	if f := strings.Fields(statusField(proc, int(pid), "NSpid")); len(f) > 0 {
		inner = f[len(f)-1]
	}
	return &perfMap{paths: []string{
		proc + "/" + outer + "/root/tmp/perf-" + inner + ".map",
		"/tmp/perf-" + outer + ".map",
	}}
}

// update takes the lines that were added since.
func (m *perfMap) update() {
	for _, path := range m.paths {
		// Not through a link: anybody may put one into /tmp.
		f, info, err := openRegular(path, false)
		if err != nil {
			continue
		}
		m.take(f, info.Size())
		_ = f.Close()
		return
	}
}

// take reads whole lines from where it stopped.
func (m *perfMap) take(f io.ReaderAt, size int64) {
	size = min(size, maxMapBytes)
	if size <= m.read {
		return
	}
	b := make([]byte, size-m.read)
	n, _ := f.ReadAt(b, m.read)
	end := bytes.LastIndexByte(b[:n], '\n') + 1
	m.read += int64(end)
	for line := range bytes.Lines(b[:end]) {
		if e, ok := parseMapEntry(string(bytes.TrimRight(line, "\r\n"))); ok && len(m.entries) < maxMapEntries {
			m.entries = append(m.entries, e)
		}
	}
	slices.SortStableFunc(m.entries, func(a, b mapEntry) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
}

// parseMapEntry reads a line; numbers are hexadecimal, with or without 0x.
func parseMapEntry(line string) (e mapEntry, ok bool) {
	start, rest, _ := strings.Cut(line, " ")
	size, name, found := strings.Cut(rest, " ")
	var err1, err2 error
	e.start, err1 = strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	e.size, err2 = strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	e.name = strings.ToValidUTF8(name[:min(len(name), maxNameBytes)], "\uFFFD")
	return e, found && err1 == nil && err2 == nil && e.size > 0 && e.name != ""
}

// name is the code at an address, or "". Where memory was used again, what was written last counts.
func (m *perfMap) name(address uint64) string {
	i := sort.Search(len(m.entries), func(i int) bool { return m.entries[i].start > address })
	for back := 1; back <= 4 && i-back >= 0; back++ {
		if e := m.entries[i-back]; address-e.start < e.size {
			return e.name
		}
	}
	return ""
}

// Modules of code that lies in no file.
const (
	vdsoModule   = "[vdso]" // as the kernel calls it
	kernelModule = "[kernel]"
	pythonModule = "[python]"
	jitModule    = "[jit]"
)

// jitName is an entry's name and module as they are shown. Python's are "py::NAME:FILE", with more colons in either
// at times: the file is what begins with the first / or < after a colon.
func jitName(entry string) (symbol, from string) {
	python, ok := strings.CutPrefix(entry, "py::")
	if !ok {
		return entry, jitModule
	}
	name, file := python, ""
	for i := range len(python) - 1 {
		if python[i] == ':' && (python[i+1] == '/' || python[i+1] == '<') && i > 0 {
			name, file = python[:i], python[i+1:]
			break
		}
	}
	if file == "" {
		if i := strings.LastIndexByte(python, ':'); i > 0 {
			name, file = python[:i], python[i+1:]
		}
	}
	if file == "" {
		return name, pythonModule
	}
	return name + " (" + file + ")", pythonModule
}
