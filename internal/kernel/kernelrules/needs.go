package kernelrules

// What rules look at, with the section of ncu that collects it.
var (
	needTime = Need{"the kernel's duration", []string{"gpu__time_duration.sum",
		"gpu__time_duration_measured_user.sum"}, "SpeedOfLight"}
	needDRAM = Need{"the use of DRAM", []string{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
		"dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.avg.pct_of_peak_sustained_elapsed"},
		"SpeedOfLight"}
	needIssue = Need{"the use of the schedulers", []string{"sm__issue_active.avg.pct_of_peak_sustained_elapsed",
		"sm__inst_executed.avg.pct_of_peak_sustained_elapsed", "sm__inst_issued.avg.pct_of_peak_sustained_elapsed"},
		"ComputeWorkloadAnalysis"}
	needL1 = Need{"the use of the L1 data pipe",
		[]string{"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"}, "SpeedOfLight"}
	needFP = Need{"the use of the FP32 pipe", []string{"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
		"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"}, "ComputeWorkloadAnalysis"}
	needXU = Need{"the use of the XU pipe", []string{"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed"},
		"ComputeWorkloadAnalysis"}
	needFP64 = Need{"the use of the FP64 pipe", []string{"sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
		"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed"}, "ComputeWorkloadAnalysis"}
	needWaves = Need{"the number of waves", []string{"launch__waves_per_multiprocessor"}, "LaunchStats"}
	needSMs   = Need{"the number of SMs", []string{"launch__sm_count", "device__attribute_multiprocessor_count"},
		"LaunchStats"}

	needActive    = Need{"active cycles of the SMs", []string{"sm__cycles_active.avg"}, "SpeedOfLight"}
	needOccupancy = Need{"theoretical occupancy", []string{"sm__maximum_warps_per_active_cycle_pct"}, "Occupancy"}
	needLanes     = Need{"active lanes", []string{"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
		"smsp__thread_inst_executed_per_inst_executed.ratio"}, "WarpStateStats"}
	needStalls   = Need{"stall reasons", []string{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "smsp__pcsamp_warps_issue_stalled_long_scoreboard"}, "WarpStateStats"}
	needSchedule = Need{"cycles that an instruction waits for the one before, or the machine code",
		[]string{"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"}, "WarpStateStats"}
	needGlobal = Need{"sectors that global accesses ask for",
		[]string{"memory_l2_theoretical_sectors_global", "memory_l2_sectors_global"}, "SourceCounters"}
	needShared = Need{"wavefronts of shared memory",
		[]string{"memory_l1_wavefronts_shared", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}, "SourceCounters"}
	needLocal = Need{"sectors of local memory", []string{"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"},
		"MemoryWorkloadAnalysis_Tables"}
	needRequests = Need{"sectors and requests of global loads",
		[]string{"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}, "MemoryWorkloadAnalysis_Tables"}
	needDRAMBytes = Need{"bytes moved by DRAM", []string{"dram__bytes_read.sum", "dram__sectors_read.sum"},
		"MemoryWorkloadAnalysis_Tables"}
	needReachable = Need{"how much memory the kernel can touch",
		[]string{"profiler__replayer_bytes_mem_accessible.avg"}, "SpeedOfLight"}
	needOpcodes = Need{"the instruction mix", []string{"sass__inst_executed_per_opcode",
		"sass__inst_executed_per_opcode_with_modifier_all"}, "InstructionStats"}
	needCode    = Need{"the kernel's machine code, which a CSV does not hold", nil, "SourceCounters"}
	needAtomics = Need{"the use of L2's atomic units",
		[]string{"lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"},
		"MemoryWorkloadAnalysis_Tables"}
)
