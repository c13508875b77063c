package diagnose

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// loader is a loop of n steps of 1 ms: 800 µs of making a batch, then one kernel of gpuNs.
func loader(n int, gpuNs int) string {
	var b strings.Builder
	end := 0
	for i := range n {
		at := i * 1_000_000
		fmt.Fprintf(&b, "step %d+1000000\nrange %d+790000 make_batch_data\ncall c%d %d+10000 cudaLaunchKernel\n", at,
			at+10_000, i+1, at+810_000)
		start := max(at+822_100, end+1_200)
		end = start + gpuNs
		fmt.Fprintf(&b, "kernel c%d %d+%d gemm\n", i+1, start, gpuNs)
	}
	return b.String()
}

func of(t *testing.T, events string) *facts.Facts {
	t.Helper()
	trace, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	return facts.Of(trace)
}

// reportOn is the report of a job with the diagnosis of the capture at place self, and of its kernels what inside
// says; nil: nothing.
func reportOn(t *testing.T, in []*facts.Facts, self int, inside *kernelreport.Report) *report.Report {
	t.Helper()
	d, err := Of(in, self)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Build(in, report.Options{}, func() (report.Judged, error) {
		found, err := d.Judged(t.Context())
		if err != nil || inside == nil {
			return *found, err
		}
		out := *found
		out.Kernels, out.KernelReports, err = d.Kernels(t.Context(), inside)
		return out, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// whatIf is the prediction for the capture at place self.
func whatIf(t *testing.T, in []*facts.Facts, self int, changes ...string) (*report.WhatIf, error) {
	t.Helper()
	d, err := Of(in, self)
	if err != nil {
		t.Fatal(err)
	}
	return d.WhatIf(t.Context(), changes)
}

// TestPrefetch: without making batches a step takes what is left on the host, 200 µs; with two workers the
// half of what making a batch takes.
func TestPrefetch(t *testing.T) {
	f := of(t, loader(6, 100_000))
	for change, wantMs := range map[string]float64{"prefetch:make_batch_data": 0.210,
		"prefetch:make_batch_data@2": 0.395} {
		w, err := whatIf(t, []*facts.Facts{f}, 0, change)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(w.MeasuredStepMs-1) > 1e-9 || math.Abs(w.SelfErrorPct) > 0.01 {
			t.Errorf("measured %v, self-error %v %%", w.MeasuredStepMs, w.SelfErrorPct)
		}
		// A worker may be slower than the main thread, so the estimate with workers lies above the share.
		if w.Unprofiled.PredictedMs < wantMs*0.999 || w.Unprofiled.PredictedMs > wantMs*1.2 ||
			w.Unprofiled.LowMs > wantMs || !w.Changes[0].Applied {
			t.Errorf("%s: predicted %+v, want about %v", change, w.Unprofiled, wantMs)
		}
	}
}

func TestNoMatchIsAnAnswer(t *testing.T) {
	w, err := whatIf(t, []*facts.Facts{of(t, loader(6, 100_000))}, 0, "drop-allocs")
	if err != nil {
		t.Fatal(err)
	}
	if w.Changes[0].Applied || w.Changes[0].WhyNot == "" || w.Unprofiled.GainMs != 0 {
		t.Errorf("change %+v, gain %v", w.Changes[0], w.Unprofiled.GainMs)
	}
}

func TestUnknownChange(t *testing.T) {
	if _, err := whatIf(t, []*facts.Facts{of(t, loader(6, 100_000))}, 0, "faster"); err == nil ||
		!strings.Contains(err.Error(), "prefetch") {
		t.Errorf("error is %v, want the list of changes", err)
	}
}

func TestCannot(t *testing.T) {
	for name, events := range map[string]string{
		"no calls":    "step 0+10\nstep 10+10\nkernel 100+50 a\nkernel 200+50 a\n",
		"no GPU work": "step 0+10\nstep 10+10\n",
	} {
		_, err := whatIf(t, []*facts.Facts{of(t, events)}, 0)
		var cannot *CannotError
		if !errors.As(err, &cannot) || cannot.Try == "" {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestFindings: the wait for batches is found and priced; where the GPU is busy all the time the same ranges are
// nobody's fault.
func TestFindings(t *testing.T) {
	for _, test := range []struct {
		name  string
		gpuNs int
		fires bool
	}{{"starved", 100_000, true}, {"busy", 1_200_000, false}} {
		f := of(t, loader(8, test.gpuNs))
		r := reportOn(t, []*facts.Facts{f}, 0, nil)
		var found *report.Finding
		for i := range r.Findings {
			if r.Findings[i].Rule == "input_pipeline" {
				found = &r.Findings[i]
			}
		}
		if (found != nil) != test.fires {
			t.Errorf("%s: input_pipeline found: %v", test.name, found != nil)
			continue
		}
		if !test.fires {
			continue
		}
		if found.Severity != "high" || math.Abs(found.RecoverableMs-0.79) > 0.02 || found.GainLowMs <= 0 ||
			!strings.HasPrefix(found.Change, "prefetch:make_batch_data") {
			t.Errorf("%s: finding is %+v", test.name, *found)
		}
		if r.AfterAll == nil || r.AfterAll.StepMs > 0.25 || r.AfterAll.BoundBy == "" {
			t.Errorf("%s: after all: %+v", test.name, r.AfterAll)
		}
		if got := r.Budget.IdleBecauseOf["range:make_batch_data"]; math.Abs(got-0.79) > 0.02 {
			t.Errorf("%s: idle because of make_batch_data is %v ms", test.name, got)
		}
	}
}

// launching is a loop of n steps: 40 launches of kernels of 2 µs, one every 25 µs, and a synchronisation.
func launching(n int) string {
	var b strings.Builder
	corr := 0
	for i := range n {
		at := i * 1_020_000
		fmt.Fprintf(&b, "step %d+1020000\n", at)
		for k := range 40 {
			corr++
			call := at + 1_000 + 25_000*k
			fmt.Fprintf(&b, "call c%d %d+5000 cudaLaunchKernel\nkernel c%d %d+2000 k%d\n", corr, call, corr, call+
				7_100, k)
		}
		fmt.Fprintf(&b, "call %d+6000 cudaStreamSynchronize\n", at+1_003_000)
	}
	return b.String()
}

// TestBefore: a graph cannot hold a synchronisation, so dropping it comes first and is not counted to the graph.
func TestBefore(t *testing.T) {
	f := of(t, launching(8))
	r := reportOn(t, []*facts.Facts{f}, 0, nil)
	for _, x := range r.Findings {
		if x.Rule != "launch_bound" {
			continue
		}
		if x.Change != "cuda-graph" || len(x.Before) != 1 || x.Before[0] != "drop-syncs" {
			t.Errorf("changes are %v then %s, want drop-syncs then cuda-graph", x.Before, x.Change)
		}
		if x.RecoverableMs < 0.6 || x.RecoverableMs > 1.0 || x.PredictedMs > 0.2 {
			t.Errorf("gain %v ms, step then %v ms", x.RecoverableMs, x.PredictedMs)
		}
		return
	}
	t.Errorf("launch_bound not found in %+v", r.Findings)
}
