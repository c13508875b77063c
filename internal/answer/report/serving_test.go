package report

import (
	"encoding/json"
	"math"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// served is a prefill, three decode steps, a mixed step and two decode steps, of which the last only closes. Steps in
// ns: prefill 310, decode 60 60 60, mixed 160, decode 60.
const served = `
range annotation 0+8 execute_context_2(300)_generation_0(0)
range annotation 10+8 execute_context_0(0)_generation_2(2)
range annotation 20+8 execute_context_0(0)_generation_2(2)
range annotation 30+8 execute_context_0(0)_generation_2(2)
range annotation 40+8 execute_context_1(100)_generation_2(2)
range annotation 50+8 execute_context_0(0)_generation_3(3)
range annotation 60+8 execute_context_0(0)_generation_3(3)
call c1 1+1 cudaLaunchKernel
call c2 11+1 cudaGraphLaunch
call c3 21+1 cudaGraphLaunch
call c4 31+1 cudaGraphLaunch
call c5 41+1 cudaLaunchKernel
call c6 51+1 cudaGraphLaunch
call c7 61+1 cudaGraphLaunch
kernel c1 100+300 gemm
kernel c2 410+50 gemm
kernel c3 470+50 gemm
kernel c4 530+50 gemm
kernel c5 590+150 gemm
kernel c6 750+50 gemm
kernel c7 810+50 gemm
`

func TestServing(t *testing.T) {
	trace, err := evtext.Parse(served)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{}, unjudged)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	type want struct {
		kind              string
		bucket            int64
		count             int
		mean, graph, idle float64 // ns
	}
	wants := []want{{"prefill", 512, 1, 310, 0, 10}, {"mixed", 128, 1, 160, 0, 10}, {"decode", 2, 3, 60, 1, 10},
		{"decode", 4, 1, 60, 1, 10}}
	if len(r.Steps.Kinds) != len(wants) {
		t.Fatalf("kinds %+v", r.Steps.Kinds)
	}
	share := 0.0
	for i, w := range wants {
		k := r.Steps.Kinds[i]
		if k.Kind != w.kind || k.Bucket != w.bucket || k.Count != w.count {
			t.Errorf("kind %d is %s %d, %d steps, want %+v", i, k.Kind, k.Bucket, k.Count, w)
		}
		near(w.kind+" mean", k.MeanMs*1e6, w.mean)
		near(w.kind+" graph share", k.GraphShare, w.graph)
		near(w.kind+" idle", k.Budget.Idle*1e6, w.idle)
		near(w.kind+" host gap", k.HostGapMs*1e6, w.idle)
		b := k.Budget
		near(w.kind+" parts", b.Compute+b.CommExposed+b.Copy+b.Idle, k.MeanMs)
		gap := 0.0
		for _, ms := range k.HostGap {
			gap += ms
		}
		near(w.kind+" gap parts", gap, k.HostGapMs)
		share += k.ShareOfGPU
	}
	near("shares", share, 1)
	s := r.Serving
	// tokens come with the decode and mixed steps: 60, 60, 60, 160 to the next, and 60 to the last
	if s.ITL == nil || s.ITL.Count != 5 {
		t.Fatalf("itl %+v", s.ITL)
	}
	near("itl p50", s.ITL.P50*1e6, 60)
	near("prefill per 1,000 tokens", *s.PrefillMsPer1k*1e6, 310.0/0.3)
	near("tokens per second", *s.DecodeTokensPerS, 11.0/710e-9)
	near("mixed penalty", *s.MixedPenalty, 160.0/60)
	near("outside", *r.Steps.OutsideMs*1e6, 50)
	if r.Steps.Kind != "prefill" || r.Steps.Count != 1 || r.Steps.Engine != "vllm" {
		t.Errorf("the report is on %d %s steps of %s", r.Steps.Count, r.Steps.Kind, r.Steps.Engine)
	}
	near("budget", r.Budget.StepMs()*1e6, 310)
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// What no engine marks says nothing of serving.
func TestNotServing(t *testing.T) {
	trace, err := evtext.Parse("step 0+10\nstep 10+10\ncall c1 1+1 cudaLaunchKernel\nkernel c1 3+5 a\n")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{}, unjudged)
	if err != nil {
		t.Fatal(err)
	}
	if r.Serving != nil || r.Steps.Kinds != nil || r.Steps.Kind != "" || r.Steps.OutsideMs != nil {
		t.Errorf("serving %+v, steps %+v", r.Serving, r.Steps)
	}
}

// A front end's capture has no GPU work, and says where there is some; that of a worker is none, whatever its name.
func TestFrontEnd(t *testing.T) {
	for events, want := range map[string]int{
		"info path=a/host_1.async_llm.2.pt.trace.json\nop 0+10 a\n":               1,
		"info path=a/host_1.async_llm.2.pt.trace.json\nop 0+10 a\nkernel 3+5 a\n": 0,
		"info path=a/rank0.2.pt.trace.json\nop 0+10 a\n":                          0,
	} {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		if got := frontEnds([]*facts.Facts{facts.Of(trace)}); len(got) != want {
			t.Errorf("%q: %v", events, got)
		}
	}
}
