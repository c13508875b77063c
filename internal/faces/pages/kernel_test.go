package pages

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/kernel/kernelreport"
)

func ptr(v float64) *float64 { return &v }

// evil is a name as strangers' files have them.
const evil = "evil\x1b[2J\u202e|`<b>&\"']]>\n"

// sampleKernels is a report with something in every part, a kernel of which nothing is known, and hostile names.
func sampleKernels() *kernelreport.Report {
	full := kernelreport.Kernel{
		Launches: []int{3, 5, 9}, Launch: 5, Name: "void sgemm_naive<(int)4, (bool)1>(const float *, float *, int)",
		Base: "sgemm_naive", Grid: [3]uint32{64, 256, 1}, Block: [3]uint32{32, 8, 1},
		Range: []string{"epoch", evil}, Count: 3, DurationUs: ptr(1196.8),
		Spread: &kernelreport.Spread{MinUs: 1190, MaxUs: 1310, MeanUs: 1230}, TotalUs: 3690, Share: 0.862,
		Class: "memory:l1", ClassWhy: "L1 and shared memory is at 86 % of its peak", Limiter: "L1 and shared memory",
		SOL: &kernelreport.SOL{SMPct: ptr(85.98), MemoryPct: ptr(86.09),
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
		Occupancy: &kernelreport.Occupancy{TheoreticalPct: ptr(25), AchievedPct: ptr(22.4), Limiter: "registers",
			Limiting: []string{"registers", "shared memory"}, BlocksPerSM: 2, Threads: 256, Registers: 121,
			SharedBytes: 8320,
			Waves:       ptr(15.5), TailPct: ptr(3.1),
			Steps: []kernelreport.Step{{Needs: "at most 80 registers a thread (now 121)", Pct: 37.5}}},
		Stalls: kernelreport.Stalls{"long_scoreboard": 0.7, "selected": 0.3},
		StallParts: []kernelreport.StallPart{{Name: "waiting for global or local memory", Share: 0.7,
			Cycles: ptr(12.3), Reasons: []string{"long_scoreboard"}},
			{Name: kernelreport.NoWait, Share: 0.295, Cycles: ptr(4)}, {Name: "waiting for other warps", Share: 0.005}},
		Memory: &kernelreport.Memory{Links: []kernelreport.Link{{From: "kernel", To: "L1", ReadBytes: ptr(21.5e9),
			WriteBytes: ptr(1.68e7), HitPct: ptr(98), UsedPct: ptr(86.1)},
			{From: "L1", To: "L2", ReadBytes: ptr(2.1e9), WriteBytes: ptr(1.68e7), HitPct: ptr(99.1),
				UsedPct: ptr(20)}, {From: "L2", To: "DRAM", ReadBytes: ptr(1.6e7)}},
			Notes: []string{"global loads: 2.5 sectors a request"}},
		Mix: &kernelreport.Mix{Instructions: ptr(1.28e9),
			Parts: []kernelreport.MixPart{{Name: "integers and logic", Share: 0.44},
				{Name: "global memory", Share: 0.36}}, Notes: []string{"32.0 of 32 lanes work on average"}},
		Lines: []kernelreport.Line{{File: "/src/kernels.cu", Line: 1261,
			Text:  "for (int k = 0; k < K; ++k) s = fmaf(A[(size_t)row * K + k], B[(size_t)k * N + col], s);",
			Share: 0.998, Why: "waiting for global or local memory"},
			{Function: evil, Offset: 0x120, SASS: "LDG", Share: 0.02, Why: "a busy arithmetic pipe or the dispatcher"}},
		LinesOf: "the time that warps wait",
		Findings: []kernelreport.Finding{
			{Rule: "missing_tiling", Title: "global loads ask L1 for 1080 times the bytes that DRAM moves " + evil,
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
		DurationUs: ptr(84.2), TotalUs: 84.2, Share: 0.138, Class: "near_limit",
		ClassWhy: "DRAM is at 90 % of its peak",
		SOL:      &kernelreport.SOL{MemoryPct: ptr(90)},
		Findings: []kernelreport.Finding{{Rule: "dram_bound_at_peak", Title: "DRAM is at 90 % of its peak",
			Confidence: 0.9, Healthy: true, PredictedUs: 84.2}}}
	return &kernelreport.Report{Schema: 1, Inputs: []kernelreport.Input{{Path: "runs/gemm.ncu-rep", Format: "ncu",
		Producer: "Nsight Compute 2025.3.1", Host: evil, Launches: 5}},
		Device: kernelreport.Device{Name: "NVIDIA H200", ComputeCapability: "9.0", SMs: 132, MemoryGBs: 4814},
		Kernels: []kernelreport.Kernel{full, healthy,
			{Name: evil + strings.Repeat("x", 6000), Base: evil, Count: 1, Launches: []int{2}}},
		Capture: kernelreport.Capture{Launches: 5,
			Losses: []kernelreport.Loss{{Code: "truncated-input", Count: 1,
				Example: "block 3: ends after 812 bytes"}},
			Warnings: []string{"the file ends too early"}}}
}

func TestKernelGoldens(t *testing.T) {
	pagetest.Goldens(t, "kernel", Kernel(sampleKernels(), sampleAdvice, KernelDetail{Top: 3}))
	pagetest.HTML(t, "kernel", Kernel(sampleKernels(), sampleAdvice, KernelDetail{Top: 3}))
	pagetest.Goldens(t, "kernel_whole", Kernel(sampleKernels(), sampleAdvice, KernelDetail{Top: 1, Whole: true}))
	for _, test := range []struct {
		file   string
		layout page.Layout
		detail KernelDetail
	}{
		{"kernel_40_ascii_top.txt", page.Layout{Width: 40, ASCII: true}, KernelDetail{Top: 1}},
		{"kernel_120_whole.txt", page.Layout{Width: 120}, KernelDetail{Top: 1, Whole: true}},
	} {
		t.Run(test.file, func(t *testing.T) {
			var out bytes.Buffer
			if err := page.WriteText(&out, Kernel(sampleKernels(), sampleAdvice, test.detail),
				test.layout); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+test.file, out.String())
		})
	}
	var out bytes.Buffer
	if _, err := RooflineSVG(&out, sampleKernels(), 0); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/roofline.svg", out.String())
}

// A line of a kernel and other resources, with names of strangers.
func TestKernelAnswersGoldens(t *testing.T) {
	line := kernelreport.Listing{Name: evil, File: evil, Line: 3,
		Lines: []kernelreport.ListedLine{{Line: 2, Text: "{"}, {Line: 3, Text: evil, Waits: 1, Executed: 0.5}},
		Instructions: []kernelreport.ListedMachine{{Opcode: evil, Executed: 1e12, Lanes: 31.5, Sectors: 5, Excess: 1,
			Waits: 1, Reason: evil}}}
	long := line
	for range 60 {
		long.Instructions = append(long.Instructions,
			kernelreport.ListedMachine{Opcode: "MOV", Offset: 16, Executed: 8})
	}
	pagetest.Goldens(t, "kernel_listing", Listings(&kernelreport.Listings{Kernels: []kernelreport.Listing{line, long}}))
	now := kernelreport.Resources{Registers: 121, SharedBytes: 8320, Threads: 256, BlocksPerSM: 2, TheoreticalPct: 25,
		Blocks: 16384, Waves: 62.1}
	pagetest.Goldens(t, "kernel_calculations", Calculations(
		&kernelreport.Calculations{Kernels: []kernelreport.Calculation{
			{Name: evil, Asked: evil, Now: now, Limiting: []string{"warps"}, Notes: []string{evil}},
			{Name: evil, Asked: "regs=64", Error: evil}}}))
}

// A drawing is well-formed whatever names say, and none is made of what has no place on logarithmic axes.
func TestRooflineSVG(t *testing.T) {
	r := sampleKernels()
	r.Kernels[0].Name, r.Device.Name = evil, "</svg><script>alert(1)</script>"
	var out bytes.Buffer
	if drawn, err := RooflineSVG(&out, r, 0); err != nil || !drawn {
		t.Fatalf("drawn %v, %v", drawn, err)
	}
	d := xml.NewDecoder(&out)
	circles := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if e.Name.Local == "script" {
				t.Error("a name became an element")
			}
			if e.Name.Local == "circle" {
				circles++
			}
		}
	}
	if circles != 4 { // three levels and the legend
		t.Errorf("%d circles, want 4", circles)
	}
	for name, v := range map[string]float64{"zero": 0, "infinite": math.Inf(1), "negative": -1, "none": math.NaN()} {
		r := &kernelreport.Report{Kernels: []kernelreport.Kernel{{Roofline: []kernelreport.Point{{Precision: "fp32",
			Level: "dram", Flops: v, Intensity: 1, Peak: 1, Bandwidth: 1}}}}}
		if drawn, err := RooflineSVG(io.Discard, r, 0); drawn || err != nil {
			t.Errorf("%s: drawn %v, %v", name, drawn, err)
		}
		if err := page.WriteText(io.Discard, Kernel(r, nil, KernelDetail{Top: 1}), page.Layout{}); err != nil {
			t.Error(err)
		}
	}
}
