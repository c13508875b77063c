package history

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"lacuna/internal/runs/measure"
)

// noisy is a level with one per cent of noise.
func noisy(r *rand.Rand, level float64) []float64 {
	x := level * (1 + 0.01*r.NormFloat64())
	return []float64{x, x * 1.001, x * 0.999}
}

// shop is a store of three runs a commit: at commit 10 the step and a kernel go up by a fifth together, and the
// memory stays.
func shop(t *testing.T, dsn string, commits int, more func(commit int, e *Entry)) *Store {
	s := create(t, dsn)
	r := rand.New(rand.NewSource(7))
	var all []Entry
	for c := range commits {
		for i := range 3 {
			level := 10.0
			if c >= 10 {
				level = 12
			}
			e := entry(c, fmt.Sprint(c, i), measure.Measure{Name: "step", Unit: "ms", Samples: noisy(r, level)},
				measure.Measure{Name: "kernel:gemm", Unit: "ms", Samples: noisy(r, level/2)},
				measure.Measure{Name: "peak_memory", Unit: "bytes", Samples: []float64{1 << 30}})
			if more != nil {
				more(c, &e)
			}
			e.Run.Sort()
			all = append(all, e)
		}
	}
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] }) // they come in any order
	for part := range slices.Chunk(all, 7) {
		if _, _, err := s.Add(context.Background(), part); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func blame(t *testing.T, s *Store, of ...string) *Blame {
	t.Helper()
	b, err := s.Blame(context.Background(), only(t, s), of, 500, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBlame(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		b := blame(t, shop(t, dsn, 20, nil))
		if len(b.Moves) != 1 || len(b.Moves[0].Measures) != 2 || b.Measures != 3 || b.Runs != 60 {
			t.Fatalf("%+v", b)
		}
		m := b.Moves[0]
		before, at := entry(9, "").Commit, entry(10, "").Commit
		if m.Drift || m.Within || m.After.Commit != before || m.From.Commit != before || m.Best.Commit != at ||
			m.Upto.Commit != at {
			t.Errorf("%+v", m)
		}
		for _, x := range m.Measures {
			if !x.Worse || x.Low > 0.2 || x.High < 0.2 || x.High-x.Low > 0.03 {
				t.Errorf("%+v", x)
			}
		}
		if only := blame(t, create(t, dsn), "peak*"); only.Measures != 1 || len(only.Moves) > 0 || !only.Enough {
			t.Errorf("%+v", only)
		}
	})
}

// What moved between runs of one commit was not the code.
func TestBlameWithinACommit(t *testing.T) {
	s := create(t, t.TempDir()+"/lacuna.db")
	for i := range 20 {
		ms := 10 + 0.01*float64(i%3)
		if i >= 10 {
			ms = 12 + 0.01*float64(i%3)
		}
		if _, _, err := s.Add(context.Background(), []Entry{entry(1, fmt.Sprint(i), step(ms))}); err != nil {
			t.Fatal(err)
		}
	}
	if b := blame(t, s); len(b.Moves) != 1 || !b.Moves[0].Within {
		t.Errorf("%+v", b.Moves)
	}
}

func TestBlameTellsDriftAndSingleRuns(t *testing.T) {
	s := create(t, t.TempDir()+"/lacuna.db")
	r := rand.New(rand.NewSource(7))
	for c := range 60 {
		memory := 100 + float64(c)
		lone := noisy(r, 10)
		if c == 30 || c == 59 {
			lone = []float64{20}
		}
		e := entry(c, "x", measure.Measure{Name: "memory", Unit: "MB", Samples: noisy(r, memory)}, step(lone...))
		if _, _, err := s.Add(context.Background(), []Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	b := blame(t, s)
	if len(b.Moves) != 1 || !b.Moves[0].Drift || !b.Moves[0].Measures[0].Worse {
		t.Errorf("%+v", b.Moves)
	}
	if len(b.Off) != 2 || !b.Off[0].Last || b.Off[1].Last || b.Off[1].Run.Commit != entry(30, "").Commit {
		t.Errorf("%+v", b.Off)
	}
}

// The baseline is what was before a regression, until that is acknowledged; what got better is the baseline at once.
func TestBaseline(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := shop(t, dsn, 20, func(c int, e *Entry) {
			speed := 100.0
			if c >= 10 {
				speed = 120
			}
			e.Run.Measures = append(e.Run.Measures,
				measure.Measure{Name: "tokens", Unit: "1/s", Better: measure.Higher,
					Samples: noisy(rand.New(rand.NewSource(int64(len(e.Run.Name)*c))), speed)})
		})
		level := func(name string) Level {
			t.Helper()
			l, err := s.Levels(ctx, only(t, s), []string{name}, Window)
			if err != nil || len(l) != 1 {
				t.Fatal(l, err)
			}
			return l[0]
		}
		near := func(l Level, want float64) {
			t.Helper()
			if len(l.Points) != Window || l.Median < 0.97*want || l.Median > 1.03*want {
				t.Errorf("%s: %d runs at %g, want %g", l.Measure.Name, len(l.Points), l.Median, want)
			}
		}
		near(level("step"), 10)
		near(level("tokens"), 120)
		if l := level("step"); l.Held == nil || l.HeldFrom.Commit != entry(10, "").Commit ||
			l.Upto.Commit != entry(9, "").Commit {
			t.Errorf("%+v", l)
		}
		runs, err := s.Baseline(ctx, only(t, s), Window)
		if err != nil {
			t.Fatal(err)
		}
		slow, fast := measure.Samples(runs, "step"), measure.Samples(runs, "tokens")
		if len(slow) != Window || len(fast) != Window || slow[0][0] > 11 || fast[0][0] < 110 {
			t.Errorf("%d runs; step %v, tokens %v", len(runs), slow, fast)
		}
		found, err := s.Find(ctx, entry(10, "").Commit)
		if err != nil || len(found) != 3 {
			t.Fatal(found, err)
		}
		if err := s.Acknowledge(ctx, found[0], "step", "meant"); err != nil {
			t.Fatal(err)
		}
		near(level("step"), 12)
		near(level("kernel:gemm"), 5)
		if b := blame(t, s, "step"); !b.Moves[0].Measures[0].Acknowledged {
			t.Errorf("%+v", b.Moves)
		}
	})
}

func TestRejectAndPrune(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := shop(t, dsn, 6, nil)
		runs, err := s.Runs(ctx, only(t, s).ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		points := func() int {
			c, _, err := s.Courses(ctx, only(t, s), []string{"step"}, 500, 0)
			if err != nil {
				t.Fatal(err)
			}
			return len(c[0].Points)
		}
		if err := s.Reject(ctx, runs[3:5], true); err != nil || points() != 16 {
			t.Errorf("%d points, %v", points(), err)
		}
		if err := s.Reject(ctx, runs[3:4], false); err != nil || points() != 17 {
			t.Errorf("%d points, %v", points(), err)
		}
		if err := s.Acknowledge(ctx, runs[1], "*", ""); err != nil {
			t.Fatal(err)
		}
		n, err := s.Prune(ctx, runs[:6])
		if err != nil || n != 5 || only(t, s).Runs != 13 {
			t.Errorf("removed %d of 6, of which one is acknowledged: %v", n, err)
		}
		var left int
		if err := s.db.QueryRow("SELECT count(*) FROM point").Scan(&left); err != nil || left != 13*3 {
			t.Errorf("%d points left, want %d: %v", left, 13*3, err)
		}
		if n, err = s.Prune(ctx, append(runs[1:2:2], runs[6:]...)); err != nil || n != 12 {
			t.Errorf("%d, %v", n, err)
		}
	})
}
