package report

import (
	"math"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

func built(t *testing.T, events string) *Report {
	t.Helper()
	trace, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{Top: 5}, unjudged)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTopSyncs: a call that waits waited for the GPU only while that worked, and for nothing where nothing was started.
func TestTopSyncs(t *testing.T) {
	r := built(t, "call c1 0us+10us cudaLaunchKernel\nkernel c1 20us+300us a\ncall c2 100us+5000us cudaDeviceSynchronize\n")
	if len(r.TopSyncs) != 1 || r.TopSyncs[0].MsPerStep != 5 || math.Abs(r.TopSyncs[0].BusyMs-0.22) > 1e-9 {
		t.Errorf("%+v", r.TopSyncs)
	}
	r = built(t, "call c1 0us+900us cudaMalloc\ncall c2 1000us+10us cudaDeviceSynchronize\n")
	if len(r.TopSyncs) != 0 {
		t.Errorf("nothing was started: %+v", r.TopSyncs)
	}
}

// TestOpenedOnly: who makes a context and starts nothing is not told to record the time in which the GPU works.
func TestOpenedOnly(t *testing.T) {
	for first, want := range map[string]string{"900us": "none of the calls", "900000us": "opens the GPU"} {
		r := built(t, "call c1 0us+"+first+" cudaFree\ncall c2 1000000us+10us cudaDeviceSynchronize\n")
		told := false
		for _, a := range r.Abstained {
			told = told || strings.Contains(a.Reason, want) && (a.GetItWith == "") == (first == "900000us")
		}
		if !told {
			t.Errorf("%s: %+v", first, r.Abstained)
		}
	}
}
