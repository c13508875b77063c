package kernel

import (
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

// l1Launch is a launch of 1 ms whose L1 is busier than anything else.
const l1Launch = `attribute compute_capability_major %major
attribute compute_capability_minor %minor
kernel k grid=1000,1,1 block=256,1,1
gpu__time_duration.sum 1000000
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed 2.0
sm__issue_active.avg.pct_of_peak_sustained_elapsed 16.0
gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed %wavefronts
lts__t_sectors.avg.pct_of_peak_sustained_elapsed 5.0
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed %wavefronts
l1tex__m_l1tex2xbar_req_cycles_active.avg.pct_of_peak_sustained_elapsed 31.0
l1tex__throughput.avg.pct_of_peak_sustained_active %whole
l1tex__cycles_active.avg 980
l1tex__cycles_elapsed.avg 1000
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum 30000
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum 40000
sm__cycles_elapsed.sum 100000
`

// A wavefront takes two clocks on Turing, and the profiler's figure for L1 as a whole counts where a part that is not
// shown is busier than all that is.
func TestClassOfL1(t *testing.T) {
	for _, c := range []struct {
		major, minor, wavefronts, whole string
		load                            float64
		class                           Class
		why                             string
		conflicts                       float64
	}{
		{"7", "5", "48.4", "97.0", 0.968, MemoryL1, "L1 and shared memory, at 97 % of its peak (the profiler's", 0.6},
		{"8", "6", "48.4", "49.0", 0.484, Latency, "no unit reaches 60 % of its peak (the busiest, L1 and shared", 0.3},
		{"12", "0", "11.0", "97.0", 0.11, MemoryL1, "L1 as a whole is at 95 %", 0.3},
		{"12", "0", "11.0", "62.0", 0.11, Latency, "the busiest, L1 as a whole, is at 61 %", 0.3},
		{"12", "0", "11.0", "31.0", 0.11, Latency, "the busiest, requests from L1 to L2, is at 31 %", 0.3},
	} {
		r, err := profile.Parse(strings.NewReplacer("%major", c.major, "%minor", c.minor, "%wavefronts", c.wavefronts,
			"%whole", c.whole).Replace(l1Launch))
		if err != nil {
			t.Fatal(err)
		}
		k := Of(r.Launches[0])
		if v, _ := k.Load(L1); v < c.load-1e-9 || v > c.load+1e-9 {
			t.Errorf("%s.%s: L1 at %v, want %v", c.major, c.minor, v, c.load)
		}
		s := k.SpeedOfLight()
		if s.Class != c.class || !strings.Contains(s.Why, c.why) {
			t.Errorf("%s.%s, L1 at %s: %q (%s), want %q", c.major, c.minor, c.whole, s.Class, s.Why, c.class)
		}
		if m := k.Memory(); m == nil || m.Shared == nil || m.Shared.OfCycles.Value != c.conflicts {
			t.Errorf("%s.%s: memory %+v, want conflicts in %v of the cycles", c.major, c.minor, m, c.conflicts)
		}
	}
}
