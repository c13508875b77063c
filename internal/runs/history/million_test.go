package history

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"path/filepath"
	"testing"

	"lacuna/internal/runs/measure"
)

// BenchmarkMillion asks a store of a million points, 5,000 runs of 200 measures, what the commands ask. A twentieth
// of the measures has a shift somewhere.
func BenchmarkMillion(b *testing.B) {
	const runs, measures = 5000, 200
	ctx := context.Background()
	s := create(b, filepath.Join(b.TempDir(), "lacuna.db"))
	r := rand.New(rand.NewSource(1))
	var batch []Entry
	for i := range runs {
		e := entry(i, "x")
		e.Run.Started = int64(i)
		for m := range measures {
			level := 10 + float64(m)
			if m%20 == 0 && i > runs-300 {
				level *= 1.05
			}
			x := level * math.Exp(0.01*r.NormFloat64())
			e.Run.Measures = append(e.Run.Measures,
				measure.Measure{Name: fmt.Sprintf("kernel:%03d", m), Unit: "ms", Samples: []float64{x, x * 1.01}})
		}
		if batch = append(batch, e); len(batch) == 250 {
			if _, _, err := s.Add(ctx, batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	x := only(b, s)
	all, err := s.Runs(ctx, x.ID, 0)
	if err != nil {
		b.Fatal(err)
	}
	added := runs
	for _, test := range []struct {
		name string
		do   func() error
	}{
		{"add", func() error {
			e := entry(added, "x", step(1))
			added++
			_, _, err := s.Add(ctx, []Entry{e})
			return err
		}},
		{"list", func() error { _, err := s.Series(ctx, Filter{}); return err }},
		{"show", func() error { _, err := s.Kept(ctx, all[17]); return err }},
		{"plot", func() error { _, _, err := s.Courses(ctx, x, []string{"kernel:040"}, 500, 0.01); return err }},
		{"plot-all-runs", func() error {
			_, _, err := s.Courses(ctx, x, []string{"kernel:040"}, runs,
				0.01)
			return err
		}},
		{"blame-one", func() error { _, err := s.Blame(ctx, x, []string{"kernel:040"}, 500, 0.01); return err }},
		{"blame-all", func() error { _, err := s.Blame(ctx, x, nil, 500, 0.01); return err }},
		{"baseline-all", func() error { _, err := s.Levels(ctx, x, nil, Window); return err }},
		{"baseline-runs", func() error { _, err := s.Baseline(ctx, x, Window); return err }},
		{"prune-10", func() error {
			_, err := s.Prune(ctx, all[:10])
			all = all[10:]
			return err
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if err := test.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
