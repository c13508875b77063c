package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/servesim"
)

// TestServingGain: what working ahead is predicted to gain is what it gains.
func TestServingGain(t *testing.T) {
	load := servesim.Load{Engine: "vllm", Prompts: []int{700, 100, 2500, 300, 1200, 40, 900, 650, 5000}, Outputs: 40,
		Arrive: 3, Chunk: 1024, Mixed: true, Graphs: true, Layers: 8, ScheduleNs: 30_000, PrepareNs: 20_000}
	ahead := load
	ahead.Ahead = true
	r := ofServe(t, load, "")
	found := false
	for _, f := range r.Findings {
		if f.Rule != "decode_host_gap" {
			continue
		}
		found = true
		got := r.Steps.MeanMs - f.RecoverableMs
		if want := ofServe(t, ahead, "").Steps.MeanMs; math.Abs(got-want) > 0.05*want {
			t.Errorf("predicted %v ms, takes %v", got, want)
		}
	}
	if !found {
		t.Errorf("no finding decode_host_gap in %+v", r.Findings)
	}
	for _, f := range ofServe(t, ahead, "").Findings {
		if f.Rule == "decode_host_gap" || f.Rule == "host_sync" || f.Rule == "launch_bound" {
			t.Errorf("%s is found where the scheduler works ahead", f.Rule)
		}
	}
}

// TestKindAsked: a kind and size that is asked for is what the report is on; one that is not there is an error.
func TestKindAsked(t *testing.T) {
	load := servesim.Load{Engine: "sglang", Prompts: []int{700, 100, 300}, Outputs: 12, Arrive: 2, Graphs: true,
		Layers: 2}
	r := ofServe(t, load, facts.KindPrefill)
	if r.Steps.Kind != "prefill" || r.Budget.StepMs() <= 0 {
		t.Errorf("asked for prefill, got %s", r.Steps.Kind)
	}
	opt := Options{Rank: AllRanks, Steps: OfKind(StepOptions{}, "verify", 0)}
	_, err := Open([]string{serve(t, "load", load)}, opt).Report(context.Background(), ReportOptions{})
	var missing *facts.StepsError
	if !errors.As(err, &missing) {
		t.Errorf("asked for steps that are not there: %v", err)
	}
}

// ofServe is the report on a load.
func ofServe(t *testing.T, l servesim.Load, kind facts.StepKind) *report.Report {
	t.Helper()
	opt := Options{Rank: AllRanks, Steps: OfKind(StepOptions{}, string(kind), 0)}
	r, err := Open([]string{serve(t, "load", l)}, opt).Report(context.Background(), ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestServingWhatIf: tokens per second and the time between tokens with another batch are those of a server that runs
// it.
func TestServingWhatIf(t *testing.T) {
	load := servesim.Load{Engine: "sglang", Outputs: 40, Arrive: 2, Chunk: 4096, Graphs: true, Layers: 8,
		ScheduleNs: 60_000, PrepareNs: 40_000}
	for i := range 24 {
		load.Prompts = append(load.Prompts, 100+40*(i%7))
	}
	const batch = 12
	same := load
	same.Prompts, same.Arrive = slices.Repeat([]int{100}, batch), 0
	opt := Options{Rank: AllRanks, Steps: OfKind(StepOptions{}, "decode", 0)}
	x, _, err := Open([]string{serve(t, "load", load)}, opt).WhatIf(context.Background(),
		[]string{fmt.Sprintf("batch:%d", batch)})
	if err != nil {
		t.Fatal(err)
	}
	want := ofServe(t, same, facts.KindDecode).Steps.MeanMs
	s := x.Serving
	if s == nil || s.Then.Requests != batch || s.Then.ItlMs == nil || s.Then.TokensPerS == nil ||
		s.Then.PromptPerS != nil {
		t.Fatalf("serving: %+v of %+v", s, x.Changes)
	}
	if itl := s.Then.ItlMs; math.Abs(itl.Value-want) > 0.03*want || itl.Low > want || itl.High < want {
		t.Errorf("between two tokens %+v ms, takes %v", itl, want)
	}
	if got := s.Then.TokensPerS.Value; math.Abs(got-batch*1000/want) > 0.03*got {
		t.Errorf("%v tokens/s, gives %v", got, batch*1000/want)
	}
}
