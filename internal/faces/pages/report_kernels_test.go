package pages

import (
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page/pagetest"
)

// longEvil is a name that would do harm on a terminal or in a page if it got there as it is.
var longEvil = evil + strings.Repeat("x", 300)

// sampleJoined is a report with kernels that ncu has reported on.
func sampleJoined() *report.Report {
	roof := &report.RoofPlace{Precision: "tensor fp16", Level: "l2", Flops: 4.1e12, Intensity: 12.5, Ceiling: 9e12,
		RoofPct: 45.5}
	return &report.Report{
		Inputs: []report.Input{{Path: "run.sqlite", Producer: "Nsight Systems 2025.3"}},
		Kernels: []report.Kernel{
			{Name: "sgemm_naive(float const*, float*)", MsPerStep: 0.6, ShareOfStep: 0.59, Class: "memory:l1",
				Roofline: roof, RecoverableMs: 0.45,
				Notes: []string{"5 µs each at the clock of the report"},
				Findings: []report.KernelFinding{
					{Rule: "missing_tiling", Title: "loads the same data again and again", Confidence: 0.9,
						Ratio: 0.25, Change: "scale:sgemm_naive=0.25",
						RecoverableMs: 0.45, GainLowMs: 0.3, GainHighMs: 0.5,
						Evidence: []string{"each byte is loaded 64 times", "L1 hits 92 %"},
						Fix: "Load tiles into shared memory:\n\n    __shared__ float a[16][16];\n\nThen " +
							"multiply there."},
					{Rule: "occupancy", Title: "few warps", Confidence: 0.5, Ratio: 0.8, Fix: "Use fewer registers."},
					{Rule: "tail", Title: "a half-empty last wave", Healthy: true, Ratio: 0.99,
						Evidence: []string{"3.5 waves"}},
				}},
		},
		KernelReports: &report.Kernels{Reports: []string{"gemm.ncu-rep"},
			Warnings:     []string{"ANOTHER GPU: the timeline is of NVIDIA A100, the kernel report of NVIDIA H200"},
			MatchedShare: 0.91, Unmatched: []report.UnmatchedTime{{Name: "other(int)", ShareOfStep: 0.09}},
			NotInTrace: []string{"warm_up(int)"}},
	}
}

func TestJoinedKernelsGoldens(t *testing.T) {
	pagetest.Goldens(t, "joined", JoinedKernels(sampleJoined(), sampleAdvice, Detail{}))
}

// Every form shows all, whatever names say and however many kernels there are.
func TestJoinedKernelsForms(t *testing.T) {
	r := sampleJoined()
	r.Kernels = append(r.Kernels, report.Kernel{Name: longEvil, MsPerStep: 0.2, ShareOfStep: 0.2, Class: "latency",
		Notes: []string{longEvil},
		Findings: []report.KernelFinding{{Rule: "x", Title: longEvil, Ratio: 0.5, Change: "scale:" + longEvil + "=0.5",
			Fix: "    code " + longEvil}}})
	for range maxJoined {
		r.Kernels = append(r.Kernels, report.Kernel{Name: "k", MsPerStep: 0.1})
	}
	for _, whole := range []bool{false, true} {
		pagetest.Check(t, JoinedKernels(r, nil, Detail{Whole: whole}))
	}
}
