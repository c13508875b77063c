package pages

import (
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page/pagetest"
)

// sampleWhatIf is an answer to two changes of which one was made.
func sampleWhatIf() *report.WhatIf {
	return &report.WhatIf{Schema: 1, MeasuredStepMs: 98.4, ReplayedStepMs: 98.2, SelfErrorPct: -0.2, Steps: 5,
		PredictedMs: 8.9, LowMs: 8.2, HighMs: 10.4,
		CriticalPathMs: map[string]float64{"compute": 4.4, "launch": 2.1, "range:evil\x1b[2J\u202e|`<b>": 1.1,
			"op:aten::item": 0.8, "sync": 0.04, "unheard of": 0.03},
		Unprofiled: report.Unprofiled{NowMs: 96.6, NowLowMs: 89, NowHighMs: 103.4, PredictedMs: 8.47, LowMs: 8.1,
			HighMs: 9.91,
			GainMs: 88.13, GainLowMs: 80.1, GainHighMs: 94.2, Tool: "torch.profiler"},
		Changes: []report.AppliedChange{
			{Change: "prefetch:data_load@12", Applied: true, Matched: 5,
				Assumes: []string{"workers are as fast as the thread that does it now",
					"12 workers share 96.5 ms of work a step"}},
			{Change: "pin", WhyNot: "matches nothing", Assumes: []string{}},
		},
		Notes: []string{"2 waits between streams were inferred from times"},
	}
}

func TestWhatIfGoldens(t *testing.T) {
	in := report.Input{Path: "runs/a.json.gz", Format: "kineto", Producer: "PyTorch profiler 2.11", Host: "node7",
		GPUs: []report.GPU{{Name: "NVIDIA H200"}, {Name: "NVIDIA H200", Ordinal: 1}}}
	pagetest.Goldens(t, "whatif", WhatIf(in, sampleWhatIf()))
	pagetest.HTML(t, "whatif", WhatIf(in, sampleWhatIf()))
	pagetest.Check(t, WhatIf(in, &report.WhatIf{Schema: 1}))
}

// The words for a gain never promise one whose range includes none.
func TestGainWords(t *testing.T) {
	for _, test := range []struct {
		now, predicted, low, high float64
		want                      string
	}{
		{100, 8.4, 80, 95, "12 times as fast"},
		{100, 40, 50, 65, "2.5 times as fast"},
		{100, 90, 5, 15, "10.0 ms (10.0 %) less"},
		{100, 99.5, -1, 2, "no clear gain (-1.00 to 2.00 ms)"},
		{100, 120, -25, -15, "20.0 ms longer"},
		{100, 99.75, 0.05, 0.4, "a negligible gain (0.250 ms, 0.2 %)"},
		{1, 1, 0, 0, "no clear gain (0.000 to 0.000 ms)"},
	} {
		got := gainWords(report.Unprofiled{NowMs: test.now, PredictedMs: test.predicted,
			GainMs: test.now - test.predicted, GainLowMs: test.low, GainHighMs: test.high})
		if got != test.want {
			t.Errorf("%v to %v: %q, want %q", test.now, test.predicted, got, test.want)
		}
	}
}

// TestFreeWords: a range wider than half of the step is said as a range.
func TestFreeWords(t *testing.T) {
	for _, c := range []struct {
		ms, low, high float64
		want          string
	}{
		{96.6, 89, 103.4, "96.6 ms (estimate: 89.0-103.4 ms)"},
		{3.39, 1.46, 5.04, "1.46-5.04 ms (estimate)"},
	} {
		if got := freeWords(c.ms, c.low, c.high).String(); got != c.want {
			t.Errorf("freeWords(%v, %v, %v) = %q, want %q", c.ms, c.low, c.high, got, c.want)
		}
	}
}
