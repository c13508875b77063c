package pages

import (
	"bytes"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/faces/pages/samples"
	"lacuna/internal/runs/compare"
)

// change is a measure with its change and interval in per cent.
func change(name, unit string, before, after, pct, low, high float64, verdict string, runs int) compare.Change {
	return compare.Change{Name: name, Unit: unit, Before: before, After: after, ChangePct: &pct, LowPct: &low,
		HighPct: &high, LimitPct: 2, Verdict: compare.Verdict(verdict), RunsNeeded: runs}
}

func TestDiffGoldens(t *testing.T) {
	next := []page.Advice{{Command: "lacuna report a.json", Why: "what is left to gain"}}
	pagetest.Goldens(t, "diff", Diff(samples.Diff(), next))
	var out bytes.Buffer
	if err := page.WriteText(&out, Diff(samples.Diff(), next), page.Layout{Width: 100}); err != nil {
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

// A stall that comes or goes is in the mean and not in the median: it is said, and not called no change.
func TestMeanApart(t *testing.T) {
	step := change("step", "ms", 10, 10, 0.1, -1, 1, "same", 0)
	d := &compare.Difference{Step: &step, Comparable: true, MeanMs: [2]float64{10, 14}}
	want := "The median step takes 10.0 ms (was 10.0 ms), +0.10 % (-1.0 to +1.0): the same (no change of 2 % or " +
		"more). The mean step takes 14.0 ms (was 10.0 ms), +40 %: some steps take far longer than the others, which " +
		"the median leaves out."
	if got := stepWords(d).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := diffTitle(d), "❔ The median step has not changed, but the mean step has"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.MeanMs = [2]float64{10.2, 10.4}
	if got, want := diffTitle(d), "➖ The step has not changed"; got != want {
		t.Errorf("within what steps vary by: got %q, want %q", got, want)
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
