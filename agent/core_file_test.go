//go:build linux && (amd64 || arm64)

package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// full: a disk that takes nothing more, and later does. What was lost is counted, and the file is whole.
func (d coreDriver) full(t *testing.T) {
	t.Run("limit", func(t *testing.T) { // a limit of the file's size, which cuts a write in its middle
		dir := t.TempDir()
		p := d.live(t, dir, "LACUNA_FLUSH_MS=20", "LACUNA_PACK=0")
		unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		limit := func(bytes uint64) {
			if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unlimited.Max},
				nil); err != nil {
				t.Fatal(err)
			}
		}
		limit(100_001)
		d.fillAndRecover(t, dir, p, func() { limit(unlimited.Cur) })
	})
	t.Run("disk", func(t *testing.T) {
		dir := t.TempDir()
		if err := unix.Mount("lacuna-test", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Skip("SKIPPED: a small file system of its own cannot be mounted: ", err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 900<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		p := d.live(t, dir, "LACUNA_FLUSH_MS=20", "LACUNA_PACK=0")
		d.fillAndRecover(t, dir, p, func() {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("from the beginning", func(t *testing.T) { // not even the stream's beginning can be written
		dir := t.TempDir()
		p := d.live(t, dir, "LACUNA_WINDOW=armed", "LACUNA_FLUSH_MS=20", "LACUNA_PACK=0")
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 10, Max: unix.RLIM_INFINITY},
			nil); err != nil {
			t.Fatal(err)
		}
		p.ask(t, "start")
		d.fillAndRecover(t, dir, p, func() {
			if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE,
				&unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, nil); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func (d coreDriver) fillAndRecover(t *testing.T, dir string, p live, free func()) {
	t.Helper()
	until := func(what string, ok func(status) bool) status {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if s := p.ask(t, "status"); ok(s) {
				return s
			}
		}
		t.Fatalf("waited in vain until %s: %+v", what, p.ask(t, "status"))
		return status{}
	}
	full := until("rows are dropped", func(s status) bool { return s.Dropped > 0 })
	free()
	until("it writes again", func(s status) bool { return s.Bytes > full.Bytes+50_000 })
	c := p.end(t)
	s := readSpools(t, dir, false)[0]
	last := s.accounts[len(s.accounts)-1]
	n, gaps := checkEvents(t, s, 0)
	note, ok := s.note("full")
	if !ok || note.Errno == 0 || note.Why == "" || note.Dropped == 0 {
		t.Errorf("notes %+v: want that the disk was full", s.notes)
	}
	if end, ok := s.note("end"); !ok || end.Why != "exit" {
		t.Errorf("notes %+v: no end", s.notes)
	}
	// Only events were dropped, but for a row of the account or the clock among them.
	if missing := c.taken - n; missing <= 0 || gaps == 0 || int(last.Dropped) < missing || int(last.Dropped) > missing+
		c.dropped+100 {
		t.Errorf("%d of %d events are there, %d missing between them; the account says %d dropped", n, c.taken, gaps,
			last.Dropped)
	}
}

// closed: the program closes all descriptors and opens files of its own under their numbers.
func (d coreDriver) closed(t *testing.T) {
	if d.build == "thread" {
		t.Skip("to close what others use is a race by design, and ThreadSanitizer says so")
	}
	dir, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	c, _ := d.run(t, dir, []string{"OWN_FILE=" + own, "LACUNA_FLUSH_MS=20"}, "close")
	s := only(t, readSpools(t, dir, false), c.dropped)
	if n, _ := checkEvents(t, s, 0); n != c.taken || n == 0 {
		t.Errorf("%d events; %+v", n, c)
	}
	if st, err := os.Stat(own); err != nil || st.Size() != 0 {
		t.Errorf("the program's file: %v, %v", st, err)
	}
}

// removed: a spool that was taken away, with its folder, is not made again, and recording ends, or does not begin.
func (d coreDriver) removed(t *testing.T) {
	for _, between := range []bool{false, true} { // two windows, or in one
		dir := filepath.Join(t.TempDir(), "spools")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		p := d.live(t, dir, "LACUNA_FLUSH_MS=20")
		time.Sleep(100 * time.Millisecond)
		if between {
			p.ask(t, "stop")
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if !between {
			for range 100 {
				if time.Sleep(100 * time.Millisecond); p.ask(t, "status").State == "failed" {
					break
				}
			}
			if got := p.ask(t, "status"); got.State != "failed" || got.Why != "the spool was removed" {
				t.Errorf("status %+v", got)
			}
		}
		if got := p.ask(t, "start"); got.State != "failed" || got.Error == "" ||
			!strings.HasSuffix(got.Why, ".spool: was removed; to record again, start the program again") {
			t.Errorf("started again (%v): %+v", between, got)
		}
		p.end(t)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the folder is there again: %v", err)
		}
	}
}
