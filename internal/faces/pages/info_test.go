package pages

import (
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page/pagetest"
)

// sampleContents is a capture of one rank, with hostile names.
func sampleContents() *report.Contents {
	rank := int32(1)
	return &report.Contents{
		Schema: 1, Path: "a\x1b[2J.json", Format: "kineto", Producer: "PyTorch profiler", Host: "node7",
		Command: "python train.py", Bytes: 308155,
		Taken: "2026-11-21T09:28:54Z", Clock: "Unix time", SpanMs: [2]float64{0, 602.9}, Driver: 13000, Runtime: 12080,
		CUPTI: 130001, Rank: &rank, World: 8, Backend: "nccl",
		Devices: []report.DeviceInfo{{Name: "NVIDIA H200", ComputeMajor: 9, SMs: 132, MemoryBytes: 150e9,
			BandwidthBps: 4800e9, Used: true},
			{Ordinal: 1, Name: "NVIDIA H200"}, {Ordinal: 2, Name: "NVIDIA H200"}},
		Streams:   []report.StreamInfo{{Stream: 7, Counts: [3]int{264, 12, 24}}},
		Processes: []report.ProcessInfo{{Pid: 467, Name: "python3", Threads: 2}},
		Domains:   []string{"NCCL", "my\u202edomain"},
		Ranges:    []report.NameCount{{Name: "forward", Count: 6}},
		Steps:     report.StepsInfo{Source: "nvtx", Marker: "step", Device: 5, Host: 6},
		Tables:    []report.NameCount{{Name: "Kernels", Count: 12345}},
		Missing:   []report.Abstained{},
		Capture:   report.Capture{Events: 15033},
		Meta:      []report.NameText{{Name: "config", Text: strings.Repeat("x", 5000)}},
	}
}

func TestContentsGoldens(t *testing.T) {
	pagetest.Goldens(t, "info", Contents(sampleContents()))
}
