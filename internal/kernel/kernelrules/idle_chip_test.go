package kernelrules

import (
	"fmt"
	"strings"
	"testing"
)

// Where nothing on the chip is busy, throughput alone would have a kernel 178 times as fast: what waiting leaves is
// bounded, whatever warps wait for.
func TestIdleChip(t *testing.T) {
	const text = `attribute multiprocessor_count 100
kernel k grid=%d,1,1 block=256,1,1
gpu__time_duration.sum 534000
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed 0.3
sm__issue_active.avg.pct_of_peak_sustained_elapsed 0.4
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed 0.3
sm__cycles_elapsed.sum 50000000
sm__cycles_elapsed.avg 500000
sm__cycles_elapsed.max 500000
sm__cycles_active.avg 490000
sm__cycles_active.max 495000
sm__maximum_warps_per_active_cycle_pct 100
sm__warps_active.avg.pct_of_peak_sustained_active 90
launch__waves_per_multiprocessor 2
l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum 0
smsp__average_warps_issue_stalled_%s_per_issue_active.ratio 20.0
smsp__average_warps_issue_stalled_selected_per_issue_active.ratio 1.0
`
	all := []string{"barrier", "wait", "long_scoreboard", "short_scoreboard", "lg_throttle", "drain", "membar"}
	for _, grid := range []int{1, 100, 1000} {
		for _, reason := range all {
			events := fmt.Sprintf(text, grid, reason)
			for _, r := range append(all, "branch_resolving", "no_instruction", "mio_throttle", "math_pipe_throttle",
				"dispatch_stall", "imc_miss", "misc", "not_selected", "sleeping", "tex_throttle") {
				if !strings.Contains(events, "stalled_"+r+"_per") {
					events += "smsp__average_warps_issue_stalled_" + r + "_per_issue_active.ratio 0.0\n"
				}
			}
			found := Run(caseOf(t, events), All)
			if len(found.All) == 0 {
				t.Logf("%d blocks, %s: nothing found", grid, reason)
			}
			for _, f := range found.All {
				if t.Logf("%d blocks, %s: %s %.1f us [%.1f, %.1f]", grid, reason, f.Rule.ID, f.PredictedUs, f.LowUs,
					f.HighUs); f.PredictedUs > 0 && f.PredictedUs < 534*atMost {
					t.Errorf("%d blocks, %s: %s claims %.1f us of 534", grid, reason, f.Rule.ID, f.PredictedUs)
				}
			}
		}
	}
}
