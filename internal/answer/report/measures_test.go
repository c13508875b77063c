package report

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/facts"
)

// The measures of a capture sum to the report's budget, whose mean they are the samples of.
func TestMeasuresAreTheReports(t *testing.T) {
	for _, path := range []string{"system/pageable_copies/slow/torch.json.gz",
		"system/tiny_kernels/slow/nsys.sqlite.zst"} {
		t.Run(path, func(t *testing.T) {
			path := filepath.Join(golden.Corpus(t), path)
			trace, err := reader.Open(context.Background(), path, readers.All, reader.Options{Need: MeasureNeeds})
			if err != nil {
				t.Fatal(err)
			}
			f := facts.Of(trace)
			run, err := Measures(f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Build([]*facts.Facts{f}, Options{Top: 1000}, unjudged)
			if err != nil {
				t.Fatal(err)
			}
			near := func(what string, want float64) {
				m := run.Find(what)
				if m == nil {
					t.Errorf("no measure %s", what)
					return
				}
				sum := 0.0
				for _, x := range m.Samples {
					sum += x
				}
				if got := sum / float64(len(m.Samples)); math.Abs(got-want) > 0.02*want+1e-3 {
					t.Errorf("%s: mean %v, the report has %v", what, got, want)
				}
			}
			near("step", want.Steps.MeanMs)
			near("compute", want.Budget.Compute)
			near("copy", want.Budget.Copy)
			near("idle", want.Budget.Idle)
			kernels := 0
			for _, k := range want.TopKernels {
				if k.ShareOfStep > 0.01 {
					near("kernel:"+k.Name, k.MsPerStep)
					kernels++
				}
			}
			if kernels == 0 {
				t.Error("no kernel was compared")
			}
			for _, name := range []string{"range:forward", "range:backward", "range:optimizer"} {
				if m := run.Find(name); m == nil || len(m.Samples) == 0 {
					t.Errorf("no measure %s", name)
				}
			}
		})
	}
}
