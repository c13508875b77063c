package kernel

import (
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

func TestClassOfTheCorpus(t *testing.T) {
	reports := corpusReports(t)
	for _, c := range []struct {
		report string
		at     int
		class  Class
	}{
		{"bank_rowdot", 0, MemoryL1},
		{"bank_rowdot", 1, NearLimit},
		{"coalesce_aos", 0, MemoryDRAM}, // at 92 %, but two thirds of the sectors are for nothing
		{"transpose", 0, MemoryL2},
		{"dependency_stalls", 0, Latency},
		{"small_grid", 0, Launch},
		{"compute_bound_at_peak", 0, NearLimit},
		{"dram_bound_at_peak", 0, NearLimit},
		{"non_fused_fp", 0, Compute},
		{"gemm", 0, MemoryL1},
		{"thread_divergence", 0, Compute},
		{"sfu_precise", 1, NearLimit},
		{"load_imbalance", 0, Latency},
		{"spill_launch_bounds", 0, MemoryL2},
		{"cudacode-gtx1660s-2024.1-gemm", 0, MemoryL1},
		{"cudacode-gtx1660s-2024.1-vecadd", 0, NearLimit},
		{"jaxtoolbox-gb200-2025.3-graph", 0, Launch},
		{"cs599k-h100-2025.1-silu", 0, NearLimit}, // L1 absorbs its uncoalesced sectors
		{"cs599k-gh200-2025.1-onesection", 0, Unclassified},
		{"cs599k-gh200-2025.1-pytorch10", 1, MemoryDRAM}, // a basic set: at 91 %, but who knows of what
		{"cudacode-gtx1660s-2024.1-gemm", 1, MemoryL1},
		{"indexspaces-a40-2022.1", 0, NearLimit},
		{"ncar-v100-2022.2-baseline", 2, Compute},
	} {
		if got := reports[c.report][c.at].SpeedOfLight(); got.Class != c.class {
			t.Errorf("%s %d: %q (%s), want %q", c.report, c.at, got.Class, got.Why, c.class)
		}
	}
}

func TestSpeedOfLightBounds(t *testing.T) {
	reports := corpusReports(t)
	classified := 0
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			s := k.SpeedOfLight()
			if s == nil {
				continue
			}
			if s.Class != Unclassified {
				classified++
				if s.Why == "" {
					t.Errorf("%s %s: %s without a reason", name, k.Launch.Base, s.Class)
				}
			}
			for _, l := range s.Loads {
				if l.Share < 0 || l.Share > 1.05 { // passes disagree by a few per cent
					t.Errorf("%s %s: %s at %g", name, k.Launch.Base, l.Resource, l.Share)
				}
			}
			// Each headline is the largest of its parts, so no linear unit may be above both.
			if l, ok := s.Limiter(); ok && s.SM >= 0 && s.Memory >= 0 && l.Share > max(s.SM, s.Memory)+0.05 {
				t.Errorf("%s %s: %s at %g above both headlines (%g, %g)", name, k.Launch.Base, l.Resource, l.Share,
					s.SM, s.Memory)
			}
		}
	}
	if classified < 100 {
		t.Errorf("%d classified", classified)
	}
}

func TestClassWithTwoMetrics(t *testing.T) {
	for _, c := range []struct {
		sm, memory, dram float64
		class            Class
	}{
		{80, 30, 30, Compute}, {30, 40, 10, Latency}, {20, 90, 90, MemoryDRAM}, {20, 90, 30, Unclassified},
	} {
		k := launch(map[string]float64{
			"sm__throughput" + ofPeak:                 c.sm,
			"gpu__compute_memory_throughput" + ofPeak: c.memory,
			"gpu__dram_throughput" + ofPeak:           c.dram,
			"gpu__time_duration.sum":                  1e6,
		})
		if s := k.SpeedOfLight(); s.Class != c.class {
			t.Errorf("%+v: %q, %s", c, s.Class, s.Why)
		}
	}
	// Two units that are not busy say nothing of the others.
	k := launch(map[string]float64{"gpu__dram_throughput" + ofPeak: 20, "sm__issue_active" + ofPeak: 30,
		"gpu__time_duration.sum": 1e6})
	if s := k.SpeedOfLight(); s.Class != Unclassified {
		t.Errorf("of two units: %q, %s", s.Class, s.Why)
	}
	if s := launch(nil).SpeedOfLight(); s != nil {
		t.Errorf("of nothing: %+v", s)
	}
}

func TestBreakdown(t *testing.T) {
	const sm = "sm__throughput" + ofPeak
	k := launch(map[string]float64{sm: 97, "sm__issue_active" + ofPeak: 40, "sm__pipe_alu_cycles_active" + ofPeak: 97})
	r := k.Launch.Report
	text := profile.Value{Kind: profile.Text, String: "sm__issue_active" + ofPeak + ", sm__pipe_alu_cycles_active" +
		ofPeak + ",absent"}
	k.Launch.Metrics = append(k.Launch.Metrics, profile.NewMetric(r.Names.ID("breakdown:"+sm), text, false, nil))
	parts := k.SpeedOfLight().SMParts
	if len(parts) != 2 || parts[0].Share != 0.97 || !strings.Contains(parts[0].Metric, "alu") {
		t.Errorf("%+v", parts)
	}
}

// A unit that is not among the loads limits too: constants whose addresses differ by lane.
func TestRarePartLimits(t *testing.T) {
	metrics := map[string]float64{"gpu__time_duration.sum": 1e6, "idc__request_cycles_active" + ofPeak: 91,
		"sm__throughput" + ofPeak: 91}
	for _, l := range loads {
		metrics[l.Names[0]+ofPeak] = 20
	}
	k := launch(metrics)
	text := profile.Value{Kind: profile.Text, String: "sm__issue_active" + ofPeak + ",idc__request_cycles_active" +
		ofPeak}
	k.Launch.Metrics = append(k.Launch.Metrics, profile.NewMetric(k.Launch.Report.Names.ID("breakdown:sm__throughput"+
		ofPeak), text, false, nil))
	if s := k.SpeedOfLight(); s.Class != Compute || !strings.Contains(s.Why, "the constant cache, at 91 %") {
		t.Errorf("%q: %s", s.Class, s.Why)
	}
}

// A report of single metrics has no load of DRAM: bytes, time and the width of its bus say it.
func TestClassByBytes(t *testing.T) {
	const copyRow = `attribute memory_clock_rate 10501000
attribute global_memory_bus_width 384
kernel copyRow grid=32,512,1 block=64,4,1
gpu__time_duration.sum 27584
dram__bytes_read.sum 16780032
dram__bytes_write.sum %s
`
	for write, want := range map[string]Class{"8003456": MemoryDRAM, "3456": Unclassified} {
		r, err := profile.Parse(strings.Replace(copyRow, "%s", write, 1))
		if err != nil {
			t.Fatal(err)
		}
		if s := Of(r.Launches[0]).SpeedOfLight(); s.Class != want {
			t.Errorf("%s bytes written: %q (%s), want %q", write, s.Class, s.Why, want)
		}
	}
}

// L1 and L2's tags are as busy as each other: the profiler's figure for L2 as a whole says that L2 is the limit.
func TestClassOfBusyL2(t *testing.T) {
	const stencil = `kernel k grid=1000,1,1 block=256,1,1
gpu__time_duration.sum 2389000
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed 61.0
sm__issue_active.avg.pct_of_peak_sustained_elapsed 53.0
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed 75.8
lts__t_tag_requests.avg.pct_of_peak_sustained_elapsed 74.9
lts__throughput.avg.pct_of_peak_sustained_elapsed %s
`
	for whole, want := range map[string]Class{"93.2": MemoryL2, "75.0": MemoryL1} {
		r, err := profile.Parse(strings.Replace(stencil, "%s", whole, 1))
		if err != nil {
			t.Fatal(err)
		}
		if s := Of(r.Launches[0]).SpeedOfLight(); s.Class != want {
			t.Errorf("L2 at %s %%: %q (%s), want %q", whole, s.Class, s.Why, want)
		}
	}
}
