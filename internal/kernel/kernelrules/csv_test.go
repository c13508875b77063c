package kernelrules_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/kernelrules"
)

// A raw page of a report holds every counter but the opcodes and the code: what is found on it is what is found on the
// report, or nothing where a rule abstains, and the two predictions do not contradict each other.
func TestPagesAgreeWithReports(t *testing.T) {
	cases, _ := filepath.Glob(filepath.Join(golden.Corpus(t), "kernel/*/report.ncu-rep*"))
	if len(cases) == 0 {
		t.Fatal("no reports in the corpus")
	}
	for _, path := range cases {
		for _, page := range []string{"raw.csv.gz", "raw_base.csv.gz"} {
			page = filepath.Join(filepath.Dir(path), page)
			if _, err := os.Stat(page); err != nil {
				t.Fatal(err)
			}
			t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(page), func(t *testing.T) {
				kernels, whole := open(t, path)
				_, some := open(t, page)
				if len(some) != len(whole) {
					t.Fatalf("%d launches, %d in the report", len(some), len(whole))
				}
				for i := range whole {
					agree(t, kernels[i].Launch.Base, whole[i], some[i])
				}
			})
		}
	}
}

func agree(t *testing.T, name string, whole, some *kernelrules.Findings) {
	t.Helper()
	said := func(all []kernelrules.Finding, id string) *kernelrules.Finding {
		if i := slices.IndexFunc(all, func(f kernelrules.Finding) bool { return f.Rule.ID == id }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	abstains := func(id string) bool {
		return slices.ContainsFunc(some.Abstained, func(a kernelrules.Abstention) bool { return a.Rule.ID == id })
	}
	for _, f := range some.All {
		w := said(whole.All, f.Rule.ID)
		text := fmt.Sprintf("%s: %s %.2f, %.1f (%.1f to %.1f)", name, f.Rule.ID, f.Confidence, f.PredictedUs, f.LowUs,
			f.HighUs)
		switch {
		case f.PredictedUs == 0 && f.Confidence < 0.5 && w != nil: // told, but what could be gained is in the code
			t.Logf("%s; of the report %.2f, %.1f (%.1f to %.1f)", text, w.Confidence, w.PredictedUs, w.LowUs, w.HighUs)
		case w == nil && f.Rule.Residual && f.PredictedUs == 0 && len(some.Abstained) > len(whole.Abstained):
			t.Logf("%s: in the place of what abstains", text) // no more than that a unit is busy
		case w == nil:
			t.Errorf("%s: not of the report", text)
		case f.LowUs > w.PredictedUs || f.HighUs < w.PredictedUs || f.HighUs < w.HighUs*0.99:
			t.Errorf("%s; of the report %.2f, %.1f (%.1f to %.1f)", text, w.Confidence, w.PredictedUs, w.LowUs,
				w.HighUs)
		case math.Abs(f.PredictedUs-w.PredictedUs) > 0.001*w.PredictedUs:
			t.Logf("%s; of the report %.2f, %.1f (%.1f to %.1f)", text, w.Confidence, w.PredictedUs, w.LowUs, w.HighUs)
		}
	}
	for _, f := range whole.All {
		if said(some.All, f.Rule.ID) == nil && !abstains(f.Rule.ID) {
			t.Errorf("%s: %s is of the report, and not of the page, which does not abstain", name, f.Rule.ID)
		} else if said(some.All, f.Rule.ID) == nil {
			t.Logf("%s: %s abstains", name, f.Rule.ID)
		}
	}
}
