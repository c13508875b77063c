//go:build linux && (amd64 || arm64)

package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lacuna/internal/capture/spool"
)

// A life is a folder with the agent, the fake driver and CUPTI, and what a Python program loads to use them.
type life struct{ dir string }

// python begins every program: the library as life, what it needs, and a wait for the agent's flush.
const python = `
import ctypes, os, signal, sys, threading, time
life = ctypes.CDLL(os.environ["LIFE"])
def push(s): return life.life_push(s.encode())
def pop(): return life.life_pop()
def ranges(domain, s, n): life.life_ranges(domain.encode(), s.encode(), n)
def flushed(): time.sleep(1) # 20 times the time after which the agent flushes
`

// newLife builds it all once; flags are the compiler's, for the sanitizers.
func newLife(t *testing.T, flags ...string) life {
	t.Helper()
	needCompiler(t)
	l := life{t.TempDir()}
	shared := []string{"-shared", "-fPIC", "-fvisibility=hidden", "test/life.c", "-o", l.dir + "/liblife.so"}
	program := []string{"-DLIFE_MAIN", "test/life.c", "-o", l.dir + "/life"}
	common := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread"}, flags...)
	for _, command := range [][]string{
		append([]string{"sh", "build.sh", l.dir + "/liblacuna.so"}, flags...),
		append([]string{"sh", "test/build_fakes.sh", l.dir, "130000"}, flags...),
		slices.Concat([]string{"cc"}, common, shared, []string{"-ldl"}),
		slices.Concat([]string{"cc"}, common, program, []string{"-ldl"}),
	} {
		if said, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, said)
		}
	}
	return l
}

// command is a program with the agent in it that writes to the folder out.
func (l life) command(ctx context.Context, out string, settings []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(quiet(os.Environ()), "LIFE="+l.dir+"/liblife.so", "LD_LIBRARY_PATH="+l.dir, "LACUNA_DIR="+out,
		"LACUNA_SESSION=life", "LACUNA_FLUSH_MS=50",
		"CUDA_INJECTION64_PATH="+l.dir+"/liblacuna.so", "NVTX_INJECTION64_PATH="+l.dir+"/liblacuna.so",
		"ASAN_OPTIONS=detect_leaks=0", "TSAN_OPTIONS=halt_on_error=1:die_after_fork=0")
	cmd.Env = append(cmd.Env, settings...)
	return cmd
}

// A run is how a program ended, and what is in the spools.
type run struct {
	exit    int // 128 and the signal, as a shell says it
	said    string
	took    time.Duration
	streams []*stream
}

// python runs a program to its end, which must come within a minute.
func (l life) python(t *testing.T, settings []string, program string) run {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3: the agent is not tested in Python programs")
	}
	return l.run(t, settings, "python3", "-c", python+program)
}

func (l life) run(t *testing.T, settings []string, args ...string) run {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := l.command(ctx, out, settings, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	began := time.Now()
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("did not end: %s", &said)
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	r := run{exit: exitOf(cmd.ProcessState), said: said.String(), took: time.Since(began)}
	r.streams = readSpools(t, out)
	return r
}

func exitOf(p *os.ProcessState) int {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.ExitCode()
}

// must fails the test if the program did not end well and silently.
func (r run) must(t *testing.T, streams int) {
	t.Helper()
	if r.exit != 0 || r.said != "" {
		t.Errorf("exit %d, said %q", r.exit, r.said)
	}
	if len(r.streams) != streams {
		t.Fatalf("%d streams, want %d", len(r.streams), streams)
	}
}

// A stream is what one process wrote.
type stream struct {
	begin    spool.Begin
	notes    map[string][]string // payloads by kind
	pushes   map[string]int      // by the range's name
	before   []string            // of ranges that were pushed before the window
	pops     int
	marks    map[string]int
	domains  []string
	threads  map[uint32]string
	tids     map[uint32]bool // of pushes
	kernels  map[uint32]int  // by device
	windows  []bool
	account  spool.Account // the last
	clocks   int
	lastPush string
}

func (s *stream) total() (n int) {
	for _, count := range s.pushes {
		n += count
	}
	return n
}

func (s *stream) allKernels() (n int) {
	for _, count := range s.kernels {
		n += count
	}
	return n
}

// ended says why the stream's end note says that it ended; "" if there is none.
func (s *stream) ended() string {
	if len(s.notes["end"]) == 0 {
		return ""
	}
	return s.notes["end"][0]
}

// readSpools reads the spools of a folder, in the order of their processes. The only damage there may be is an end
// that is cut off.
func readSpools(t *testing.T, dir string) (streams []*stream) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scan := spool.NewScanner(bytes.NewReader(data))
		texts := make(map[spool.Text]string)
		var s *stream
		for scan.Next() {
			c := scan.Chunk()
			if c.Type == spool.TypeBegin {
				s = &stream{begin: c.Process.Begin, notes: map[string][]string{}, pushes: map[string]int{},
					marks:   map[string]int{},
					threads: map[uint32]string{}, tids: map[uint32]bool{}, kernels: map[uint32]int{}}
				clear(texts)
				streams = append(streams, s)
			}
			if s == nil {
				t.Fatalf("%s: does not begin with a begin", file)
			}
			s.take(c, texts)
		}
		if lost := scan.Lost(); lost.Bytes != 0 || lost.Chunks != 0 || lost.Unexplained != 0 || lost.Why != nil {
			t.Errorf("%s: lost %+v", file, lost)
		}
	}
	slices.SortFunc(streams, func(a, b *stream) int { return int(a.begin.RealNs - b.begin.RealNs) })
	return streams
}

func (s *stream) take(c *spool.Chunk, texts map[spool.Text]string) {
	switch {
	case c.Type == spool.TypeTexts:
		c.Texts(func(id spool.Text, text []byte) { texts[id] = string(text) })
		return
	case c.Type == spool.TypeNote:
		kind, _ := c.Note(nil)
		s.notes[kind] = append(s.notes[kind], string(c.Payload))
		return
	case c.Table == nil:
		return
	}
	switch c.Table.Name {
	case "nvtx":
		for _, r := range spool.Rows[spool.NVTX](c) {
			switch r.What {
			case spool.NVTXPush:
				s.pushes[texts[r.Name]]++
				if r.ID == 1 {
					s.before = append(s.before, texts[r.Name])
				}
				s.tids[r.Tid] = true
				s.lastPush = texts[r.Name]
			case spool.NVTXPop:
				s.pops++
			case spool.NVTXMark:
				s.marks[texts[r.Name]]++
			}
		}
	case "domain":
		for _, r := range spool.Rows[spool.Domain](c) {
			s.domains = append(s.domains, texts[r.Name])
		}
	case "thread":
		for _, r := range spool.Rows[spool.Thread](c) {
			s.threads[r.Tid] = texts[r.Name]
		}
	case "kernel":
		for _, r := range spool.Rows[spool.Kernel](c) {
			if texts[r.Name] == "_Z4workPf" && r.End > r.Start {
				s.kernels[r.Device]++
			}
		}
	case "window":
		for _, r := range spool.Rows[spool.Window](c) {
			s.windows = append(s.windows, r.On == 1)
		}
	case "clock":
		s.clocks += c.Count
	case "account":
		for _, r := range spool.Rows[spool.Account](c) {
			s.account = r
		}
	}
}

// is checks the numbers of a stream that was not cut off: pushes by name, as "name 3, other 4", and kernels.
func (s *stream) is(t *testing.T, pushes string, kernels int) {
	t.Helper()
	var got []string
	for name, n := range s.pushes {
		got = append(got, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(got)
	if text := strings.Join(got, ", "); text != pushes || s.allKernels() != kernels {
		t.Errorf("pid %d: pushes %q, %d kernels; want %q, %d", s.begin.Pid, text, s.allKernels(), pushes, kernels)
	}
	if s.account.Dropped != 0 || s.account.CuptiDropped != 0 {
		t.Errorf("pid %d: dropped %d, by CUPTI %d", s.begin.Pid, s.account.Dropped, s.account.CuptiDropped)
	}
}
