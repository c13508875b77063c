package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A Pool keeps Jobs for whoever asks many questions about many captures, until together they hold more than a number
// of bytes: then the one that was used longest ago goes, of those that nobody uses. A file that has changed is opened
// anew. Several goroutines may use it.
type Pool struct {
	limit int64 // bytes

	mu   sync.Mutex
	jobs []*pooled // the one used last is last
}

// A pooled is a Job in a Pool.
type pooled struct {
	job   *Job
	key   string // paths and options
	stamp string // size and time of change of each file
	users int
	bytes int64 // when it was last given back
	stale bool  // its files have changed: it goes with its last user
}

// NewPool makes a pool that holds limit bytes. Jobs that are in use may hold more.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Open is a Job of captures, which may be another's too. It is given back with done, and not closed. Progress is that
// of whoever opened it first. What is no file with a name, such as stdin, is not kept.
func (p *Pool) Open(paths []string, opt Options) (job *Job, done func()) {
	stamp, ok := stampOf(paths)
	if !ok || opt.Data != nil {
		job = Open(paths, opt)
		return job, sync.OnceFunc(job.Close)
	}
	key := keyOf(paths, opt)
	p.mu.Lock()
	defer p.mu.Unlock()
	var x *pooled
	for _, have := range p.jobs {
		switch {
		case have.key != key:
		case have.stamp == stamp && !have.stale:
			x = have
		default:
			have.stale = true
		}
	}
	if x == nil {
		x = &pooled{job: Open(paths, opt), key: key, stamp: stamp}
	}
	x.users++
	p.jobs = append(slices.DeleteFunc(p.jobs, func(y *pooled) bool { return y == x }), x)
	p.trim()
	return x.job, sync.OnceFunc(func() { p.giveBack(x) })
}

// giveBack ends one use of a Job.
func (p *Pool) giveBack(x *pooled) {
	bytes := x.job.Bytes()
	p.mu.Lock()
	defer p.mu.Unlock()
	x.users--
	x.bytes = bytes
	p.trim()
}

// Bytes is about what the Jobs hold, as far as they were given back.
func (p *Pool) Bytes() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.jobs {
		n += x.bytes
	}
	return n
}

// Close closes all Jobs, in use or not.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.jobs {
		x.job.Close()
	}
	p.jobs = nil
}

// trim closes what is stale and, while there is too much, what was used longest ago.
func (p *Pool) trim() {
	var total int64
	for _, x := range p.jobs {
		total += x.bytes
	}
	p.jobs = slices.DeleteFunc(p.jobs, func(x *pooled) bool {
		if x.users > 0 || !x.stale && total <= p.limit {
			return false
		}
		total -= x.bytes
		x.job.Close()
		return true
	})
}

// keyOf is equal for calls that have the same answers.
func keyOf(paths []string, opt Options) string {
	var b strings.Builder
	for _, path := range paths {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		fmt.Fprintf(&b, "%q ", path)
	}
	steps, pattern := opt.Steps, ""
	if steps.Range != nil {
		pattern, steps.Range = steps.Range.String(), nil
	}
	fmt.Fprintf(&b, "%+v %q %d", steps, pattern, opt.Rank)
	return b.String()
}

// stampOf changes when files do; false: something is no file.
func stampOf(paths []string) (string, bool) {
	var b strings.Builder
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() {
			return "", false
		}
		fmt.Fprintf(&b, "%d %d ", st.Size(), st.ModTime().UnixNano())
	}
	return b.String(), true
}

// perColumnByte is how many bytes a Job that was asked for a report holds for each byte in the columns of its
// captures, texts, facts and the replay's program with them: 1.3 to 1.7 were measured on four captures with 8 to 13
// MB of columns. Small captures hold more, up to 4.5 times, which the pool counts too low: they are small.
const perColumnByte = 2

// Bytes is about how much memory the job holds.
func (j *Job) Bytes() int64 {
	j.turn <- struct{}{}
	defer j.release()
	if j.now == nil {
		return 0
	}
	seen := make(map[uintptr]bool)
	var n int64
	count := func(f *facts.Facts) { n += columnBytes(f.Trace, seen) }
	for _, f := range j.now.in {
		count(f)
	}
	for _, f := range j.now.files {
		count(f.whole)
	}
	return n * perColumnByte
}

// columnBytes is what the columns of a capture take that are not in seen, to which it adds them.
func columnBytes(t *model.Trace, seen map[uintptr]bool) (n int64) {
	for _, table := range t.Tables() {
		for _, c := range table.Columns {
			if at := c.Slice.Pointer(); at != 0 && !seen[at] {
				seen[at] = true
				n += int64(c.Slice.Cap()) * int64(c.Slice.Type().Elem().Size())
			}
		}
	}
	return n
}
