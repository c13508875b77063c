package pages

import (
	"bytes"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/timeline/facts"
)

// sample is a report with something in every part, and hostile names.
func sampleReport() *report.Report {
	rank := int32(1)
	budget := report.Budget{Compute: 3.21, CommExposed: 1.5, Copy: 0.29, Idle: 93.4, CopyOverlapped: 0.4,
		IdleBecauseOf: map[string]float64{"range:data_load": 80.2, "sync": 12.5, "launch": 0.3},
		IdleByHost:    map[string]float64{"range:data_load": 90.1, "launch": 2.3, "sync": 0.95, "op:aten::item": 0.05}}
	return &report.Report{
		Schema: 1,
		Inputs: []report.Input{
			{Path: "runs/a.json.gz", Format: "kineto", Producer: "PyTorch profiler 2.11", Host: "node7",
				GPUs: []report.GPU{{Name: "NVIDIA H200"}, {Name: "NVIDIA H200", Ordinal: 1}}},
			{Path: "runs/b\x1b[31m.json.gz", Format: "kineto", Producer: "PyTorch profiler 2.11", Rank: &rank},
		},
		Steps: report.Steps{Count: 5, Source: "profiler_step", Basis: "device", MeanMs: 98.4, MedianMs: 98.1,
			P10Ms: 97.2, P90Ms: 99.9,
			EachMs:  []float64{97.2, 98.1, 99.9, 98.0, 98.8},
			Startup: []report.Startup{{Index: 0, Ms: 1303.1, Why: "loads modules"}}, Note: "steps of the slowest rank"},
		Budget: budget,
		PerDevice: []report.Device{{Device: 0, Name: "NVIDIA H200", Budget: budget},
			{Device: 1, Rank: &rank, Name: "NVIDIA H200", Budget: report.Budget{Compute: 98.4}}},
		TopKernels: []report.TopKernel{
			{Name: "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, " +
				"std::array<char*, 1> >(int, at::native::FillFunctor<float>, std::array<char*, 1>)", Kind: "compute",
				CallsPerStep: 12, MsPerStep: 1.23, ShareOfStep: 0.0125, MeanUs: 102.5},
			{Name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", Kind: "comm",
				CallsPerStep: 1.5, MsPerStep: 1.5, ShareOfStep: 0.0152, MeanUs: 1000},
			{Name: "evil\x1b[2J\u202e|`<b>\n" + strings.Repeat("x", 6000), Kind: "compute", CallsPerStep: 1,
				MsPerStep: 0.0001, ShareOfStep: 0.000001, MeanUs: 0.1},
			{Name: "矩阵乘法内核矩阵乘法内核矩阵乘法内核矩阵乘法内核矩阵乘法内核矩阵乘法内核", Kind: "compute", CallsPerStep: 1, MsPerStep: 0.5,
				ShareOfStep: 0.005, MeanUs: 500},
		},
		TopOps: []report.TopOp{{Name: "aten::linear", CallsPerStep: 4, MsPerStep: 0.8, HostMs: 0.2,
			ShareOfStep: 0.008}},
		TopCopies: []report.TopCopy{{Name: "HtoD pageable -> device", CallsPerStep: 1, MsPerStep: 0.29,
			MBPerStep: 12.5, GBs: 43.1}},
		TopSyncs: []report.TopSync{{Name: "cudaStreamSynchronize", Where: "aten::item", CallsPerStep: 1,
			MsPerStep: 0.95}},
		Gaps: []report.Gap{
			{StartMs: 12.3, DurMs: 95.1, Cause: "range:data_load", Call: "cudaLaunchKernel", CallMs: 40,
				Range: "data_load", Before: "memcpy HtoD", After: "sgemm_128x64"},
			{Device: 1, StartMs: 210, DurMs: 0.4, Cause: "sync", Range: "aten::item", After: "sgemm_128x64"},
		},
		Findings: sampleFindings(),
		Profiler: &report.Profiler{MeasuredStepMs: 98.4, UnprofiledStepMs: 96.6, LowMs: 89, HighMs: 103.4,
			Tool: "torch.profiler"},
		AfterAll: &report.AfterAll{StepMs: 4.9, LowMs: 4.1, HighMs: 7.2, BoundBy: "compute"},
		Abstained: append(sampleAbstained(), report.Abstained{Rule: "idle_by_host", Kind: report.AnswerLacks,
			Reason:    "no CUDA calls were recorded: why the GPU idled cannot be told",
			GetItWith: "nsys profile --trace=cuda"}),
		Capture: report.Capture{Events: 12345, Dropped: 7,
			Losses:   []report.Loss{{Code: "bad-time", Count: 3, Example: "byte 812: \"ts\" is \"n/a\""}},
			Warnings: []string{"CUPTI of this version loses the first kernel"}},
	}
}

// sampleFindings is one of each kind: dear, cheap, hostile, and judged by its presence.
func sampleFindings() []report.Finding {
	return []report.Finding{
		{Rule: "input_pipeline", Title: "The GPU waits 90.1 of 98.4 ms of a step for data_load", Severity: "high",
			Confidence:    0.9,
			RecoverableMs: 84.8, GainLowMs: 73.9, GainHighMs: 93, AfterOthersMs: 84.8, PredictedMs: 11.8,
			Change:  "prefetch:data_load",
			Assumes: []string{"workers are as fast as the thread that does it now"},
			Evidence: []report.Evidence{{Text: "94.2 % of the step the GPU idles while the host is in data_load",
				Rows: []string{"device 0 idle 99.554 ms at 2.521 ms", "device 0 idle 89.371 ms at 293.214 ms"}}},
			Fix: "\nMake batches in background workers:\n\n    loader = DataLoader(dataset, batch_size=64, " +
				"num_workers=12, prefetch_factor=2,\n" +
				"                        pin_memory=True)\n    graph = torch.cuda.CUDAGraph()             # or by " +
				"hand, after three warm-up steps on a side stream\n" +
				"    x = 1                                                                   # short\n    for " +
				"batch in loader:\n\n        step(batch)\n\nMore of it.",
			FixElsewhere: "Make the next batch on other threads.", Confirm: "the range's share falls below 2 %",
			RefutedBy: "using the same batch again saves nothing"},
		{Rule: "host_sync", Title: "The host waits for the GPU in evil\x1b[2J\u202e|`<b>", Severity: "low",
			Confidence: 0.5, First: "input_pipeline",
			RecoverableMs: 2.1, GainLowMs: 0.4, GainHighMs: 3, AfterOthersMs: 0.01, Change: "drop-syncs:it's"},
		{Rule: "memory_growth", Title: "Memory grows by 12 MB a step", Severity: "info", Confidence: 1,
			Evidence: []report.Evidence{{Text: "from 1.2 to 1.9 GB over 60 steps"}},
			Fix:      "Keep loss.item(), not loss."},
	}
}

func sampleAbstained() (out []report.Abstained) {
	for _, rule := range []string{"tensor_cores_idle", "misaligned_shapes", "unfused_attention"} {
		out = append(out, report.Abstained{Rule: rule, Kind: report.LacksPart,
			Reason: "the capture has no shapes of operators", Missing: "shapes of operators",
			GetItWith: "torch.profiler.profile(record_shapes=True)"})
	}
	for i, rule := range []string{"cpu_contention", "memory_fragmentation", "throttled"} {
		lacks := []string{"context switches", "allocator events", "clocks"}[i]
		out = append(out, report.Abstained{Rule: rule, Kind: report.LacksPart, Reason: "the capture has no " + lacks,
			Missing: lacks, GetItWith: "nsys"})
	}
	return append(out, report.Abstained{Rule: "memory_growth", Kind: report.CannotTell,
		Reason: "two steps are too few to tell", Missing: "more steps", GetItWith: "a capture of 10 steps"})
}

var sampleAdvice = []page.Advice{{Command: "lacuna stats runs/a.json.gz -r phases", Why: "each named range"}}

func TestReportGoldens(t *testing.T) {
	pagetest.Goldens(t, "report", Report(sampleReport(), sampleAdvice, Detail{}))
	pagetest.HTML(t, "report", Report(sampleReport(), sampleAdvice, Detail{}))
	for _, test := range []struct {
		file   string
		layout page.Layout
		detail Detail
	}{
		{"report_160.txt", page.Layout{Width: 160}, Detail{}},
		{"report_80_color.txt", page.Layout{Width: 80, Color: true}, Detail{}},
		{"report_80_whole.txt", page.Layout{Width: 80}, Detail{Whole: true}},
		{"report_80_short.txt", page.Layout{Width: 80}, Detail{Short: true}},
	} {
		t.Run(test.file, func(t *testing.T) {
			golden.File(t, "testdata/"+test.file, textOf(t, Report(sampleReport(), sampleAdvice, test.detail),
				test.layout))
		})
	}
}

// textOf is the text form of a page.
func textOf(t testing.TB, p *page.Page, l page.Layout) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.WriteText(&out, p, l); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Every form shows all of a report in whole too, and of one in which there is nothing.
func TestReportForms(t *testing.T) {
	pagetest.Check(t, Report(sampleReport(), sampleAdvice, Detail{Whole: true, Abstained: true}))
	pagetest.Check(t, Report(&report.Report{Schema: 1}, nil, Detail{}))
	pagetest.Check(t, Report(sampleReport(), sampleAdvice, Detail{Short: true}))
	pagetest.Check(t, Report(&report.Report{Schema: 1}, nil, Detail{Short: true}))
}

// The verdict keeps what decides and counts what it leaves out.
func TestReportShort(t *testing.T) {
	r := sampleReport()
	finding := r.Findings[0]
	for range shortPriced {
		r.Findings = append(r.Findings, finding)
	}
	r.Budget.CommExposed = 0
	r.Findings = append(r.Findings, report.Finding{Rule: "worker_bound", Title: "Workers are late", GainHighMs: 9,
		NoGain: &report.NoGain{Kind: report.ReplayOff, Reason: "a long story"}})
	text := textOf(t, Report(r, sampleAdvice, Detail{Short: true}), page.Layout{Width: 100})
	for _, want := range []string{"saves 84.8 of 96.6 ms per step", "Make batches in background workers.",
		"and 3 more findings", "Memory grows by 12 MB", "the profiler dropped 7 more", "--abstained shows why",
		"is in data_load"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	for _, other := range []string{"a long story",
		"Confirmed if", "DataLoader(", "Top kernels", "Longest GPU idle gaps",
		"exposed communication   "} {
		if strings.Contains(text, other) {
			t.Errorf("with %q:\n%s", other, text)
		}
	}
}

// A finding without a price that concerns much stands in its place in the short form too.
func TestReportShortUnpriced(t *testing.T) {
	r := sampleReport()
	r.Findings = append(r.Findings[:1:1], report.Finding{Rule: "worker_bound", Title: "Workers are late", GainHighMs: 9,
		NoGain: &report.NoGain{Kind: report.ReplayOff, Reason: "a long story"}})
	text := textOf(t, Report(r, sampleAdvice, Detail{Short: true}), page.Layout{Width: 100})
	for _, want := range []string{"2 not priced: Workers are late [worker_bound]",
		"saves at most 9.00 ms; the gain is unknown (-v shows why)"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
}

// Where nothing that is found has a price, the fix of what concerns most is shown as if it had.
func TestReportUnpricedFix(t *testing.T) {
	r := sampleReport()
	r.Findings = []report.Finding{
		{Rule: "late_starts", Title: "Work starts late", GainHighMs: 9, Fix: "See who else uses the GPU:\n\n    nvidia-smi",
			Evidence: []report.Evidence{{Text: "in 26 gaps"}}, NoGain: &report.NoGain{Kind: report.NotReplayed}},
		{Rule: "small", Title: "Little", GainHighMs: 0.001, Fix: "Do not care",
			Evidence: []report.Evidence{{Text: "once"}}, NoGain: &report.NoGain{Kind: report.NotReplayed}},
	}
	text := textOf(t, Report(r, sampleAdvice, Detail{}), page.Layout{Width: 100})
	if !strings.Contains(text, "nvidia-smi") || strings.Contains(text, "Do not care") {
		t.Errorf("the fix of the large finding, and only that:\n%s", text)
	}
}

// The text of an empty report says that there is nothing.
func TestReportEmpty(t *testing.T) {
	if text := textOf(t, Report(&report.Report{Schema: 1}, nil, Detail{}), page.Layout{}); !strings.Contains(text,
		"No GPU activity") {
		t.Errorf("an empty report says %q", text)
	}
}

// Kernels that were not recorded are not kernels that there were none of.
func TestReportUnrecorded(t *testing.T) {
	r := &report.Report{Schema: 1, Capture: report.Capture{UnrecordedLaunches: 246, UnrecordedWaitMs: 12.5}}
	r.Steps.Source, r.Steps.Basis, r.Steps.Count, r.Budget.Idle = "none", "host", 1, 100
	want := "Kernels were not recorded: 246 launch calls, and the host was for 12.50 ms in calls that may wait for the device."
	text := strings.Join(strings.Fields(textOf(t, Report(r, nil, Detail{}), page.Layout{})), " ")
	if !strings.Contains(text, want) || strings.Contains(text, "No GPU activity") {
		t.Errorf("the report says %q, want %q", text, want)
	}
}

// A report without GPU work says why there is none, and shows what it found with the fix.
func TestReportWithoutWork(t *testing.T) {
	for why, want := range map[string]string{"cut": "The file is cut off", "on_host": "the program ran on the CPU",
		"other_kind": "The work of the Apple GPU (MPS) was not recorded.", "not_asked": "A GPU was used",
		"none_begun": "none of the recorded calls", "not_settled": "No GPU activity was recorded."} {
		r := &report.Report{Schema: 1, Capture: report.Capture{NoGPUWork: why, OtherDevice: facts.AppleGPU}}
		r.Steps.Source, r.Steps.Basis, r.Steps.Count, r.Budget.Idle = "none", "host", 1, 100
		if why == "cut" {
			r.Capture.UnrecordedLaunches = 3 // the cut says why there are no kernels
		}
		r.Findings = []report.Finding{{Rule: "host_loader", Title: "Loading data takes 60 of 100 ms", GainHighMs: 60,
			Fix: "Use workers.", NoGain: &report.NoGain{Kind: report.NotReplayed, Reason: "it cannot be replayed"}}}
		text := strings.Join(strings.Fields(textOf(t, Report(r, nil, Detail{}), page.Layout{})), " ")
		for _, want := range []string{want, "Findings in the host's time", "saves up to 60.0 ms", "Use workers."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: without %q: %s", why, want, text)
			}
		}
	}
}

// What text shows of a finding in short is open in no form twice: what is folded away is the rest.
func TestFindingsAreShownOnce(t *testing.T) {
	var out bytes.Buffer
	if err := page.WriteMarkdown(&out, Report(sampleReport(), nil, Detail{})); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"idle 99.554 ms", "idle 89.371 ms", "Make batches in background workers", "More of it.",
		"Refuted if", "From 1.2 to 1.9 GB"} {
		if n := strings.Count(out.String(), s); n != 1 {
			t.Errorf("%q stands there %d times", s, n)
		}
	}
}
