//go:build linux && (amd64 || arm64)

package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lacuna/internal/base/golden"
	"lacuna/internal/capture/spool"
)

// storm: some threads at a time, in rounds, with texts of all sizes.
func (d coreDriver) storm(t *testing.T) {
	for _, test := range []struct{ threads, rounds, events, pause, bytes int }{
		{8, 4, 1000, 100, 0},
		{4, 1, 3000, 10, 300},
		{2, 1, 40, 1, 16384},
		{1, 1, 0, 0, 0},
	} {
		dir := t.TempDir()
		c, _ := d.run(t, dir, []string{"LACUNA_FLUSH_MS=50"}, "storm", fmt.Sprint(test.threads),
			fmt.Sprint(test.rounds), fmt.Sprint(test.events),
			fmt.Sprint(test.pause), fmt.Sprint(test.bytes))
		if want := test.threads * test.rounds * test.events; c.emitted != want || c.taken+c.dropped != want {
			t.Errorf("%+v: %+v, want %d emitted", test, c, want)
		}
		s := only(t, readSpools(t, dir, false), c.dropped)
		if n, gaps := checkEvents(t, s, test.bytes); n != c.taken || gaps > c.dropped {
			t.Errorf("%+v: %d events with %d missing between them; %+v", test, n, gaps, c)
		}
	}
}

// dyingThreads: 4,000 threads, one after the other and at once; memory stays within its bound.
func (d coreDriver) dyingThreads(t *testing.T) {
	most := 400
	if d.plain() {
		most = 4000
	}
	for _, test := range []struct{ threads, rounds int }{{100, most / 100}, {most, 1}} {
		dir := t.TempDir()
		c, _ := d.run(t, dir, []string{"LACUNA_FLUSH_MS=50"}, "storm", fmt.Sprint(test.threads),
			fmt.Sprint(test.rounds), "5", "1")
		s := only(t, readSpools(t, dir, false), c.dropped)
		if n, _ := checkEvents(t, s, 0); n != c.taken || c.emitted != most*5 || c.dropped != 0 {
			t.Errorf("%+v: %d events; %+v", test, n, c)
		}
		for _, a := range s.accounts {
			if a.Memory > 256<<20 {
				t.Errorf("%+v: %d bytes of memory", test, a.Memory)
			}
		}
	}
}

// fork: children that are forked while other threads emit write spools of their own, if they emit.
func (d coreDriver) fork(t *testing.T) {
	if d.build == "thread" {
		t.Skip("ThreadSanitizer cannot make threads in a fork of a program with threads")
	}
	dir := t.TempDir()
	c, _ := d.run(t, dir, []string{"LACUNA_FLUSH_MS=50"}, "fork", "16")
	streams := readSpools(t, dir, false)
	parent := int64(0)
	pids := make(map[int64]bool)
	for _, s := range streams {
		pids[s.begin.Pid] = true
		if _, forked := s.note("fork"); !forked {
			parent = s.begin.Pid
		}
	}
	events := 0
	for _, s := range streams {
		n, _ := checkEvents(t, s, 0)
		events += n
		if fork, forked := s.note("fork"); forked && !pids[fork.Parent] {
			t.Errorf("a fork of %d, which has no spool", fork.Parent)
		}
		if s.begin.Pid != parent && n == 0 {
			t.Errorf("process %d never emitted, and has a spool", s.begin.Pid)
		}
		checkEnd(t, s, int(s.accounts[len(s.accounts)-1].Dropped))
	}
	// 12 of 16 children emit, 4 of those fork one that does.
	const notes = 16 // of the forks: they come through the rings too
	if len(streams) != 17 || parent == 0 || events != c.taken-notes || events+c.dropped != c.emitted {
		t.Errorf("%d spools, %d events; %+v", len(streams), events, c)
	}
}

// kill: whatever the moment of a SIGKILL, what was flushed is there.
func (d coreDriver) kill(t *testing.T) {
	times := 4
	if d.plain() && golden.IsLong() {
		times = 20
	}
	for i := range times {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := d.command(ctx, dir, []string{"LACUNA_FLUSH_MS=20"}, "storm", "4", "1", "1000000", "20")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitSpool(t, dir)
		time.Sleep(time.Duration(100+i*7919%100) * time.Millisecond)
		killed := time.Now()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); !signalled(err) {
			t.Fatalf("it ended by itself: %v", err)
		}
		cancel()
		streams := readSpools(t, dir, true)
		if len(streams) != 1 || len(streams[0].events) == 0 {
			t.Fatalf("killed after %v: %d streams", 300+i, len(streams))
		}
		s := streams[0]
		dropped := 0
		if n := len(s.accounts); n > 0 {
			dropped = int(s.accounts[n-1].Dropped)
		}
		if _, gaps := checkEvents(t, s, 0); gaps > 0 && dropped == 0 {
			t.Errorf("%d events missing before the last, none counted", gaps)
		}
		// A flush a 20th of a second, and a machine that others use.
		last := time.Unix(0, int64(s.events[len(s.events)-1].Time))
		if late := killed.Sub(last); golden.IsLong() && late > 2*time.Second {
			t.Errorf("the last event is %v before the kill", late)
		}
	}
}

// awaitSpool waits until some of a spool is written.
func awaitSpool(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.spool"))
		for _, path := range paths {
			if st, err := os.Stat(path); err == nil && st.Size() > 4096 {
				return
			}
		}
	}
	t.Fatal("nothing is written")
}

// killBetweenFlushes: rows that fill no chunk are written between flushes, too, when the writer is awake. They come
// at 1.26 s and 2.54 s here.
func (d coreDriver) killBetweenFlushes(t *testing.T) {
	if !d.plain() {
		t.Skip("a matter of time: without sanitizers only")
	}
	golden.Long(t, inTime)
	dir := t.TempDir()
	cmd := d.command(t.Context(), dir, []string{"LACUNA_FLUSH_MS=2000"}, "storm", "1", "1", "1000000", "1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2300 * time.Millisecond)
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); !signalled(err) {
		t.Fatalf("it ended by itself: %v", err)
	}
	s := readSpools(t, dir, true)[0]
	if late := killed.Sub(time.Unix(0, int64(s.events[len(s.events)-1].Time))); late > 800*time.Millisecond {
		t.Errorf("the last of %d events is %v before the kill", len(s.events), late)
	}
}

// signals: a handler that emits in the middle of an event drops its own, and breaks nothing.
func (d coreDriver) signals(t *testing.T) {
	dir := t.TempDir()
	events := 30000
	if d.plain() {
		events = 300000
	}
	c, _ := d.run(t, dir, nil, "signals", fmt.Sprint(events))
	s := only(t, readSpools(t, dir, false), c.dropped)
	if n, _ := checkEvents(t, s, 0); n != c.taken || c.taken+c.dropped != c.emitted || c.emitted <= events {
		t.Errorf("%d events; %+v", n, c)
	}
}

// backPressure: a program that outruns a tiny memory is not held up; what does not fit is counted.
func (d coreDriver) backPressure(t *testing.T) {
	events := "30000"
	if d.plain() {
		events = "1000000"
	}
	for _, memory := range []string{"256", "1"} {
		dir := t.TempDir()
		c, out := d.run(t, dir, []string{"LACUNA_MEMORY_MB=" + memory}, "cost", events)
		s := only(t, readSpools(t, dir, false), c.dropped)
		if len(s.events) != c.taken || c.taken+c.dropped != c.emitted {
			t.Errorf("memory %s: %d events; %+v", memory, len(s.events), c)
		}
		var ns, wall float64
		if _, err := fmt.Sscanf(out, "ns %f wall %f", &ns, &wall); err != nil {
			t.Fatal(err)
		}
		t.Logf("memory %s MB: %.0f ns of CPU and %.0f ns an event, of %d dropped %d", memory, ns, wall, c.emitted,
			c.dropped)
		if d.plain() && golden.IsLong() && ns > 5000 {
			t.Errorf("memory %s: %.0f ns an event", memory, ns)
		}
	}
}

// enter: sixteen threads enter at once, and recording is on when each returns.
func (d coreDriver) enter(t *testing.T) {
	dir := t.TempDir()
	d.run(t, dir, nil, "enter")
	if s := only(t, readSpools(t, dir, false), 0); len(s.windows) != 2 {
		t.Errorf("windows %+v", s.windows)
	}
}

// inject: CUDA and NVTX come in at once. There is no CUPTI, which is said; NVTX goes on; the library that was there
// before is called once.
func (d coreDriver) inject(t *testing.T) {
	dir := t.TempDir()
	source, library, called := filepath.Join(dir, "chain.c"), filepath.Join(dir, "chain.so"),
		filepath.Join(dir, "called")
	code := `#include <fcntl.h>
#include <unistd.h>
int InitializeInjection(void) { int fd = open("` + called +
		`", O_WRONLY|O_CREAT|O_APPEND, 0600); return write(fd, "x", 1) == 1; }`
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, _ := d.run(t, dir, []string{"LACUNA_CHAIN=" + library, "LACUNA_CUPTI=" + filepath.Join(dir, "none.so")},
		"inject")
	s := only(t, readSpools(t, dir, false), 0)
	failed := false
	for _, n := range s.notes {
		failed = failed || n.Note == "state" && n.State == "failed" && n.Why != ""
	}
	if !failed || len(s.events) != 200 || c.taken < 200 {
		t.Errorf("%d events, notes %+v", len(s.events), s.notes)
	}
	for _, setting := range []string{"LACUNA_YIELD=1", "LACUNA_YIELD=0"} {
		dir := t.TempDir()
		d.run(t, dir, []string{setting, "LACUNA_CUPTI=" + filepath.Join(dir, "none.so")}, "inject")
		s := only(t, readSpools(t, dir, false), 0)
		if _, yielded := s.note("yielded"); yielded != (setting == "LACUNA_YIELD=1") || len(s.events) != 200 {
			t.Errorf("%s: %d events, notes %+v", setting, len(s.events), s.notes)
		}
	}
	if text, err := os.ReadFile(called); err != nil || string(text) != "x" {
		t.Errorf("the library before was called %q: %v", text, err)
	}
}

// busyExit: the process ends while threads emit; all up to then is there, and the end too.
func (d coreDriver) busyExit(t *testing.T) {
	for _, mode := range []string{"exit", "quick"} {
		dir := t.TempDir()
		// a backlog that a sanitizer works off in time
		d.run(t, dir, []string{"LACUNA_FLUSH_MS=3600000", "LACUNA_MEMORY_MB=2"}, mode)
		streams := readSpools(t, dir, false)
		if len(streams) != 1 || len(streams[0].accounts) == 0 {
			t.Fatalf("%s: %d streams, or no account", mode, len(streams))
		}
		if n, _ := checkEvents(t, streams[0], 0); n == 0 {
			t.Errorf("%s: no events", mode)
		}
		checkEnd(t, streams[0], int(streams[0].accounts[len(streams[0].accounts)-1].Dropped))
	}
}

// teardown: events of a thread whose keys are torn down, ours before or after the program's, are there; lanes are
// used again.
func (d coreDriver) teardown(t *testing.T) {
	if d.build == "thread" {
		t.Skip("ThreadSanitizer tears its own state of a thread down before the last round")
	}
	dir := t.TempDir()
	c, _ := d.run(t, dir, nil, "teardown", "500")
	s := only(t, readSpools(t, dir, false), 0)
	if len(s.events) != c.emitted || c.taken != c.emitted || c.emitted < 1000 {
		t.Errorf("%d events; %+v", len(s.events), c)
	}
	if last := s.accounts[len(s.accounts)-1]; last.Memory > 64<<20 {
		t.Errorf("%d bytes for 500 threads of which one lived at a time", last.Memory)
	}
}

// exec: a program that replaces itself goes on in the same file, as a stream of its own.
func (d coreDriver) exec(t *testing.T) {
	dir := t.TempDir()
	d.run(t, dir, []string{"LACUNA_FLUSH_MS=20"}, "exec")
	paths, _ := filepath.Glob(filepath.Join(dir, "*.spool"))
	streams := readSpools(t, dir, true)
	if len(paths) != 1 || len(streams) != 2 || len(streams[0].events) != 1 || len(streams[1].events) != 10 {
		t.Fatalf("%d files, %d streams", len(paths), len(streams))
	}
	checkEnd(t, streams[1], 0)
}

// names: what is kept of names has a bound; over it, that is said.
func (d coreDriver) names(t *testing.T) {
	if !d.plain() {
		t.Skip("600,000 names, in the plain build only")
	}
	dir := t.TempDir()
	d.run(t, dir, nil, "names", "600000")
	f, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil || len(f) != 1 {
		t.Fatal(f, err)
	}
	in, err := os.Open(f[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	many, notes, rows, kept := spool.Text(0), 0, 0, 0
	scanner := spool.NewScanner(in)
	for scanner.Next() {
		c := scanner.Chunk()
		switch {
		case c.Type == spool.TypeTexts:
			c.Texts(func(id spool.Text, text []byte) {
				if string(text) == "(too many names)" {
					many = id
				}
			})
		case c.Type == spool.TypeNote:
			if kind, err := c.Note(nil); err == nil && kind == "loss" {
				notes++
			}
		case c.Table != nil && c.Table.Name == "nvtx":
			name := c.Column("name")
			for i := range c.Count {
				rows++
				if many == 0 || spool.At[spool.Text](name, i) != many {
					kept++
				}
			}
		}
	}
	// 64 MiB hold 500,000 names of 100 bytes with their entries of 32.
	if rows != 600000 || notes != 1 || kept < 400000 || kept > 560000 {
		t.Errorf("%d rows, %d with their name, %d notes", rows, kept, notes)
	}
}
