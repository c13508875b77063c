package pages

import (
	"testing"

	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/runs/compare"
)

func TestDiffServingGoldens(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	d := &compare.Difference{Schema: 1, Comparable: true,
		Before: compare.Side{Runs: []string{"before.json.gz"}, Steps: 118, Kind: "decode@32"},
		After:  compare.Side{Runs: []string{"after.json.gz"}, Steps: 96, Kind: "decode@32"},
		Kinds: []compare.KindChange{
			{Kind: "decode", Bucket: 32, Size: "batch 17 to 32", Count: [2]int{400, 120},
				ShareSteps: [2]float64{0.41, 0.12}, ShareTime: [2]float64{0.7, 0.3}, MedianMs: [2]float64{10.4, 9.1},
				ChangePct: f(-12.5), Verdict: compare.Faster},
			{Kind: "prefill", Bucket: 2048, Size: "1100 to 2048 tokens", Count: [2]int{3, 2},
				ShareSteps: [2]float64{0.01, 0.01}, ShareTime: [2]float64{0.2, 0.2}, MedianMs: [2]float64{81, 82},
				ChangePct: f(1.2)},
			{Kind: "mixed", Bucket: 512, Size: "300 tokens", Count: [2]int{0, 12}, ShareSteps: [2]float64{0, 0.1},
				ShareTime: [2]float64{0, 0.1}, MedianMs: [2]float64{0, 22.2}},
		},
		Mix:      &compare.MixChange{ChangePct: -9.4, ShareTime: 0.9},
		Measures: []compare.Change{}, Warnings: []string{"one run per side"}}
	pagetest.Goldens(t, "diff_serving", Diff(d, nil))
}
