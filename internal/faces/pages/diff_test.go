package pages

import (
	"bytes"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/runs/compare"
)

// change is a measure with its change and interval in per cent.
func change(name, unit string, before, after, pct, low, high float64, verdict string, runs int) compare.Change {
	return compare.Change{Name: name, Unit: unit, Before: before, After: after, ChangePct: &pct, LowPct: &low,
		HighPct: &high, LimitPct: 2, Verdict: compare.Verdict(verdict), RunsNeeded: runs}
}

// sampleDiff is a comparison in which something of every kind happened, of runs that are not comparable.
func sampleDiff() *compare.Difference {
	ms := func(x float64) *float64 { return &x }
	step := change("step", "ms", 100, 42.5, -57.5, -59, -56, "faster", 0)
	return &compare.Difference{
		Schema: compare.Schema,
		Before: compare.Side{Runs: []string{"b/1.json", "b/2.json", "b/\x1b[2J.json", "b/4.json"},
			Tools: []string{"kineto"}, GPU: "NVIDIA H200", Steps: 40},
		After:    compare.Side{Runs: []string{"a.json"}, Tools: []string{"kineto"}, GPU: "NVIDIA H100", Steps: 1},
		WhyNot:   []string{"GPU: before NVIDIA H200, after NVIDIA H100"},
		Warnings: []string{"a warning with a long text that does not fit a line of a narrow page"},
		Step:     &step, MeanMs: [2]float64{101, 43},
		Explained: []compare.Cause{{What: "load|er left the critical path", Ms: -60, Key: "idle:range:load|er"},
			{What: "more casts in forward", Ms: 2, Key: "kernels:casts"}},
		Measures: []compare.Change{
			change("gpu_busy", "share", 0.2, 0.9, 350, 300, 400, "more", 0),
			change("copies", "count", 25, 0, -100, -100, -100, "less", 0),
			{Name: "syncs", Unit: "count", After: 3, Verdict: "more"},
			change("kernel:void ns::sgemm<4>(float*):dram_bytes", "bytes", 2e9, 1e9, -50, -55, -45, "less", 0),
			change("kernel:a(int) -> b(int):sm", "%", 40, 50, 25, 20, 30, "more", 0),
			change("throughput", "tokens/s", 1000, 990, -1, -4, 2, "undecided", 7),
			change("range:evil\x1b[2J`<b>", "ms", 1, 1, 0, -1, 1, "same", 0),
		},
		Kernels: []compare.KernelChange{
			{Before: []string{"void cutlass::Kernel<128>(P)", "tanh"}, After: []string{"void cutlass::Kernel<64>(P)"},
				How: "same operator", CallsBefore: 8, CallsAfter: 2.5,
				Change: change("kernel:x", "ms", 20, 5, -75, -80, -70, "faster", 0), ChangeMs: -15},
			{Before: []string{"gone_k"}, CallsBefore: 1,
				Change: change("kernel:gone_k", "ms", 1, 0, -100, -100, -100, "faster", 0), ChangeMs: -1},
			{Before: []string{"k"}, After: []string{"k"}, How: "name", CallsBefore: 1, CallsAfter: 1,
				Change: change("kernel:k", "ms", 1, 1.0001, 0, -1, 1, "same", 0), ChangeMs: 0.0001},
		},
		Operators: []compare.PathChange{
			{Path: "forward > autograd::engine::evaluate_function: AddmmBackward0 > AddmmBackward0 > aten::mm",
				BeforeMs: 30, AfterMs: 2, ChangeMs: -28, CallsBefore: 13, CallsAfter: 13},
			{Path: "aten::relu", BeforeMs: 5, AfterMs: 5.01, ChangeMs: 0.01, CallsBefore: 1, CallsAfter: 1},
		},
		Findings: compare.Findings{
			Gone: []compare.Finding{{Rule: "input_pipeline", Title: "The GPU waits for load|er", BeforeMs: ms(60)}},
			New:  []compare.Finding{{Rule: "dtype_cast_churn", Title: "Casts", AfterMs: ms(2)}},
			Stayed: []compare.Finding{{Rule: "host_sync", Title: "The host waits", BeforeMs: ms(3),
				AfterMs: ms(0.0001)}},
		},
		Predicted: &compare.Predicted{Changes: []string{"prefetch:load|er@8"}, Ratio: 0.4, Low: 0.3, High: 0.45,
			Achieved: 0.425, ErrorPct: -5.9, InRange: true},
	}
}

func TestDiffGoldens(t *testing.T) {
	next := []page.Advice{{Command: "lacuna report a.json", Why: "what is left to gain"}}
	pagetest.Goldens(t, "diff", Diff(sampleDiff(), next))
	var out bytes.Buffer
	if err := page.WriteText(&out, Diff(sampleDiff(), next), page.Layout{Width: 100}); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/diff_100.txt", out.String())
}

// Two kernel reports, with more kernels than a page tells, names of strangers and names that fill the screen.
func TestDiffSheetsGoldens(t *testing.T) {
	sheet := func(before, after string) compare.KernelSheet {
		return compare.KernelSheet{Before: before, After: after, BeforeClass: "memory:l1", AfterClass: "compute",
			Gone: []string{"missing_tiling"}, New: []string{"low_ipc", "fp64_pipe"},
			Rows: []compare.SheetRow{{Metric: "time", Unit: "us", Before: 1196.8, After: 0.9,
				Meaning: "1330 times as fast"},
				{Metric: "a metric whose name is as long as they come", Unit: "bytes", Before: 2e9, After: 1.5e6,
					Meaning: "less is asked of DRAM, since what a block needs again is kept in shared memory " + evil},
				{Metric: "registers", Before: 32, After: 12345, Meaning: "the same"},
				{Metric: "L2 hit rate", Unit: "%", Before: 3, After: 99.5, Meaning: "more is found in L2"}}}
	}
	d := &compare.Difference{Comparable: true, Before: compare.Side{Runs: []string{"slow.ncu-rep"}},
		After: compare.Side{Runs: []string{evil + strings.Repeat("/long", 30)}},
		Sheets: []compare.KernelSheet{sheet("naive(int)", "naive(int)"),
			sheet("sgemm<"+strings.Repeat("1, ", 60)+">(int)", evil), sheet("c", "c"), sheet("d", "d")}}
	d.Sheets[2].AfterClass, d.Sheets[2].Gone, d.Sheets[2].New, d.Sheets[2].Stayed = "memory:l1", nil, nil,
		[]string{"low_ipc"}
	pagetest.Goldens(t, "diff_sheets", Diff(d, nil))
}

// What the verdict says of the step, in each of its cases.
func TestStepWords(t *testing.T) {
	for _, test := range []struct {
		step compare.Change
		want string
	}{
		{change("step", "ms", 10, 12, 20, 15, 25, "slower", 0),
			"The median step takes 12.0 ms (was 10.0 ms), +20 % (+15 to +25): slower."},
		{change("step", "ms", 10, 10, 0.1, -1, 1, "same", 0),
			"The median step takes 10.0 ms (was 10.0 ms), +0.10 % (-1.0 to +1.0): the same (no change of 2 % " +
				"or more)."},
		{change("step", "ms", 10, 10.5, 5, -3, 13, "undecided", 7),
			"The median step takes 10.5 ms (was 10.0 ms), +5.0 % (-3.0 to +13): inconclusive for a change of 2 % " +
				"or more; needs about 7 runs per side."},
		{compare.Change{Name: "step", Unit: "ms", Before: 10, After: 10, LimitPct: 2, Verdict: "undecided"},
			"The median step takes 10.0 ms (was 10.0 ms): inconclusive for a change of 2 % or more."},
	} {
		if got := stepWords(&compare.Difference{Step: &test.step, Comparable: true}).String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// The title says the verdict at a glance, and none where there is none.
func TestDiffTitle(t *testing.T) {
	for _, test := range []struct {
		verdict    compare.Verdict
		comparable bool
		want       string
	}{
		{"faster", true, "✅ The step is faster"}, {"slower", true, "❌ The step is slower"},
		{"same", true, "➖ The step has not changed"},
		{"undecided", true, "❔ Inconclusive: whether the step has changed"},
		{"faster", false, "❔ The two sides are not comparable"},
	} {
		if got := diffTitle(&compare.Difference{Step: &compare.Change{Verdict: test.verdict},
			Comparable: test.comparable}); got != test.want {
			t.Errorf("%s, comparable %v: %q, want %q", test.verdict, test.comparable, got, test.want)
		}
	}
	if got := diffTitle(&compare.Difference{Comparable: true}); got != "What changed" {
		t.Errorf("no step: %q", got)
	}
}
