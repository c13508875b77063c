package writers

import (
	"bytes"
	"strings"
	"testing"

	"lacuna/internal/golden"
	"lacuna/internal/report"
)

// sampleWhatIf is an answer to two changes of which one was made.
func sampleWhatIf() *report.WhatIf {
	return &report.WhatIf{Schema: 1, MeasuredStepMs: 98.4, ReplayedStepMs: 98.2, SelfErrorPct: -0.2, Steps: 5, PredictedMs: 8.9, LowMs: 8.2, HighMs: 10.4,
		CriticalPathMs: map[string]float64{"compute": 4.4, "launch": 2.1, "range:evil\x1b[2J\u202e|`<b>": 1.1, "op:aten::item": 0.8, "sync": 0.04, "unheard of": 0.03},
		Unprofiled: report.Unprofiled{NowMs: 96.6, NowLowMs: 89, NowHighMs: 103.4, PredictedMs: 8.47, LowMs: 8.1, HighMs: 9.91,
			GainMs: 88.13, GainLowMs: 80.1, GainHighMs: 94.2, Tool: "torch.profiler"},
		Changes: []report.AppliedChange{
			{Change: "prefetch:data_load@12", Applied: true, Matched: 5, Assumes: []string{"workers are as fast as the thread that does it now", "12 workers share 96.5 ms of work a step"}},
			{Change: "pin", WhyNot: "matches nothing", Assumes: []string{}},
		},
		Notes: []string{"2 waits between streams were inferred from times"},
	}
}

func TestWhatIfGoldens(t *testing.T) {
	for _, test := range []struct {
		file string
		page Page
	}{
		{"whatif_80.txt", Page{Width: 80}},
		{"whatif_40_ascii.txt", Page{Width: 40, ASCII: true}},
	} {
		var out bytes.Buffer
		if err := WhatIfText(&out, sample().Inputs[0], sampleWhatIf(), test.page); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+test.file, out.String())
	}
	var out bytes.Buffer
	if err := WhatIfMarkdown(&out, sampleWhatIf()); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/whatif.md", out.String())
}

// The words for a gain never promise one whose range includes none.
func TestGainWords(t *testing.T) {
	for _, test := range []struct {
		now, predicted, low, high float64
		want                      string
	}{
		{100, 8.4, 80, 95, "12 times as fast"},
		{100, 40, 50, 65, "2.5 times as fast"},
		{100, 90, 5, 15, "10.0 ms (10.0 %) less"},
		{100, 99.5, -1, 2, "no gain that can be told from none (-1.00 to 2.00 ms)"},
		{100, 120, -25, -15, "20.0 ms longer"},
		{100, 99.75, 0.05, 0.4, "no gain worth the name (0.250 ms, 0.2 %)"},
		{1, 1, 0, 0, "no gain that can be told from none (0.000 to 0.000 ms)"},
	} {
		got := gainWords(report.Unprofiled{NowMs: test.now, PredictedMs: test.predicted, GainMs: test.now - test.predicted, GainLowMs: test.low, GainHighMs: test.high})
		if got != test.want {
			t.Errorf("%v: %q, want %q", test, got, test.want)
		}
	}
}

func TestBlocks(t *testing.T) {
	got := blocksOf("\nA\n B\n\nC\n\n    x = 1\n\n        y\nD\n")
	var b strings.Builder
	for _, x := range got {
		b.WriteString(map[bool]string{true: "code", false: "text"}[x.code] + "[" + strings.Join(x.lines, "|") + "] ")
	}
	if want := "text[A|B] text[C] code[x = 1||    y] text[D] "; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// Abstentions for one reason are one line; what is of the report itself comes first; the rest is counted.
func TestAbstainedLines(t *testing.T) {
	lines, rest := abstainedLines(sample(), false)
	want := []string{
		"No CUDA calls were recorded: why the GPU idled cannot be told. Get it with nsys profile --trace=cuda.",
		"Two steps are too few to tell: memory_growth cannot be judged. Get it with a capture of 10 steps.",
		"The capture has no shapes of operators: tensor_cores_idle, misaligned_shapes and unfused_attention cannot be judged. Get it with torch.profiler.profile(record_shapes=True).",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") || rest != "cpu_contention, memory_fragmentation and throttled cannot be judged: the capture lacks what they look at." {
		t.Errorf("got\n%s\n%s", strings.Join(lines, "\n"), rest)
	}
	if lines, rest = abstainedLines(sample(), true); len(lines) != 6 || rest != "" {
		t.Errorf("asked for all: %d lines, %q", len(lines), rest)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"a/b.json": "a/b.json", "a b": "'a b'", "it's": `'it'\''s'`, "-x": "'-x'", "": "''", "$(x)": "'$(x)'"} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
}

// Where nothing is worth fixing it is said, with what bounds the step if that is known; not where nothing could be priced.
func TestNothingWorthFixing(t *testing.T) {
	same := func(s string) string { return s }
	r := &report.Report{Profiler: &report.Profiler{}, Findings: []report.Finding{{Rule: "at_limit", Limit: true, Title: "the GPU computes for 99 %", Severity: "info"}}}
	if got, want := afterAllWords(r, same, same), "Nothing was found that is worth fixing. The GPU computes for 99 %."; got != want {
		t.Errorf("at the limit: %q", got)
	}
	r.Findings = append(r.Findings, report.Finding{Rule: "launch_bound", Change: "cuda-graph", Severity: "info", RecoverableMs: 0.01})
	if got := afterAllWords(r, same, same); !strings.HasPrefix(got, "None of this is worth a day") {
		t.Errorf("with something small: %q", got)
	}
	if got := afterAllWords(&report.Report{}, same, same); got != "" {
		t.Errorf("without prices: %q", got)
	}
}

// TestFreeWords: a range wider than half of the step is said as a range, and what to do about it.
func TestFreeWords(t *testing.T) {
	for _, c := range []struct {
		ms, low, high float64
		want          string
	}{
		{96.6, 89, 103.4, "likely takes 96.6 ms (89.0 to 103.4)"},
		{3.39, 1.46, 5.04, "takes 1.46 to 5.04 ms (this capture cannot tell better; time it without the profiler)"},
	} {
		if got := freeWords(c.ms, c.low, c.high); got != c.want {
			t.Errorf("freeWords(%v, %v, %v) = %q, want %q", c.ms, c.low, c.high, got, c.want)
		}
	}
}
