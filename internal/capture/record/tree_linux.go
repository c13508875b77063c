package record

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A process is one of the program's, as /proc has it. A number is used again; with its start it is not.
type process struct {
	pid   int
	start uint64 // ticks since boot
}

// A tree is the processes that come from the program, as far as they were seen. Those whose parent has ended stay in
// it.
type tree struct {
	root  int
	known map[process]bool
}

func newTree(root int) *tree {
	t := &tree{root: root, known: make(map[process]bool)}
	if p, _, ok := stat(root); ok {
		t.known[p] = true
	}
	return t
}

// scan looks for new descendants, drops what has ended, and gives those that live, by ID.
func (t *tree) scan() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	parents := make(map[process]int)
	at := make(map[int]process)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, parent, ok := stat(pid); ok {
			parents[p], at[pid] = parent, p
		}
	}
	for p := range t.known {
		if _, lives := parents[p]; !lives {
			delete(t.known, p)
		}
	}
	for grew := true; grew; { // a child may have a lower number than its parent
		grew = false
		for p, parent := range parents {
			if from, ok := at[parent]; ok && t.known[from] && !t.known[p] {
				t.known[p], grew = true, true
			}
		}
	}
	return t.living()
}

func (t *tree) living() (out []process) {
	for p := range t.known {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b process) int { return a.pid - b.pid })
	return out
}

// kill ends all of the program's processes, the root first, so that a launcher does not start them anew.
func (t *tree) kill() {
	_ = syscall.Kill(t.root, syscall.SIGKILL)
	for _, p := range t.scan() {
		if p.pid != t.root && p.lives() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}

// lives says whether the process is there, and no zombie.
func (p process) lives() bool {
	now, _, ok := stat(p.pid)
	return ok && now == p
}

// stat reads a process's start and parent. ok is false for what has ended, zombies among it.
func stat(pid int) (p process, parent int, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, 0, false
	}
	rest := text[bytes.LastIndexByte(text, ')')+1:] // the name before it may hold anything
	fields := strings.Fields(string(rest))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return p, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	start, err2 := strconv.ParseUint(fields[19], 10, 64)
	return process{pid, start}, parent, err == nil && err2 == nil
}

// threads gives the names of a process's threads, as the system has them, by ID.
func (p process) threads() map[int]string {
	dir := "/proc/" + strconv.Itoa(p.pid) + "/task"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := make(map[int]string, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if name, err := os.ReadFile(filepath.Join(dir, e.Name(), "comm")); err == nil {
			out[tid] = strings.TrimSuffix(string(name), "\n")
		}
	}
	return out
}
