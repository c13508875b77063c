package pages

import (
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page/pagetest"
)

// servingReport is a report on an engine's steps with something in every line of the section.
func servingReport() *report.Report {
	f := func(v float64) *float64 { return &v }
	span := func(a, b int64) *[2]int64 { return &[2]int64{a, b} }
	budget := report.Budget{Compute: 8.1, CommExposed: 0.6, Copy: 0.1, Idle: 1.7,
		IdleByHost: map[string]float64{"launch": 1.2, "sync": 0.5}}
	return &report.Report{
		Schema: 1,
		Inputs: []report.Input{{Path: "serve.json.gz", Format: "kineto", Producer: "PyTorch profiler 2.11",
			GPUs: []report.GPU{{Name: "NVIDIA H200"}}}},
		Steps: report.Steps{Count: 118, Source: "engine", Basis: "device", MeanMs: 10.5, MedianMs: 10.4, P10Ms: 10.1,
			P90Ms: 11.2, Engine: "sglang", Kind: "decode", Bucket: 32, Size: "batch 17 to 32", OutsideMs: f(463.3),
			Note: "budget, lists and findings are of 118 of 400 decode steps (the longest run of the kind that takes " +
				"most time)",
			Kinds: []report.StepKind{
				{Kind: "prefill", Tokens: span(1100, 2048), Batch: span(1, 3), Bucket: 2048,
					Size:  "1100 to 2048 tokens",
					Count: 12, MeanMs: 81.2, P50Ms: 80.9, P90Ms: 88, P99Ms: 91.4, TotalMs: 974, ShareOfGPU: 0.18,
					GPUMs:  79.9,
					Budget: report.KindBudget{Compute: 79, CommExposed: 0.9, Idle: 1.3, HostGap: 0.9}, HostGapMs: 0.9,
					HostGap: map[string]float64{"launch": 0.9}, Per1kMs: f(43.2), TokensStep: f(1880)},
				{Kind: "decode", Batch: span(17, 32), Tokens: span(17, 32), Bucket: 32,
					Size: "batch 17 to 32", Count: 400,
					Open: 1, MeanMs: 10.5, P50Ms: 10.4, P90Ms: 11.2, P99Ms: 14.9, TotalMs: 4200, ShareOfGPU: 0.78,
					GPUMs: 8.8, GraphShare: 0.989, GraphsStep: 1, LaunchesOne: 10, Padding: 1.33,
					Budget: report.KindBudget{Compute: 8.1, CommExposed: 0.6, Copy: 0.1, Idle: 1.7, HostGap: 1.5},
					HostGap: map[string]float64{"sample": 0.4, "other": 0.5, "schedule": 0.2, "prepare": 0.1,
						"launch": 0.3},
					HostGapMs: 1.5, TokensStep: f(27)},
				{Kind: "other", Name: "evil\x1b[2J\u202e|`<b>", Count: 3, MeanMs: 66, P50Ms: 66, P90Ms: 66, P99Ms: 66,
					TotalMs: 198, ShareOfGPU: 0.04, GPUMs: 60, Budget: report.KindBudget{Compute: 60, Idle: 6}},
			}},
		Budget:    budget,
		PerDevice: []report.Device{{Name: "NVIDIA H200", Budget: budget}},
		Serving: &report.Serving{Engine: "sglang", ITL: &report.Quantiles{P50: 10.5, P90: 12, P99: 92, Count: 399},
			DecodeTokensPerS: f(2571.4), PrefillMsPer1k: f(43.2), MixedPenalty: f(3.21),
			Speculation: &report.Speculation{DraftMs: 3.1, VerifyMs: 12.4, BreakEven: f(1.48), Accepted: f(2.7),
				Faster: f(1.82)},
			Floor: &report.Floor{Weights: 2.86, KV: f(0.91), StepMs: 10.5, WeightGB: 15.1, GPUs: 2, Tokens: 27,
				MemoryGBs: 4800},
			Outside: &report.OutsidePart{Ms: 463.3, GPUMs: 0.004, LongestMs: 463.3, Doing: "copy_call", DoingMs: 463.2,
				Call: "cudaMemcpy"},
			EmptyMarks: 2, CutMarks: 1, Pauses: 3,
			NotKnown: []string{"time to first token: queueing, arrival and network are not in a capture; the server's " +
				"metrics have it"}},
	}
}

func TestServingGoldens(t *testing.T) {
	pagetest.Goldens(t, "serving", Report(servingReport(), nil, Detail{}))
}

// A step with none behind it is not all that there is: what lies between two steps may be worth fixing.
func TestNoAllClearOfOneStep(t *testing.T) {
	r := servingReport()
	r.Budget, r.Profiler = report.Budget{Compute: 10}, &report.Profiler{}
	r.Steps.Kinds = []report.StepKind{{Kind: "decode", Bucket: 32, Count: 1, Open: 1}}
	want := "No fix with a known gain was found. How long the GPU waits between two steps is not in this capture."
	if got := afterAllWords(r).String(); got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	r.Steps.Kinds[0].Open = 0
	if got := afterAllWords(r).String(); got == want {
		t.Errorf("says %q of a step with one behind it", got)
	}
}
