//go:build linux && (amd64 || arm64)

package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lacuna/internal/base/golden"
	"lacuna/internal/capture/spool"
)

// TestCore drives the agent's core (main, window, ring, writer, out, file, control) from a C program that holds it,
// test/core_driver.c, built in three ways, of which the sanitizers' are long. What it did must be in the spools: none
// lost that is not counted.
func TestCore(t *testing.T) {
	t.Parallel() // most of the time it waits
	for _, build := range []struct {
		name  string
		flags []string
	}{
		{"plain", []string{"-O2"}},
		{"address", []string{"-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}},
		{"thread", []string{"-O1", "-fsanitize=thread"}},
	} {
		t.Run(build.name, func(t *testing.T) {
			if build.name != "plain" {
				golden.Long(t, sanitizer)
			}
			t.Parallel()
			d := coreDriver{build: build.name, path: compileCore(t, build.flags)}
			for _, test := range []struct {
				name string
				run  func(*testing.T)
			}{
				{"storm", d.storm},
				{"dying threads", d.dyingThreads},
				{"fork", d.fork},
				{"kill", d.kill}, {"kill between flushes", d.killBetweenFlushes},
				{"signals", d.signals},
				{"enter", d.enter},
				{"inject", d.inject},
				{"busy exit", d.busyExit},
				{"teardown", d.teardown},
				{"crowd", d.crowd},
				{"exec", d.exec},
				{"back pressure", d.backPressure},
				{"windows", d.windows},
				{"steps", d.steps},
				{"delay", d.delay},
				{"duration", d.duration},
				{"armed", d.armed},
				{"other user", d.otherUser},
				{"off", d.off},
				{"pack", d.pack},
				{"json", d.json},
				{"full", d.full},
				{"descriptors closed", d.closed},
				{"spool removed", d.removed},
				{"names", d.names},
			} {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel() // most of the time they wait
					test.run(t)
				})
			}
		})
	}
}

// sanitizer is why tests under one are long.
const sanitizer = "takes minutes under a sanitizer"

// inTime is why tests whose result depends on how fast the machine is are long.
const inTime = "is a matter of time, which a busy machine does not keep"

// compileCore is the driver with all of the agent in it.
func compileCore(t *testing.T, flags []string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("SKIPPED, and the agent's core is NOT TESTED: no C compiler")
	}
	sources, err := filepath.Glob("*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources here", err)
	}
	out := filepath.Join(t.TempDir(), "driver")
	args := slices.Concat([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-pthread", "-o", out,
		"test/core_driver.c"}, flags, sources, []string{"-ldl"})
	if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

type coreDriver struct{ build, path string }

func (d coreDriver) plain() bool { return d.build == "plain" }

// command runs the driver with the agent's settings, and nothing else of ours, in its environment.
func (d coreDriver) command(ctx context.Context, dir string, settings []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.path, args...)
	cmd.Env = append([]string{"LACUNA_DIR=" + dir, "LACUNA_SESSION=test", "PATH=" + os.Getenv("PATH"),
		"TSAN_OPTIONS=die_after_fork=0:halt_on_error=1:exitcode=66:atexit_sleep_ms=0", "ASAN_OPTIONS=detect_leaks=0"},
		settings...)
	return cmd
}

// counts is the driver's last line.
type counts struct{ emitted, taken, dropped int }

// run runs the driver to its end, which must be well and say nothing on stderr.
func (d coreDriver) run(t *testing.T, dir string, settings []string, args ...string) (c counts, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := d.command(ctx, dir, settings, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %v\n%s\n%s", args, err, text, &stderr)
	}
	out = string(text)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if _, err := fmt.Sscanf(lines[len(lines)-1], "emitted %d taken %d dropped %d", &c.emitted, &c.taken,
		&c.dropped); err != nil {
		t.Fatalf("%v: %q: %v", args, out, err)
	}
	return c, out
}

// --- what is in the spools ------------------------------------------------------------------------------------------

type event struct {
	spool.NVTX
	name, extended string
}

type note struct {
	Note, State, Why string
	Parent           int64
	Errno            int
	Dropped          int
}

// stream is what one process wrote.
type stream struct {
	begin    spool.Begin
	events   []event
	windows  []spool.Window
	accounts []spool.Account
	clocks   []spool.Clock
	notes    []note
}

func (s *stream) note(kind string) (note, bool) {
	i := slices.IndexFunc(s.notes, func(n note) bool { return n.Note == kind })
	if i < 0 {
		return note{}, false
	}
	return s.notes[i], true
}

// readSpools reads the spools of a folder. Each must be whole: cut says whether the end of a file may be missing.
func readSpools(t *testing.T, dir string, cut bool) []*stream {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*stream
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		scanner := spool.NewScanner(f)
		streams := make(map[int]*stream)
		texts := make(map[int]map[spool.Text]string)
		for scanner.Next() {
			c := scanner.Chunk()
			i := c.Process.Index
			if streams[i] == nil {
				streams[i] = &stream{begin: c.Process.Begin}
				texts[i] = map[spool.Text]string{0: ""}
				all = append(all, streams[i])
			}
			readChunk(t, c, streams[i], texts[i])
		}
		lost := scanner.Lost()
		if cut {
			lost.Cut = 0
		}
		if lost.Any() {
			t.Errorf("%s: lost %+v", filepath.Base(path), lost)
		}
		f.Close()
		if ticks := strings.TrimSuffix(strings.SplitN(filepath.Base(path), "-", 2)[1], ".spool"); ticks == "0" {
			t.Errorf("%s: no start time", path)
		}
	}
	return all
}

func readChunk(t *testing.T, c *spool.Chunk, s *stream, texts map[spool.Text]string) {
	t.Helper()
	switch {
	case c.Type == spool.TypeTexts:
		if !c.Texts(func(id spool.Text, text []byte) { texts[id] = string(text) }) {
			t.Error("texts break off")
		}
	case c.Type == spool.TypeNote:
		var n note
		if _, err := c.Note(&n); err != nil {
			t.Errorf("note %s: %v", c.Payload, err)
		}
		s.notes = append(s.notes, n)
	case c.Table == nil:
	case c.Table.Name == "nvtx":
		for _, row := range spool.Rows[spool.NVTX](c) {
			name, ok := texts[row.Name]
			extended, also := texts[row.Extended]
			if !ok || !also {
				t.Fatal("a row names a text that has not come")
			}
			s.events = append(s.events, event{row, name, extended})
		}
	case c.Table.Name == "window":
		s.windows = append(s.windows, spool.Rows[spool.Window](c)...)
	case c.Table.Name == "account":
		s.accounts = append(s.accounts, spool.Rows[spool.Account](c)...)
	case c.Table.Name == "clock":
		s.clocks = append(s.clocks, spool.Rows[spool.Clock](c)...)
	}
}

// checkEvents looks at each event of a storm: whole, as it was handed over, in its thread's order. It returns how
// many there are, and how many are missing between them.
func checkEvents(t *testing.T, s *stream, bytes int) (n, gaps int) {
	t.Helper()
	next := make(map[uint64]uint64)
	for _, e := range s.events {
		if want := "range " + strconv.FormatUint(e.ID%97, 10); e.name != want ||
			e.extended != strings.Repeat("x", bytes) {
			t.Fatalf("event %d of thread %d: name %q, want %q; %d bytes of text, want %d", e.ID, e.Payload, e.name,
				want, len(e.extended), bytes)
		}
		if e.ID < next[e.Payload] {
			t.Fatalf("event %d of thread %d comes after %d", e.ID, e.Payload, next[e.Payload]-1)
		}
		gaps += int(e.ID - next[e.Payload])
		next[e.Payload] = e.ID + 1
	}
	return len(s.events), gaps
}

// only is the one stream that there must be, with its end and its account: dropped is what the account must say.
func only(t *testing.T, streams []*stream, dropped int) *stream {
	t.Helper()
	if len(streams) != 1 {
		t.Fatalf("%d streams, want 1", len(streams))
	}
	checkEnd(t, streams[0], dropped)
	return streams[0]
}

func checkEnd(t *testing.T, s *stream, dropped int) {
	t.Helper()
	if n, ok := s.note("end"); !ok || n.Why != "exit" {
		t.Errorf("notes %+v: no end by exit", s.notes)
	}
	if len(s.accounts) == 0 || s.accounts[len(s.accounts)-1].Dropped != uint64(dropped) {
		t.Errorf("accounts %+v: want %d dropped", s.accounts, dropped)
	}
	if len(s.windows) == 0 || len(s.windows)%2 != 0 || s.windows[0].On != 1 || s.windows[len(s.windows)-1].On != 0 {
		t.Errorf("windows %+v: each must open and close", s.windows)
	}
	if len(s.clocks) < 2 || s.clocks[0].Mono == 0 || s.clocks[0].Real == 0 || s.clocks[0].Width > uint32(time.Second) {
		t.Errorf("clocks %+v: want one at the start and one at the end", s.clocks)
	}
	if s.begin.Role != spool.RoleAgent || s.begin.Session != "test" || s.begin.Pid == 0 || len(s.begin.Command) < 2 {
		t.Errorf("begin %+v", s.begin)
	}
}

func signalled(err error) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && exit.Sys().(syscall.WaitStatus).Signaled()
}
