package kernel

import (
	"math"
	"strings"
	"testing"
)

func TestStallsOfTheCorpus(t *testing.T) {
	reports := corpusReports(t)
	with := 0
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			s := k.Stalls()
			if s == nil {
				continue
			}
			with++
			total, groups := 0.0, 0.0
			for _, r := range s.Reasons {
				if r.Share < 0 || r.Share > 1 {
					t.Errorf("%s %s: %s %g", name, k.Launch.Base, r.Reason, r.Share)
				}
				total += r.Share
			}
			for _, g := range s.Groups {
				groups += g.Share
			}
			if math.Abs(total-1) > 1e-9 || math.Abs(groups-1) > 1e-9 {
				t.Errorf("%s %s: shares sum to %g, groups to %g", name, k.Launch.Base, total, groups)
			}
			// The profiler prints the sum itself: warp cycles per issued instruction.
			if want, ok := k.number("smsp__average_warp_latency_per_inst_issued.ratio"); ok && !s.Sampled {
				slack := 0.02
				if us, _ := k.Microseconds(); us < 20 {
					slack = 0.2 // passes of so short a kernel differ
				}
				if math.Abs(s.CyclesPerInstruction-want) > slack*want+0.1 {
					t.Errorf("%s %s: %g cycles per instruction, the profiler says %g", name, k.Launch.Base,
						s.CyclesPerInstruction, want)
				}
			}
		}
	}
	if with < 70 {
		t.Errorf("%d launches with stalls, which cannot be all", with)
	}
}

func TestStallsOfPlantedFaults(t *testing.T) {
	reports := corpusReports(t)
	for _, c := range []struct{ report, reason string }{
		{"bank_rowdot", "mio_throttle"},
		{"barrier_stalls", "barrier"},
		{"dependency_stalls", "wait"},
		{"memory_latency", "long_scoreboard"},
		{"compute_bound_at_peak", ""}, // nearly all of it is being ready
	} {
		all := reports[c.report]
		if all == nil {
			t.Fatalf("no %s in the corpus", c.report)
		}
		top := all[0].Stalls().Top(stallWorthNaming)
		got := ""
		if len(top) > 0 {
			got = top[0].Reason
		}
		if got != c.reason {
			t.Errorf("%s: top stall %q, want %q", c.report, got, c.reason)
		}
	}
}

func TestStallsNeedAWhole(t *testing.T) {
	k := launch(map[string]float64{"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": 3})
	if s := k.Stalls(); s != nil {
		t.Errorf("one reason alone is 100 %%: %+v", s)
	}
	if _, known := k.Stall("barrier"); known {
		t.Error("a share of an unknown whole")
	}
}

func TestStallWords(t *testing.T) {
	reports := corpusReports(t)
	got := reports["barrier_stalls"][0].Stalls().Words()
	if !strings.Contains(got, "in Barrier (the other warps of the block)") || !strings.Contains(got, "of the cycles") {
		t.Error(got)
	}
}
