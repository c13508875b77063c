package profile

import "strings"

// Unit is the base unit of a metric as the profiler prints it ("nsecond", "byte/second", "" for none):
// units are not in the file, they follow from the name. Where chips differ it is the unit that most of them have.
// The rules and their exceptions hold for all 2,644 names in the printed pages that they were made from.
func Unit(metric string) string {
	if unit, ok := oddUnit(metric); ok {
		return unit
	}
	stem, rollup := metric, ""
	if at := strings.Index(metric, "__"); at >= 0 { // a dot before it is a prefix such as "SM.TriageA."
		if dot := strings.IndexByte(metric[at:], '.'); dot >= 0 {
			stem, rollup = metric[:at+dot], metric[at+dot:]
		}
	}
	if strings.Contains(rollup, ".pct") {
		return "%"
	}
	if rollup == "" && !countedPerInstruction(metric) {
		return ""
	}
	unit := counted(stem)
	switch {
	case strings.Contains(rollup, ".per_second"):
		return unit + "/second"
	case strings.Contains(rollup, ".per_cycle"), strings.Contains(rollup, ".peak_sustained"):
		switch unit {
		case "warp": // warps at a time, not warps that came and went
			return unit
		case "cycle":
			return ""
		}
		return unit + "/cycle"
	}
	return unit
}

// countedPerInstruction says that a name without a rollup counts what its words say: source metrics do,
// facts about launches, devices and the profiler do not.
func countedPerInstruction(metric string) bool {
	for _, unit := range []string{"smsp__", "sm__", "sass__", "inst_executed", "thread_inst_executed"} {
		if strings.HasPrefix(metric, unit) {
			return true
		}
	}
	return false
}

// counted is what a counter without its rollup counts, by the words after its hardware unit.
func counted(stem string) string {
	if at := strings.LastIndex(stem, "__"); at >= 0 {
		stem = stem[at+2:]
	}
	switch {
	case hasWord(stem, "duration"), hasWord(stem, "time"):
		return "nsecond"
	case strings.Contains(stem, "bytes_per_sector"):
		return "byte/sector"
	case hasWord(stem, "bytes"):
		return "byte"
	case hasWord(stem, "sectors"):
		return "sector"
	case hasWord(stem, "requests"):
		return "request"
	case hasWord(stem, "inst"), hasWord(stem, "insts"), strings.Contains(stem, "average_warps_issue_stalled"):
		return "inst" // warps stalled per instruction issued
	case hasWord(stem, "cycles"):
		return "cycle"
	case hasWord(stem, "warps"):
		return "warp"
	case hasWord(stem, "ctas"):
		return "block"
	case strings.HasSuffix(stem, "_active"), strings.Contains(stem, "_active_mem"):
		return "cycle"
	}
	return ""
}

// hasWord says whether word is in text between underscores or its ends.
func hasWord(text, word string) bool {
	for w := range strings.SplitSeq(text, "_") {
		if w == word {
			return true
		}
	}
	return false
}

// oddUnit is the unit of a metric whose name does not tell it, as the profiler prints it: some are hardly
// meant (sectors in "byte"), but a page that says otherwise would not be equal.
func oddUnit(metric string) (string, bool) {
	switch metric {
	case "sass__inst_executed_per_opcode",
		"sass__inst_executed_per_opcode_with_modifier_all",
		"sass__inst_executed_per_opcode_with_modifier_selective",
		"sass__thread_inst_executed_true_per_opcode",
		"sass__thread_inst_executed_true_per_opcode_with_modifier_all",
		"sass__thread_inst_executed_true_per_opcode_with_modifier_selective",
		"smsp__sass_inst_executed_memdesc_explicit_evict_type",
		"smsp__thread_inst_executed_per_inst_executed.ratio",
		"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio":
		return "", true
	case "derived__smsp__inst_executed_op_branch_pct",
		"launch__occupancy_cluster_gpu_pct",
		"launch__occupancy_cluster_pct",
		"sm__maximum_warps_per_active_cycle_pct":
		return "%", true
	case "derived__pct_occupancy_per_block_size":
		return "%/", true
	case "derived__pct_occupancy_per_shared_mem_size":
		return "%/byte", true
	case "derived__pct_occupancy_per_register_count":
		return "%/register", true
	case "launch__sm_count":
		return "SM", true
	case "launch__block_dim_x",
		"launch__block_dim_y",
		"launch__block_dim_z",
		"launch__cluster_max_potential_size",
		"launch__occupancy_limit_blocks",
		"launch__occupancy_limit_registers",
		"launch__occupancy_limit_shared_mem",
		"launch__occupancy_limit_warps":
		return "block", true
	case "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained",
		"derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second",
		"derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained",
		"derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second",
		"derived__lts__lts2xbar_bytes.sum.peak_sustained",
		"derived__lts__lts2xbar_bytes.sum.per_second",
		"derived__memory_l1_conflicts_shared_nway",
		"derived__memory_l1_sectors_shared_excessive",
		"derived__memory_l1_wavefronts_shared_excessive",
		"derived__memory_l2_sectors_global_excessive",
		"derived__memory_l2_theoretical_sectors_global_excessive",
		"launch__shared_mem_config_size",
		"memory_l1_sectors_global",
		"memory_l1_sectors_shared",
		"memory_l1_sectors_shared_ideal",
		"memory_l2_sectors_global",
		"memory_l2_sectors_global_ideal",
		"memory_l2_sectors_local",
		"profiler__pmsampler_buffer_size_bytes":
		return "byte", true
	case "launch__shared_mem_per_block",
		"launch__shared_mem_per_block_allocated",
		"launch__shared_mem_per_block_driver",
		"launch__shared_mem_per_block_dynamic",
		"launch__shared_mem_per_block_static":
		return "byte/block", true
	case "launch__cluster_max_active":
		return "cluster", true
	case "profiler__pmsampler_interval_cycles",
		"smsp__average_warp_latency_per_inst_issued.ratio",
		"smsp__average_warps_active_per_inst_executed.ratio":
		return "cycle", true
	case "derived__sm__inst_executed_pipe_tensor_x512",
		"derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x2",
		"derived__smsp__inst_executed_pipe_tensor_x512",
		"derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x2",
		"smsp__pcsamp_warps_issue_stalled_no_instructions",
		"smsp__pcsamp_warps_issue_stalled_no_instructions_not_issued":
		return "inst", true
	case "smsp__average_warp_latency_issue_stalled_dispatch_stall.max_rate",
		"smsp__average_warp_latency_issue_stalled_dispatch_stall.ratio":
		return "inst/warp", true
	case "profiler__pmsampler_interval_time":
		return "nsecond", true
	case "profiler__replayer_passes",
		"profiler__replayer_passes_type_warmup",
		"smsp__pcsamp_aggregated_passes":
		return "pass", true
	case "launch__registers_per_thread",
		"launch__registers_per_thread_allocated":
		return "register/thread", true
	case "profiler__pmsampler_dropped_samples",
		"profiler__pmsampler_merged_samples":
		return "sample", true
	case "lrc__average_ilc_input_sector_compression_rate.ratio",
		"lrc__ilc_input_sectors.sum.per_second",
		"lrc__lts2lrc_sectors_op_read.sum.per_second",
		"lrc__xbar2gpc_sectors_op_read.sum.per_second":
		return "sector", true
	case "memory_l1_tag_requests_global",
		"memory_l1_wavefronts_shared",
		"memory_l1_wavefronts_shared_ideal",
		"memory_l2_theoretical_sectors_global",
		"memory_l2_theoretical_sectors_global_ideal",
		"memory_l2_theoretical_sectors_local":
		return "sectors", true
	case "derived__avg_thread_executed",
		"derived__avg_thread_executed_true",
		"derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2",
		"derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
		"derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4",
		"derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2",
		"derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2",
		"derived__smsp__sass_thread_inst_executed_op_hadd_pred_on_x2",
		"derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4",
		"derived__smsp__sass_thread_inst_executed_op_hmul_pred_on_x2",
		"launch__thread_count":
		return "thread", true
	}
	return "", false
}

// BaseUnit takes the prefixes off a unit that a page printed scaled ("Mbyte/second", "cycle/nsecond", "usecond"):
// a value times factor is in base. Prefixes are powers of 1000, for bytes too. Newer versions write ns for
// nsecond and hz for cycle/second; the base is the older word.
func BaseUnit(unit string) (base string, factor float64) {
	over, under, isRate := strings.Cut(unit, "/")
	over, factor = basePart(over)
	if !isRate {
		return over, factor
	}
	switch under {
	case "second", "s":
		return over + "/second", factor
	case "msecond", "ms":
		return over + "/second", factor * 1e3
	case "usecond", "us":
		return over + "/second", factor * 1e6
	case "nsecond", "ns":
		return over + "/second", factor * 1e9
	}
	under, more := basePart(under) // the profiler has it so: 15419 %/byte is printed as 15.419 %/Kbyte
	return over + "/" + under, factor * more
}

// basePart is BaseUnit of a unit without a slash.
func basePart(unit string) (string, float64) {
	switch unit {
	case "Kbyte":
		return "byte", 1e3
	case "Mbyte":
		return "byte", 1e6
	case "Gbyte":
		return "byte", 1e9
	case "Tbyte":
		return "byte", 1e12
	case "ns":
		return "nsecond", 1
	case "usecond", "us":
		return "nsecond", 1e3
	case "msecond", "ms":
		return "nsecond", 1e6
	case "second", "s":
		return "nsecond", 1e9
	case "hz":
		return "cycle/second", 1
	case "Khz":
		return "cycle/second", 1e3
	case "Mhz":
		return "cycle/second", 1e6
	case "Ghz":
		return "cycle/second", 1e9
	}
	return unit, 1
}
