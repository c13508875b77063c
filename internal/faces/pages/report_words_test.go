package pages

import (
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
)

// What the answer itself lacks comes first; the rules that could not judge are counted by what they need.
func TestAbstainedLines(t *testing.T) {
	want := []string{
		"No CUDA calls were recorded: why the GPU idled cannot be told. Get it with nsys profile --trace=cuda.",
		"Not judged: memory_growth (needs more steps); 3 rules (shapes of operators); cpu_contention (context " +
			"switches); 2 more rules. --abstained shows why.",
	}
	lines := abstainedLines(sampleReport().Abstained, false)
	if got := page.List(lines, "\n").String(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if lines = abstainedLines(sampleReport().Abstained, true); len(lines) != 6 {
		t.Errorf("asked for all: %d lines", len(lines))
	}
	twice := []report.Abstained{{Rule: "a", Missing: "steps", Reason: "one"},
		{Rule: "b", Missing: "steps", Reason: "two"}, {Rule: "a", Missing: "steps", Reason: "three"}}
	if got := page.List(abstainedLines(twice, false), "\n").String(); got !=
		"Not judged: a and b (need steps). --abstained shows why." {
		t.Errorf("one need, three reasons: %s", got)
	}
}

// What lies outside the main part of a capture without steps is said first when it is longer; beside the steps of a
// loop it is said last. A capture of a run that failed says that before all else.
func TestUnjudged(t *testing.T) {
	r := &report.Report{Steps: report.Steps{Source: "none", Count: 1}, Budget: report.Budget{Compute: 5, Idle: 15},
		PerDevice: []report.Device{{}}, Profiler: &report.Profiler{UnprofiledStepMs: 20},
		Unjudged: &report.Unjudged{RecordedMs: 2000, JudgedMs: 20, BeforeMs: 1900, AfterMs: 80,
			Host: []report.HostTime{{What: "in CUDA calls (cudaFree)", Ms: 1500}}},
		Findings: []report.Finding{{Rule: "mostly_outside", Title: "1900 ms pass", OutsideMs: 1900, Severity: "info",
			Evidence: []report.Evidence{{Text: "it comes once"}}},
			{Rule: "launch_bound", Title: "Launch-bound", Severity: "high", Change: "cuda-graph", RecoverableMs: 3,
				GainHighMs: 4}}}
	text := textOf(t, Report(r, nil, Detail{}), page.Layout{Width: 300})
	for _, want := range []string{
		"Of 2000 ms recorded, 1900 ms pass before the main GPU work: 1500 ms in CUDA calls (cudaFree). The capture",
		"1 outside the budget: 1900 ms pass [mostly_outside]\n    - It comes once.", "2 high: Launch-bound",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	short := textOf(t, Report(r, nil, Detail{Short: true}), page.Layout{Width: 300})
	if !strings.Contains(short, "1 outside the budget: 1900 ms pass") {
		t.Errorf("in short:\n%s", short)
	}
	r.Findings[0] = report.Finding{Rule: "run_failed", Title: "No kernel ran", Leads: true, Severity: "info"}
	r.Budget = report.Budget{Copy: 5, Idle: 15}
	text = textOf(t, Report(r, nil, Detail{}), page.Layout{Width: 300})
	for _, want := range []string{"\nNo kernel ran. Of 2000 ms", "The GPU copies or clears memory for 25.0 % of it",
		"These gains are of what ran"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r.Steps = report.Steps{Source: "nvtx", Count: 2, MeanMs: 20,
		Startup: []report.Startup{{Ms: 30}, {Index: 1, Ms: 11}}}
	r.Findings, r.Budget = nil, report.Budget{Compute: 20}
	text = textOf(t, Report(r, nil, Detail{}), page.Layout{Width: 300})
	if want := "idle 0 %. The first 2 steps, which are left out, take 41.00 ms. Of 2000 ms recorded, 1900 ms pass before the steps, once per run: "; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
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
			"No known fix was found. The GPU computes 95.0 % of the step; how near its kernels come to what it can do " +
				"is not known from this capture."},
		{of(report.Budget{Compute: 20, CommExposed: 25, Copy: 1, Idle: 54}, "nvtx"),
			"No fix with a known gain was found. That is not an all-clear: the GPU computes 20.0 % of the step; " +
				"54.0 % is idle and 25.0 % is exposed communication."},
		{of(report.Budget{Compute: 97, Idle: 3}, "none"), "No rule found something to fix. Some rules compare " +
			"steps, and nothing marks a step in this capture. The GPU computes 97.0 % of the capture; how near its " +
			"kernels come to what it can do is not known from this capture."},
		{of(report.Budget{Compute: 3, Copy: 97}, "none"), "No rule found something to fix. Some rules compare " +
			"steps, and nothing marks a step in this capture. That is not an all-clear: the GPU computes 3.0 % of " +
			"the capture; 97.0 % is exposed copies."},
	} {
		if got := afterAllWords(test.r).String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// What was found and has no price is told with the reason, and with how far the replay is off where that is it.
func TestNoGainWords(t *testing.T) {
	r := &report.Report{Profiler: &report.Profiler{UnprofiledStepMs: 19, SelfErrorPct: -6.5},
		Budget: report.Budget{Compute: 37, CommExposed: 63}, Steps: report.Steps{Source: "nvtx"},
		PerDevice: []report.Device{{}}}
	for _, test := range []struct {
		f    report.Finding
		want string
	}{
		{report.Finding{AtMostMs: 12, NoGain: &report.NoGain{Kind: report.GainsNothing, Change: "overlap-comm",
			BoundBy: "comm", BoundMs: 16, StepMs: 19}},
			"it concerns up to 12.0 ms, but overlap-comm alone saves nothing: communication still takes 16.0 ms of " +
				"the 19.0 ms on the path that decides the step"},
		{report.Finding{AtMostMs: 12, NoGain: &report.NoGain{Kind: report.GainsNothing, Change: "overlap-comm",
			SideBySideMs: 3}}, "it concerns up to 12.0 ms, but overlap-comm alone saves nothing; what would then run " +
			"at once fills the GPU: if neither slowed the other it would save 3.00 ms"},
		{report.Finding{GainHighMs: 8, NoGain: &report.NoGain{Kind: report.RangeHasNone,
			Reason: "drop-syncs may gain nothing"}}, "saves 0 to 8.00 ms; drop-syncs may gain nothing"},
		{report.Finding{GainHighMs: 8, NoGain: &report.NoGain{Kind: report.ChangeRefused, Reason: "no"}},
			"saves at most 8.00 ms; no"},
		{report.Finding{Change: "pin", RecoverableMs: 0.3, GainLowMs: 0.2, GainHighMs: 0.4},
			"saves 0.300 ms (0.200-0.400 ms)"},
		{report.Finding{}, ""},
	} {
		if got := noGainWords(r, &test.f).String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
	r.Findings = []report.Finding{{Rule: "comm_exposed", GainHighMs: 8, NoGain: &report.NoGain{
		Kind: report.RangeHasNone}}}
	want := "No fix with a known gain was found. The replay is 6.5 % off, so gains are known within wide ranges at " +
		"best. That is not an all-clear: the GPU computes 37.0 % of the step; 63.0 % is exposed communication."
	if got := afterAllWords(r).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
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
	r.Findings = append(r.Findings, report.Finding{Rule: "dominant_kernel", AtMostMs: 5, GainHighMs: 5,
		Severity: "info", NoGain: &report.NoGain{Kind: report.NoSuchChange}})
	if got := afterAllWords(r).String(); !strings.HasPrefix(got, "Each fix with a known gain saves less than 2 %") {
		t.Errorf("with something small, and something whose gain is not known: %q", got)
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

// More idle time than there is cannot be because of a cause, whatever a replay says.
func TestIdleBecauseOfIsIdle(t *testing.T) {
	b := report.Budget{Compute: 99.4, Idle: 0.6, IdleByHost: map[string]float64{"sync": 0.6},
		IdleBecauseOf: map[string]float64{"sync": 90}}
	if rows := becauseRows(b); len(rows) > 0 {
		t.Errorf("%.1f ms of idle time because of %s, of 0.6", rows[0].comes, rows[0].key)
	}
}

// What only memsets fill is not called copies.
func TestCopyWord(t *testing.T) {
	for _, x := range []struct {
		copyMs, memset float64
		word, noun     string
	}{{0, 0, "copy", "copies"}, {10, 0.5, "copy", "copies"}, {10, 5, "copy and memset", "copies and memsets"},
		{10, 9.5, "memset", "memsets"}} {
		b := report.Budget{Copy: x.copyMs, Memset: x.memset}
		if word, noun := copyWord(b), copyNoun(b); word != x.word || noun != x.noun {
			t.Errorf("%g of %g ms: %q, %q", x.memset, x.copyMs, word, noun)
		}
	}
}
