package kernelpages

import (
	"strings"

	"lacuna/internal/kernel/profile"
)

// unit is the base unit of a metric as the edition prints it. profile.Unit has what 2024.1.1 prints for most chips.
func (e edition) unit(metric string) string {
	switch {
	case e.unknownChip && !withoutChip(metric):
		return ""
	case strings.Contains(metric, "sass_thread_inst_executed_op_") && strings.Contains(metric, "_pred_on_x"):
		if e.threads {
			return "thread"
		}
		return "inst"
	case e.turing && metric == "lts__average_gcomp_input_sector_success_rate.pct":
		return "sector"
	case e.turing && (metric == "nvlrx__bytes.sum.per_second" || metric == "nvltx__bytes.sum.per_second"):
		return "byte"
	case e.since2025:
		return unit2025(metric)
	}
	return profile.Unit(metric)
}

// withoutChip says whether ncu knows the unit of a metric on a chip that it does not know: what is not a counter of
// one. From the one page of that kind.
func withoutChip(metric string) bool {
	switch metric {
	case "inst_executed", "thread_inst_executed", "thread_inst_executed_true", "launch__cluster_max_active",
		"launch__cluster_max_potential_size", "launch__occupancy_limit_blocks", "launch__occupancy_limit_registers",
		"launch__occupancy_limit_shared_mem", "launch__occupancy_limit_warps", "launch__sm_count",
		"memory_l1_tag_requests_global", "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal",
		"memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal",
		"memory_l2_theoretical_sectors_local", "profiler__pmsampler_interval_time",
		"sm__maximum_warps_avg_per_active_cycle", "smsp__maximum_warps_avg_per_active_cycle":
		return true
	}
	return strings.HasPrefix(metric, "smsp__sass_inst_executed_memdesc_explicit_")
}

// unit2025 is the unit that 2025.3.1 prints: shorter words, and another one for some metrics.
func unit2025(metric string) string {
	if unit, ok := odd2025(metric); ok {
		return unit
	}
	switch unit := profile.Unit(metric); unit {
	case "/second", "/cycle":
		return ""
	case "%/":
		return "%"
	case "nsecond":
		return "ns"
	case "cycle/second":
		return "hz"
	default:
		if over, ok := strings.CutSuffix(unit, "/second"); ok {
			return over + "/s"
		}
		return unit
	}
}

// odd2025 is where it is another one than 2024.1.1 had, or one for a metric that 2024.1.1 did not have.
func odd2025(metric string) (unit string, ok bool) {
	switch metric {
	case "launch__occupancy_limit_barriers":
		return "block", true
	case "launch__persisting_l2_cache_size":
		return "byte", true
	case "derived__avg_thread_unexecuted_true", "derived__derivative_avg_thread_executed_true":
		return "thread", true
	case "derived__local_spilling_requests_pct":
		return "%", true
	case "derived__memory_l2_theoretical_sectors_global_excessive":
		return "sector", true
	case "lrc__ilc_input_sectors.sum.per_second", "lrc__lts2lrc_sectors_op_read.sum.per_second",
		"lrc__xbar2gpc_sectors_op_read.sum.per_second":
		return "sector/s", true
	case "sm__icc_requests.sum", "smsp__imc_requests.sum":
		return "cycle", true
	case "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained",
		"derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second",
		"derived__memory_l1_conflicts_shared_nway", "derived__memory_l1_wavefronts_shared_excessive",
		"lrc__average_ilc_input_sector_compression_rate.ratio", "lrc__average_xbar2gpc_sectors_op_read.ratio",
		"gcc__xbar2gcc_sectors.sum", "idc__requests.sum",
		"sass__inst_executed_per_opcode_category", "sass__thread_inst_executed_per_opcode_category":
		return "", true
	}
	switch {
	case strings.Contains(metric, "branch_targets_threads_divergent"),
		strings.HasPrefix(metric, "smsp__pcsamp_warps_issue_stalled_branch_resolving"):
		return "branches", true
	case strings.HasPrefix(metric, "l1tex__t_requests_pipe_") && strings.HasSuffix(metric, ".sum"),
		strings.HasPrefix(metric, "sm__sass_l1tex_t_requests_pipe_") && strings.HasSuffix(metric, ".sum"):
		return "", true
	}
	return "", false
}
