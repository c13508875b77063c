package kernelrules

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
)

// removable is the stall reasons that the fix of a rule takes away at most, beside Not Selected. Rules that are not
// here change what a kernel computes, or which SMs compute it.
var removable = map[string][]string{
	"atomic_contention":     memoryReasons,
	"barrier_stalls":        append([]string{"branch_resolving"}, memoryReasons...),
	"dependency_stalls":     {"wait", "branch_resolving", "no_instruction"},
	"extra_passes":          memoryReasons,
	"instruction_cache":     {"no_instruction", "branch_resolving"},
	"l2_thrash":             memoryReasons,
	"memory_latency":        memoryReasons,
	"memory_throttle":       memoryReasons,
	"missing_tiling":        memoryReasons,
	"narrow_access":         memoryReasons,
	"register_spills":       memoryReasons,
	"shared_bank_conflicts": memoryReasons,
	"narrow_blocks":         memoryReasons,
	"uncoalesced_access":    memoryReasons,
}

// impossible is what of a prediction cannot be; "": nothing. Every rule is held to it: a fix takes no more than the
// stall reasons that it removes, and leaves no unit with more work than it can do.
func impossible(c *Case, f *Finding) string {
	if f.PredictedUs <= 0 || f.Rule.Healthy || f.repair == nil {
		return ""
	}
	const slack = 1.001
	t := c.us()
	if reasons, ok := removable[f.Rule.ID]; ok && c.Stalls() != nil && f.SameAs == "" {
		left := t * f.repair.leastLeft(kernel.Issue) * (1 - c.stall("not_selected") - c.stalls(reasons...))
		if f.PredictedUs*slack < left {
			return fmt.Sprintf("%.4g us, and what warps wait for besides takes %.4g", f.PredictedUs, left)
		}
	}
	for _, x := range resources {
		u := c.use(x.id)
		if active := c.active(); x.sm && !f.repair.spreads && active > 0 && active < idleMatters {
			u = math.Min(1, u/active)
		}
		busy := t * math.Min(1, u)
		if least := busy * f.repair.leastLeft(x.id); f.LowUs < 0.9*least/slack || f.PredictedUs*slack < least {
			return fmt.Sprintf("%.4g us, from %.4g, and %s alone needs %.4g", f.PredictedUs, f.LowUs, x.name, least)
		}
	}
	return ""
}

// No fix is promised more than the counters allow: in every kernel of the corpus, of the held-out ones, and where
// barriers, waiting, lanes and memory are mixed at will.
func TestNoMoreThanPossible(t *testing.T) {
	predicted := 0
	check := func(name string, c *Case) {
		out := Run(c, All)
		for _, f := range slices.Concat(out.All, out.Mentioned) {
			if f.PredictedUs > 0 && !f.Rule.Healthy {
				predicted++
			}
			if why := impossible(c, &f); why != "" {
				t.Errorf("%s %s of %.4g us: %s: %s", name, c.Launch.Base, c.us(), f.Rule.ID, why)
			}
		}
	}
	for _, c := range mixed(t) {
		check("mixed", c)
	}
	if predicted < 300 {
		t.Errorf("%d predictions in mixed kernels", predicted)
	}
	files, _ := filepath.Glob("../../../bench/gpu/kernels2/reports/*.ncu-rep*")
	if golden.IsLong() {
		for _, folder := range []string{"kernel", "public/ncu"} {
			more, _ := filepath.Glob(filepath.Join(golden.Corpus(t), folder, "*/report.ncu-rep*"))
			files = append(files, more...)
		}
	}
	for _, file := range files {
		report, err := reader.OpenProfile(context.Background(), file, readers.All, reader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all []*kernel.Kernel
		for _, l := range report.Launches {
			all = append(all, kernel.Of(l))
		}
		for at := range all {
			check(file, NewCase(all, at))
		}
	}
	t.Logf("%d predictions", predicted)
}

// mixed is kernels whose warps wait for one or two things, with and without idle lanes, idle SMs and busy units.
func mixed(t *testing.T) (out []*Case) {
	t.Helper()
	stalls := []string{"barrier", "wait", "long_scoreboard", "lg_throttle", "short_scoreboard", "no_instruction",
		"mio_throttle", "math_pipe_throttle", "drain", "branch_resolving", "not_selected"}
	for i, a := range stalls {
		for j, b := range stalls {
			for n, grid := range []int{1, 40, 90, 300, 5000} {
				text := fmt.Sprintf(mixedKernel, grid, 40000*min(100, grid), (7*i+3*j+n)%60, (5*i+j+11*n)%60,
					8+(i+j+n)%24, 1+i*j*1000)
				for _, r := range stalls {
					v := 0.1
					if r == a {
						v += 8
					}
					if r == b {
						v += 3
					}
					text += fmt.Sprintf("smsp__average_warps_issue_stalled_%s_per_issue_active.ratio %.1f\n", r, v)
				}
				for _, r := range []string{"dispatch_stall", "imc_miss", "membar", "misc", "sleeping", "tex_throttle"} {
					text += fmt.Sprintf("smsp__average_warps_issue_stalled_%s_per_issue_active.ratio 0.0\n", r)
				}
				out = append(out, caseOf(t, text+"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio 1.0\n"))
			}
		}
	}
	return out
}

const mixedKernel = `attribute multiprocessor_count 100
attribute max_warps_per_multiprocessor 64
attribute max_blocks_per_multiprocessor 32
attribute max_registers_per_multiprocessor 65536
attribute max_shared_memory_per_multiprocessor 98304
kernel k grid=%d,1,1 block=256,1,1
launch__registers_per_thread 64
launch__shared_mem_per_block_static 0
launch__shared_mem_per_block_dynamic 0
launch__occupancy_limit_registers 4
launch__occupancy_limit_warps 8
launch__occupancy_limit_blocks 32
sm__maximum_warps_per_active_cycle_pct 50.0
gpu__time_duration.sum 4000000
sm__cycles_elapsed.avg 4000000
sm__cycles_elapsed.max 4000000
sm__cycles_active.avg %d
sm__cycles_active.max 4000000
sm__issue_active.avg.pct_of_peak_sustained_elapsed %d.0
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed %d.0
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed 30.0
sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed 25.0
smsp__thread_inst_executed_pred_on_per_inst_executed.ratio %d.0
smsp__inst_executed.sum 100000000
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum 1000000
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum 4000000
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum 1000000
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum 4000000
l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum %d
l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum 100000
memory_l2_theoretical_sectors_global 8000000
derived__memory_l2_theoretical_sectors_global_excessive 400000
`
