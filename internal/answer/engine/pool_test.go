package engine

import (
	"errors"
	"os"
	"testing"
	"time"
)

// asked opens a capture in a pool, asks it and gives it back.
func asked(t *testing.T, p *Pool, path string, opt Options) *Job {
	t.Helper()
	job, done := p.Open([]string{path}, opt)
	if _, err := job.Report(t.Context(), ReportOptions{}); err != nil {
		t.Fatal(err)
	}
	done()
	done()
	return job
}

func closed(t *testing.T, job *Job) bool {
	t.Helper()
	_, err := job.Report(t.Context(), ReportOptions{})
	var gone *ClosedError
	return errors.As(err, &gone)
}

// TestPool: a capture is opened once as long as it, its options and the room for it stay the same.
func TestPool(t *testing.T) {
	opt := Options{Rank: AllRanks}
	a := write(t, "a.txt", rankText(0, 300))
	pool := NewPool(1 << 30)
	first := asked(t, pool, a, opt)
	if again := asked(t, pool, a, opt); again != first || pool.Bytes() != first.Bytes() {
		t.Errorf("opened anew; %d bytes, %d in all", first.Bytes(), pool.Bytes())
	}
	if other := asked(t, pool, a, Options{Rank: AllRanks, Steps: StepOptions{Pin: true, Last: 3}}); other == first {
		t.Error("other steps are another job's")
	}
	if err := os.Chtimes(a, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if changed := asked(t, pool, a, opt); changed == first || !closed(t, first) {
		t.Error("the file has changed")
	}
	job, done := pool.Open([]string{a}, opt)
	pool.Close()
	if done(); !closed(t, job) || pool.Bytes() != 0 {
		t.Error("the pool is closed")
	}
}

// TestPoolEvicts: what was used longest ago goes first, and nothing that is in use.
func TestPoolEvicts(t *testing.T) {
	opt := Options{Rank: AllRanks}
	a, b, c := write(t, "a.txt", rankText(0, 300)), write(t, "b.txt", rankText(0, 301)),
		write(t, "c.txt", rankText(0, 302))
	size := asked(t, NewPool(1<<30), a, opt).Bytes()
	pool := NewPool(2*size + size/2)
	jobA, jobB := asked(t, pool, a, opt), asked(t, pool, b, opt)
	asked(t, pool, a, opt)
	jobC := asked(t, pool, c, opt)
	if closed(t, jobA) || !closed(t, jobB) || closed(t, jobC) {
		t.Errorf("closed: a %v, b %v, c %v; want b only", closed(t, jobA), closed(t, jobB), closed(t, jobC))
	}
	tight := NewPool(1)
	job, done := tight.Open([]string{a}, opt)
	if _, err := job.Report(t.Context(), ReportOptions{}); err != nil {
		t.Fatal(err)
	}
	if asked(t, tight, b, opt); closed(t, job) {
		t.Error("a job in use was closed")
	}
	if done(); !closed(t, job) {
		t.Error("there is no room for it")
	}
}
