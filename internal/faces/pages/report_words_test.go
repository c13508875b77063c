package pages

import (
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
)

// Abstentions for one reason are one line; what is of the report itself comes first; the rest is counted.
func TestAbstainedLines(t *testing.T) {
	lines, rest := abstainedLines(sampleReport().Abstained, false)
	want := []string{
		"No CUDA calls were recorded: why the GPU idled cannot be told. Get it with nsys profile --trace=cuda.",
		"memory_growth: two steps are too few to tell; get it with a capture of 10 steps.",
		"tensor_cores_idle, misaligned_shapes and unfused_attention: need shapes of operators " +
			"(torch.profiler.profile(record_shapes=True)).",
	}
	if page.List(lines, "\n").String() != strings.Join(want, "\n") ||
		rest.String() != "Not judged, for lack of data: cpu_contention, memory_fragmentation and throttled." {
		t.Errorf("got\n%s\n%s", page.List(lines, "\n").String(), rest)
	}
	if lines, rest = abstainedLines(sampleReport().Abstained, true); len(lines) != 6 || !rest.Empty() {
		t.Errorf("asked for all: %d lines, %q", len(lines), rest)
	}
}

// Of a capture without steps, and of one without GPU work, what could not be judged is two lines.
func TestAbstainedWithoutSteps(t *testing.T) {
	list := []report.Abstained{{Rule: "steps", Kind: report.AnswerLacks, Reason: "nothing marks a step",
		GetItWith: "prof.step()"}}
	for i, missing := range []string{"steps", "steps", "steps", "kernels"} {
		list = append(list, report.Abstained{Rule: "rule_" + string(rune('a'+i)), Kind: report.LacksPart,
			Missing: missing, Reason: "the capture has no " + missing, GetItWith: "a command"})
	}
	lines, rest := abstainedLines(list, false)
	if len(lines) != 1 || rest.String() != "Not judged: 3 rules need steps, 1 more need other data." {
		t.Errorf("%d lines, %q", len(lines), rest)
	}
}

// The phases of a capture without steps are shown with what the host did in them; those that are next to nothing are
// not, and one alone is not.
func TestPhases(t *testing.T) {
	r := &report.Report{Steps: report.Steps{Source: "none", Count: 1}, Budget: report.Budget{Compute: 75, Idle: 25},
		Phases: []report.Phase{
			{Kind: "start", DurMs: 300, Host: []report.HostTime{{What: "cudaFree", Ms: 200, Calls: 2}, {Ms: 100}}},
			{Kind: "unseen", DurMs: 40},
			{Kind: "main", DurMs: 100, GPUBusyMs: 75, Host: []report.HostTime{{What: "read", Ms: 25, Calls: 1}}},
			{Kind: "end", DurMs: 0.2}}}
	text := textOf(t, Report(r, nil, Detail{}), page.Layout{Width: 120})
	for _, want := range []string{
		"The capture's main part covers 100.0 ms.",
		"- start-up: 300.0 ms, GPU busy 0 %; the host: cudaFree 200.0 ms (2 calls), code outside any range 100.0 ms.",
		"- GPU busy with work from before the capture: 40.0 ms, what ran is not recorded.",
		"- main part: 100.0 ms, GPU busy 75.0 %; the host: read 25.00 ms.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "- end:") {
		t.Errorf("a phase of next to nothing is shown:\n%s", text)
	}
	r.Phases = r.Phases[2:3]
	if text = textOf(t, Report(r, nil, Detail{}), page.Layout{Width: 120}); strings.Contains(text, "Phases") {
		t.Errorf("one phase is shown:\n%s", text)
	}
}

// Nothing to fix is said only of time that is really spent: where the GPU computes less than nine tenths, what it does
// instead is said.
func TestNoFalseAllClear(t *testing.T) {
	of := func(b report.Budget, source string) *report.Report {
		return &report.Report{Profiler: &report.Profiler{}, Budget: b, Steps: report.Steps{Source: source},
			PerDevice: []report.Device{{Budget: b}}}
	}
	for _, test := range []struct {
		r    *report.Report
		want string
	}{
		{of(report.Budget{Compute: 95, Idle: 5}, "nvtx"),
			"Nothing to fix was found: no known fix would make the step clearly shorter."},
		{of(report.Budget{Compute: 20, CommExposed: 25, Copy: 1, Idle: 54}, "nvtx"),
			"No fix with a known gain was found. That is not an all-clear: the GPU computes 20.0 % of the step; " +
				"54.0 % is idle and 25.0 % is exposed communication."},
		{of(report.Budget{Compute: 3, Copy: 97}, "none"), "No rule found something to fix. Some rules compare " +
			"steps, and nothing marks a step in this capture. That is not an all-clear: the GPU computes 3.0 % of " +
			"the capture; 97.0 % is exposed copies."},
	} {
		if got := afterAllWords(test.r).String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// Where nothing is worth fixing it is said, with what bounds the step if that is known; not where nothing could be
// priced.
func TestNothingWorthFixing(t *testing.T) {
	r := &report.Report{Profiler: &report.Profiler{},
		Findings: []report.Finding{{Rule: "at_limit", Limit: true, Title: "the GPU computes for 99 %",
			Severity: "info"}}}
	if got, want := afterAllWords(r).String(), "No finding is worth fixing. The GPU computes for 99 %."; got != want {
		t.Errorf("at the limit: %q", got)
	}
	r.Findings = append(r.Findings, report.Finding{Rule: "launch_bound", Change: "cuda-graph", Severity: "info",
		RecoverableMs: 0.01})
	if got := afterAllWords(r).String(); !strings.HasPrefix(got, "None of these is worth much") {
		t.Errorf("with something small: %q", got)
	}
	if got := afterAllWords(&report.Report{}).String(); got != "" {
		t.Errorf("without prices: %q", got)
	}
}

// What a fix needs first is said: the rule to fix, else the change that it cannot be made without.
func TestSavesWordsNeeds(t *testing.T) {
	for _, c := range []struct {
		f    report.Finding
		want string
	}{
		{report.Finding{First: "host_sync", Before: []string{"drop-syncs"}}, "; fix host_sync first; "},
		{report.Finding{Before: []string{"drop-allocs", "drop-syncs"}}, "; needs drop-allocs and drop-syncs first; "},
		{report.Finding{}, ")"},
	} {
		r := &report.Report{Findings: []report.Finding{c.f}}
		got := savesWords(r, &r.Findings[0], 0).String()
		if !strings.Contains(got, c.want) || strings.Contains(got, "first") != strings.Contains(c.want, "first") {
			t.Errorf("%+v: %q, want %q in it", c.f, got, c.want)
		}
	}
}
