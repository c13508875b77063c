package kernelrules_test

import (
	"path/filepath"
	"testing"

	"lacuna/internal/base/golden"
)

// Every report of the corpus from elsewhere is diagnosed, on all chips and versions, and no number is out of order.
func TestPublic(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Corpus(t), "public/ncu/*/report.ncu-rep*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no reports in the corpus: ", err)
	}
	for _, file := range files {
		ks, found := open(t, file)
		for i, k := range ks {
			us, _ := k.Microseconds()
			t.Logf("%-34s %-28.28s %-16s %9.1f us: %s | mentioned %s | %d abstain", filepath.Base(filepath.Dir(file)),
				k.Launch.Base, k.DeviceName(), us, brief(found[i].All), brief(found[i].Mentioned),
				len(found[i].Abstained))
			for _, f := range found[i].All {
				if f.PredictedUs < 0 || f.LowUs > f.PredictedUs || f.PredictedUs > f.HighUs || f.HighUs > us*1.0001 ||
					f.PredictedUs != f.PredictedUs {
					t.Errorf("%s: %s: %v us [%v, %v] of %v", k.Launch.Base, f.Rule.ID, f.PredictedUs, f.LowUs,
						f.HighUs, us)
				}
			}
		}
	}
}
