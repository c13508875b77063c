package pages

import (
	"slices"
	"testing"

	"lacuna/internal/answer/report"
)

// TestRateLines: what a server sees of a change is said where steps give tokens or read prompts, and a change was made.
func TestRateLines(t *testing.T) {
	x := &report.WhatIf{Changes: []report.AppliedChange{{Change: "batch:32", Applied: true}},
		Serving: &report.WhatIfServing{Kind: "mixed",
			Now: report.ServingRate{Requests: 11.5, Tokens: 11.5, PromptTokens: 512,
				ItlMs: &report.Bounded{Value: 3}, TokensPerS: &report.Bounded{Value: 3833},
				PromptPerS: &report.Bounded{Value: 170_667}},
			Then: report.ServingRate{Requests: 32, Tokens: 32, PromptTokens: 512,
				ItlMs:      &report.Bounded{Value: 4, Low: 3.6, High: 4.4},
				TokensPerS: &report.Bounded{Value: 8000, Low: 7273, High: 8889},
				PromptPerS: &report.Bounded{Value: 128_000, Low: 116_364, High: 142_222}}}}
	var got []string
	for _, line := range rateLines(x) {
		got = append(got, line.String())
	}
	want := []string{
		"Tokens per second of running requests: now 3,830 (11.5 in a step), then 8,000 (7,270 to 8,890; 32 in a step).",
		"Tokens of prompts per second: now 171,000 (512 in a step), then 128,000 (116,000 to 142,000; 512 in a step).",
		"Between two tokens of a request, while such steps follow one another: now 3.00 ms, then 4.00 ms (3.60-4.40 ms).",
	}
	if !slices.Equal(got, want) {
		t.Errorf("is   %q\nwant %q", got, want)
	}
	x.Changes[0].Applied = false
	if rateLines(x) != nil {
		t.Error("a change that was not made has rates")
	}
}
