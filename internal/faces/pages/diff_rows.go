package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/runs/compare"
	"lacuna/internal/timeline/facts"
)

// maxUndecided is how many inconclusive measures are listed where others moved.
const maxUndecided = 8

// movedMeasures is what moved and what is inconclusive, and how many are neither.
func movedMeasures(d *compare.Difference) []page.Block {
	if len(d.Measures) == 0 {
		return nil
	}
	t := page.Table{Columns: []page.Column{{Head: "measure", Flex: true}, {Head: "before", Right: true, Drop: 2},
		{Head: "after", Right: true, Drop: 1}, {Head: "change", Right: true},
		{Head: "95 % interval", Right: true, Drop: 3},
		{Head: "verdict"}, {Head: "runs needed", Right: true, Drop: 4}}}
	same, undecided, needed := 0, 0, false
	for i := range d.Measures {
		c := &d.Measures[i]
		if c.Verdict == compare.Same {
			same++
			continue
		}
		if c.Verdict == compare.Undecided {
			if undecided++; undecided > maxUndecided {
				continue
			}
		}
		runs := ""
		if c.RunsNeeded > 0 {
			runs, needed = unit.Tally(float64(c.RunsNeeded)), true
		}
		t.Rows = append(t.Rows, append(changeCells(c), page.T(verdictWords(c.Verdict)), page.T(runs)))
	}
	if !needed {
		t.Columns = t.Columns[:6]
	}
	var out []page.Block
	if len(t.Rows) > 0 {
		out = append(out, t)
	}
	var rest []string
	if more := undecided - maxUndecided; more > 0 {
		rest = append(rest, fmt.Sprintf("%d more are inconclusive.", more))
	}
	if same > 0 {
		rest = append(rest, unit.Counted(same, "measure is", "measures are")+" the same.")
	}
	out = append(out, page.Prose{Indent: 2, Small: true, Text: page.T(strings.Join(rest, " "))})
	return []page.Block{page.Section{Title: page.T("Measures, those that moved first"), Level: 1, Fold: true,
		Blocks: out}}
}

// worthRow is the least change of a row, as a share of the mean step, that people see: what explains the step
// has no smaller parts either.
const worthRow = 1e-3

// worthTelling says whether a row is shown to people: JSON and CSV have all.
func worthTelling(d *compare.Difference, changeMs float64) bool {
	return math.Abs(changeMs) >= worthRow*max(d.MeanMs[0], d.MeanMs[1])
}

// changeRows is rows of what changed, if there are any.
func changeRows(title string, columns []page.Column, rows [][]page.Text) []page.Block {
	if len(rows) == 0 {
		return nil
	}
	return []page.Block{
		page.Section{
			Title:  page.T(title),
			Level:  1,
			Fold:   true,
			Blocks: []page.Block{page.Table{Columns: columns, Rows: rows}},
		},
	}
}

// kernelRows is the kernels that changed.
func kernelRows(d *compare.Difference) []page.Block {
	var rows [][]page.Text
	for i := range d.Kernels {
		if k := &d.Kernels[i]; worthTelling(d, k.ChangeMs) {
			verdict, how := kernelVerdict(k)
			rows = append(
				rows,
				[]page.Text{kernelPair(k), page.T(unit.SomeMs(k.Change.Before)), page.T(unit.SomeMs(k.Change.After)),
					page.Num(unit.SignedMs(k.ChangeMs)), page.T(countPair(k.CallsBefore, k.CallsAfter)),
					page.T(verdict), page.T(how)},
			)
		}
	}
	return changeRows(
		"Kernels, most change first (ms per step)",
		[]page.Column{{Head: "kernel", Flex: true}, {Head: "before", Right: true, Drop: 2},
			{Head: "after", Right: true, Drop: 1}, {Head: "change", Right: true},
			{Head: "launches", Right: true, Drop: 3},
			{Head: "verdict"}, {Head: "matched by", Drop: 4}},
		rows,
	)
}

// operatorRows is the operators that changed.
func operatorRows(d *compare.Difference) []page.Block {
	var rows [][]page.Text
	for _, x := range d.Operators {
		if worthTelling(d, x.ChangeMs) && math.Abs(x.ChangeMs) >= 0.02*max(x.BeforeMs, x.AfterMs) {
			rows = append(
				rows,
				[]page.Text{page.Named(callPathWords(x.Path)), page.T(unit.SomeMs(x.BeforeMs)),
					page.T(unit.SomeMs(x.AfterMs)),
					page.Num(unit.SignedMs(x.ChangeMs)), page.T(countPair(x.CallsBefore, x.CallsAfter))},
			)
		}
	}
	return changeRows(
		"Operators by call path, most change first (GPU ms per step)",
		[]page.Column{{Head: "operator", Flex: true},
			{Head: "before", Right: true, Drop: 2}, {Head: "after", Right: true, Drop: 1},
			{Head: "change", Right: true},
			{Head: "calls", Right: true, Drop: 3}},
		rows,
	)
}

// countPair is two counts, or one where they are the same.
func countPair(before, after float64) string {
	b, a := unit.Tally(before), unit.Tally(after)
	if b == a {
		return a
	}
	return b + "→" + a
}

// kernelVerdict is the verdict on a row of kernels, and what makes both sides the same work where that is not the name.
func kernelVerdict(k *compare.KernelChange) (verdict, how string) {
	switch {
	case len(k.Before) == 0:
		return "new", ""
	case len(k.After) == 0:
		return "gone", ""
	case k.How == "name":
		return verdictWords(k.Verdict), ""
	case k.How == "renamed":
		return verdictWords(k.Verdict), "like name"
	}
	return verdictWords(k.Verdict), k.How
}

// kernelPair is what a row of kernels is called.
func kernelPair(k *compare.KernelChange) page.Text {
	b, a := kernelsOfSide(k.Before), kernelsOfSide(k.After)
	switch {
	case b.Empty():
		return a
	case a.Empty() || slices.EqualFunc(a, b, func(x, y page.Span) bool { return x.Text == y.Text }):
		return b
	}
	return page.Sayf("%s -> %s", b, a)
}

// kernelsOfSide is what the kernels of one side of a row are called.
func kernelsOfSide(names []string) page.Text {
	if len(names) == 0 {
		return nil
	}
	text := page.Named(kernelname.Short(names[0]))
	if more := len(names) - 1; more > 0 {
		text = page.Sayf("%s and %d more", text, more)
	}
	return text
}

// callPathWords is a call path as people read it: an operator of the same name around another, and the node that
// PyTorch's engine runs inside its own operator, are said once.
func callPathWords(path string) string {
	var out []string
	for _, name := range strings.Split(path, " > ") {
		name = facts.OpWords(name)
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	return strings.Join(out, " > ")
}
