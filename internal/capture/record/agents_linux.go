package record

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// agents is the agents of one recording: each has a spool in its folder, called PID-START.spool.
type agents struct {
	dir string

	mu     sync.Mutex
	last   map[process]Status // what each said last; those that have ended among them
	lively bool               // one of them is recording
}

// processes gives those agents' processes that live.
func (a *agents) processes() (out []process) {
	names, _ := filepath.Glob(filepath.Join(globEscape(a.dir), "*-*.spool"))
	for _, name := range names {
		pid, start, ok := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".spool"), "-")
		n, err1 := strconv.Atoi(pid)
		ticks, err2 := strconv.ParseUint(start, 10, 64)
		if p := (process{n, ticks}); ok && err1 == nil && err2 == nil && p.lives() {
			out = append(out, p)
		}
	}
	return out
}

// each asks all agents at once, and gives what those say that answer in time.
func (a *agents) each(within time.Duration, request string) map[process]Status {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var mu sync.Mutex
	var over sync.WaitGroup
	said := make(map[process]Status)
	for _, p := range a.processes() {
		over.Go(func() {
			if s, err := Ask(ctx, p.pid, request); err == nil {
				mu.Lock()
				said[p] = s
				mu.Unlock()
			}
		})
	}
	over.Wait()
	return said
}

// stop has all agents stop recording.
func (a *agents) stop(within time.Duration) { a.each(within, "stop") }

// poll asks all agents how they are.
func (a *agents) poll() {
	said := a.each(tickPeriod/2, "status")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = make(map[process]Status)
	}
	a.lively = false
	for p, s := range said {
		a.last[p] = s
		a.lively = a.lively || s.State == StateRecording
	}
}

// recording says whether some agent was recording when they were asked last.
func (a *agents) recording() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lively
}

// progress sums up what they said.
func (a *agents) progress() (p Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.last {
		p.Processes++
		p.Records += s.Records
		p.Dropped += s.Dropped
	}
	p.Recording, p.Bytes = a.lively, a.bytes()
	return p
}

// over says whether those that were asked last have all recorded, and record no more.
func (a *agents) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.last) > 0 && !a.lively
}

// bytes is the size of all spools.
func (a *agents) bytes() (n int64) {
	files, _ := os.ReadDir(a.dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// A diskWatch warns once when the disk is nearly full, and remembers whether it was full.
type diskWatch struct {
	dir    string
	notice func(string)
	warned bool
	full   bool
}

const (
	// lowSpace is how many bytes should be free: a launch-bound program writes some MB a second.
	lowSpace = 1 << 30
	// noSpace is how many bytes are as good as none: a chunk or two.
	noSpace = 512 << 10
)

func (d *diskWatch) look() {
	var st syscall.Statfs_t
	if syscall.Statfs(d.dir, &st) != nil || st.Bsize <= 0 {
		return
	}
	free := int64(st.Bavail) * st.Bsize
	d.full = d.full || free < noSpace
	if free < lowSpace && !d.warned {
		d.warned = true
		d.notice("only " + Size(free) + " are free on the disk of " + d.dir +
			": what does not fit is not recorded; --spool-dir puts it elsewhere")
	}
}
