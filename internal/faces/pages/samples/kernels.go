package samples

import (
	"lacuna/internal/kernel/kernelreport"
	"strings"
)

// Evil is a name as strangers' files have them.
const Evil = "evil\x1b[2J\u202e|`<b>&\"']]>\n"

// Kernels is a report with something in every part, a kernel of which nothing is known, and hostile names.
func Kernels() *kernelreport.Report {
	full := kernelreport.Kernel{
		Launches: []int{3, 5, 9}, Launch: 5, Name: "void sgemm_naive<(int)4, (bool)1>(const float *, float *, int)",
		Base: "sgemm_naive", Grid: [3]uint32{64, 256, 1}, Block: [3]uint32{32, 8, 1},
		Range: []string{"epoch", Evil}, Count: 3, DurationUs: number(1196.8),
		Spread: &kernelreport.Spread{MinUs: 1190, MaxUs: 1310, MeanUs: 1230}, TotalUs: 3690, Share: 0.862,
		Class: "memory:l1", ClassWhy: "L1 and shared memory is at 86 % of its peak", Limiter: "L1 and shared memory",
		SOL: &kernelreport.SOL{SMPct: number(85.98), MemoryPct: number(86.09),
			Parts: []kernelreport.SOLPart{{Name: "l1", What: "L1 and shared memory", Pct: 86.09},
				{Name: "issue", What: "instruction issue", Pct: 59.7},
				{Name: "dram", What: "DRAM bandwidth", Pct: 0.4}}},
		Roofline: []kernelreport.Point{
			{Precision: "fp32", Level: "dram", Flops: 7.18e12, Intensity: 432, Ceiling: 66.9e12, Peak: 66.9e12,
				Bandwidth: 4.81e12, Ridge: 13.9, RoofPct: 10.7, ByEfficiency: 9.3, ByIntensity: 1},
			{Precision: "fp32", Level: "l2", Flops: 7.18e12, Intensity: 3.39, Ceiling: 34.8e12, Peak: 66.9e12,
				Bandwidth: 10.3e12, Ridge: 6.52, RoofPct: 20.6, ByEfficiency: 4.8, ByIntensity: 1.92},
			{Precision: "fp32", Level: "l1", Flops: 7.18e12, Intensity: 0.25, Ceiling: 8.35e12, Peak: 66.9e12,
				Bandwidth: 33.4e12, Ridge: 2, RoofPct: 85.9, ByEfficiency: 1.16, ByIntensity: 8.01},
			{Precision: "tensor fp16", Level: "dram", Flops: 1e9, Intensity: 0.06, Ceiling: 1e11, Peak: 9e14,
				Bandwidth: 4.81e12, Ridge: 190, RoofPct: 1},
		},
		Occupancy: &kernelreport.Occupancy{TheoreticalPct: number(25), AchievedPct: number(22.4), Limiter: "registers",
			Limiting: []string{"registers", "shared memory"}, BlocksPerSM: 2, Threads: 256, Registers: 121,
			SharedBytes: 8320,
			Waves:       number(15.5), TailPct: number(3.1),
			Steps: []kernelreport.Step{{Needs: "at most 80 registers per thread (now 121)", Pct: 37.5}}},
		Stalls: kernelreport.Stalls{"long_scoreboard": 0.7, "selected": 0.3},
		StallParts: []kernelreport.StallPart{{Name: "Long Scoreboard: waiting for L1TEX results", Share: 0.7,
			Cycles: number(12.3), Reasons: []string{"long_scoreboard"}},
			{Name: kernelreport.NoWait, Share: 0.295, Cycles: number(4)},
			{Name: "Barrier, Membar: waiting for other warps", Share: 0.005}},
		Memory: &kernelreport.Memory{Links: []kernelreport.Link{{From: "kernel", To: "L1", ReadBytes: number(21.5e9),
			WriteBytes: number(1.68e7), HitPct: number(98), UsedPct: number(86.1)},
			{From: "L1", To: "L2", ReadBytes: number(2.1e9), WriteBytes: number(1.68e7), HitPct: number(99.1),
				UsedPct: number(20)}, {From: "L2", To: "DRAM", ReadBytes: number(1.6e7)}},
			Notes: []string{"global loads: 2.5 sectors per request"}},
		Mix: &kernelreport.Mix{Instructions: number(1.28e9),
			Parts: []kernelreport.MixPart{{Name: "integers and logic", Share: 0.44},
				{Name: "global memory", Share: 0.36}}, Notes: []string{"32.0 of 32 lanes work on average"}},
		Lines: []kernelreport.Line{{File: "/src/kernels.cu", Line: 1261,
			Text:  "for (int k = 0; k < K; ++k) s = fmaf(A[(size_t)row * K + k], B[(size_t)k * N + col], s);",
			Share: 0.998, Why: "Long Scoreboard: waiting for L1TEX results"},
			{Function: Evil, Offset: 0x120, SASS: "LDG", Share: 0.02, Why: "a busy arithmetic pipe or the dispatcher"}},
		LinesOf: "the time that warps wait",
		Findings: []kernelreport.Finding{
			{Rule: "missing_tiling", Title: "global loads ask L1 for 1080 times the bytes that DRAM moves " + Evil,
				Confidence: 0.9, PredictedUs: 217, LowUs: 171, HighUs: 521, Next: "the FP32 pipe",
				Evidence: []string{"21.49 GB asked for"},
				Where: []kernelreport.Line{{File: `C:\src\kernels.cu`, Line: 1261, Text: "s = fmaf(...)",
					Share: 1}},
				Fix:       "Load a tile once:\n\n    __shared__ float a[64][16], b[16][64];  // one step",
				RefutedBy: "L1 is idle."},
			{Rule: "low_occupancy", Title: "registers limit occupancy", Confidence: 0.5, PredictedUs: 900, LowUs: 800,
				HighUs: 1100, SymptomOf: "missing_tiling"},
			{Rule: "atomic_contention", Title: "one address", Confidence: 0.7},
		},
		Together:  &kernelreport.Together{PredictedUs: 200, LowUs: 150, HighUs: 500, Next: "the FP32 pipe"},
		Mentioned: []kernelreport.Finding{{Rule: "memory_throttle", Title: "warps wait for room"}},
		Abstained: []kernelreport.Abstained{{Rule: "tail_effect", Reason: "the report has no active cycles",
			Missing: "active cycles", GetItWith: "--section WorkloadDistribution"}},
		Missing: []kernelreport.Missing{{Part: "its instruction mix", GetItWith: "--section InstructionStats"}},
		Profiler: []kernelreport.Said{{Rule: "SOLBottleneck", Title: "High Throughput",
			Text: "The workload is utilizing greater than 80.0% of the available compute", SpeedupPct: 12}},
	}
	healthy := kernelreport.Kernel{Launch: 1, Launches: []int{1}, Name: "triad(float*)", Base: "triad", Count: 1,
		DurationUs: number(84.2), TotalUs: 84.2, Share: 0.138, Class: "near_limit",
		ClassWhy: "DRAM is at 90 % of its peak",
		SOL:      &kernelreport.SOL{MemoryPct: number(90)},
		Findings: []kernelreport.Finding{{Rule: "dram_bound_at_peak", Title: "DRAM is at 90 % of its peak",
			Confidence: 0.9, Healthy: true, PredictedUs: 84.2}}}
	return &kernelreport.Report{Schema: 1, Inputs: []kernelreport.Input{{Path: "runs/gemm.ncu-rep", Format: "ncu",
		Producer: "Nsight Compute 2025.3.1", Host: Evil, Launches: 5}},
		Device: kernelreport.Device{Name: "NVIDIA H200", ComputeCapability: "9.0", SMs: 132, MemoryGBs: 4814},
		Kernels: []kernelreport.Kernel{full, healthy,
			{Name: Evil + strings.Repeat("x", 6000), Base: Evil, Count: 1, Launches: []int{2}}},
		Capture: kernelreport.Capture{Launches: 5,
			Losses: []kernelreport.Loss{{Code: "truncated-input", Count: 1,
				Example: "block 3: ends after 812 bytes"}},
			Warnings: []string{"the file ends too early"}}}
}

func number(v float64) *float64 { return &v }
