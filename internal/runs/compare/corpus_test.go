package compare_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/answer/diagnose"
	"lacuna/internal/answer/report"
	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/runs/compare"
	"lacuna/internal/timeline/facts"
)

// captureOf reads a capture as diff does.
func captureOf(t *testing.T, path string, opt facts.StepOptions) *compare.Capture {
	t.Helper()
	trace, err := reader.Open(context.Background(), path, readers.All,
		reader.Options{Need: diagnose.Needs | report.MeasureNeeds})
	if err != nil {
		t.Fatal(err)
	}
	f := facts.With(trace, opt)
	run, err := report.Measures(f)
	if err != nil {
		t.Fatal(err)
	}
	d, err := diagnose.Of([]*facts.Facts{f}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Build([]*facts.Facts{f}, report.Options{}, func() (report.Judged, error) {
		found, err := d.Judged(t.Context())
		if err != nil {
			return report.Judged{}, err
		}
		return *found, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	return compare.Take(f, steps, r, run)
}

func diffOf(t *testing.T, before, after *compare.Capture) *compare.Difference {
	t.Helper()
	d := compare.Diff([]*compare.Capture{before}, []*compare.Capture{after}, compare.Options{})
	if !d.Comparable {
		t.Errorf("not comparable: %q", d.WhyNot)
	}
	return d
}

// planted is a key that must be the first that explains a fix; the second where the fix takes work off the
// launching thread as well, as host_sync's does: each .item() is a launch, a copy and a wait.
var planted = map[string]struct {
	keys  string
	among int
}{
	"alloc_churn": {"idle:alloc", 1}, "copy_not_overlapped": {"copy", 1}, "data_loading": {"idle:range:data_load", 1},
	"dominant_kernel": {"kernels:other kernels", 1},
	"dtype_churn":     {"kernels:casts", 1}, "fp32_matmul": {"kernels:matrix products", 1},
	"host_sync":        {"idle:sync", 2},
	"looped_optimizer": {"idle:launch", 1},
	"llm_decode":       {"idle:launch", 1}, "pageable_copies": {"copy", 1},
	"stream_serialization": {"overlap kernels:graph", 1}, "tiny_kernels": {"idle:launch", 1},
	"unfused_attention":   {"kernels:element-wise kernels", 1},
	"unfused_elementwise": {"kernels:element-wise kernels", 1},
}

func TestRepairsAreChanges(t *testing.T) {
	corpus := golden.Shared(t, "corpus/system")
	folders, _ := filepath.Glob(corpus + "/*")
	compared := 0
	for _, folder := range folders {
		for _, file := range []string{"torch.json.gz", "nsys.sqlite.zst"} {
			slow, fixed := filepath.Join(folder, "slow", file), filepath.Join(folder, "fixed", file)
			if _, err := os.Stat(slow); err != nil {
				continue
			}
			if _, err := os.Stat(fixed); err != nil {
				continue
			}
			compared++
			t.Run(filepath.Base(folder)+" "+file, func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(folder, "truth.json"))
				if err != nil {
					t.Fatal(err)
				}
				var truth struct{ Rule string }
				if err := json.Unmarshal(text, &truth); err != nil {
					t.Fatal(err)
				}
				check(t, filepath.Base(folder), diffOf(t, captureOf(t, slow, facts.StepOptions{}),
					captureOf(t, fixed, facts.StepOptions{})))
			})
		}
	}
	if compared < 25 {
		t.Errorf("only %d pairs were compared", compared)
	}
}

func check(t *testing.T, name string, d *compare.Difference) {
	want, ok := planted[name]
	if !ok {
		t.Fatalf("no expectation for %s", name)
	}
	found := false
	for i, x := range d.Explained {
		found = found || i < want.among && strings.Contains(want.keys, x.Key)
	}
	if !found {
		t.Errorf("explained by %+v, want %s among %d", d.Explained, want.keys, want.among)
	}
	sum := 0.0
	for _, x := range d.Explained {
		sum += x.Ms
	}
	if change := meanOf(d, 1) - meanOf(d, 0); math.Abs(sum-change) > 0.02*d.Step.Before {
		t.Errorf("what explains it sums to %.3f ms, the mean steps differ by %.3f", sum, change)
	}
	// host_sync gains less than host-bound programs scatter: its fix shows in the synchronisations that went.
	if d.Step.Verdict != compare.Faster && name != "host_sync" {
		t.Errorf("the step is %s: %+v", d.Step.Verdict, d.Step)
	}
	if len(d.Findings.Gone) == 0 {
		t.Error("no finding went")
	}
}

func meanOf(d *compare.Difference, side int) float64 { return d.MeanMs[side] }

// Halves of one run, and captures of one program by two profilers, are never a regression or a gain.
func TestNothingIsNoChange(t *testing.T) {
	corpus := golden.Shared(t, "corpus/system")
	files, _ := filepath.Glob(corpus + "/*/*/torch.json.gz")
	for _, file := range files {
		t.Run(strings.TrimPrefix(filepath.Dir(file), corpus), func(t *testing.T) {
			whole := captureOf(t, file, facts.StepOptions{})
			n := len(whole.Run.Find("step").Samples)
			if n >= 4 {
				first := captureOf(t, file, facts.StepOptions{Pin: true, First: -n, Last: -n / 2})
				second := captureOf(t, file, facts.StepOptions{Pin: true, First: -n / 2, Whole: true})
				noVerdict(t, "halves", diffOf(t, first, second))
			}
			other := filepath.Join(filepath.Dir(file), "nsys.sqlite.zst")
			if _, err := os.Stat(other); err == nil {
				noVerdict(t, "formats", diffOf(t, whole, captureOf(t, other, facts.StepOptions{})))
			}
		})
	}
}

func noVerdict(t *testing.T, what string, d *compare.Difference) {
	t.Helper()
	if v := d.Step.Verdict; v == compare.Slower || v == compare.Faster {
		t.Errorf("%s: the step is %s: %+v; unprofiled %+v", what, v, *d.Step, d.Unprofiled)
	}
	for _, m := range d.Measures {
		if m.Verdict == compare.Slower {
			t.Errorf("%s: %s is slower: %v to %v, %v to %v %%", what, m.Name, m.Before, m.After, *m.LowPct, *m.HighPct)
		}
	}
	for _, k := range d.Kernels {
		if k.Verdict == compare.Slower {
			t.Errorf("%s: kernel %q %q is slower: %v to %v (%v to %v %%)", what, k.Before, k.After, k.Change.Before,
				k.Change.After, *k.LowPct, *k.HighPct)
		}
	}
}
