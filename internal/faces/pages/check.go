package pages

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/gate"
)

// Check is a judgement of runs: the verdict, a row for each measure, and of those that did not pass the rule and how
// to judge otherwise.
func Check(r *gate.Result) *page.Page {
	head := CheckHead(r)
	p := &page.Page{Title: page.Join(page.Of(page.Icon, checkSigns[r.Verdict]), head)}
	p.Add(page.Prose{Text: head, Style: checkStyles[r.Verdict], OneLine: true, Elsewhere: true})
	if len(r.Before.Runs) > 0 {
		p.Add(page.Prose{Indent: 2, Lead: "before  ", Small: true, Text: page.T(checkSide(r.Before, r.Baseline))})
	}
	p.Add(page.Prose{Indent: 2, Lead: "new     ", Small: true, Text: page.T(checkSide(r.After, ""))})
	for _, why := range r.WhyNot {
		p.Add(page.Prose{Indent: 2, Lead: "- ", Quote: true, Text: page.T("not comparable: " + why)})
	}
	p.Add(page.Gap{}, checkRows(r))
	if list := checkReasons(r); len(list) > 0 {
		p.Add(page.Gap{})
		p.Add(list...)
	}
	if list := checkRemarks(r); len(list) > 0 {
		p.Add(page.Gap{})
		for _, x := range list {
			p.Add(page.Prose{Lead: "- ", Quote: true, Text: page.Sentence(page.T(x))})
		}
	}
	if len(r.Measures) > 0 {
		p.Add(page.Gap{}, page.Prose{Small: true,
			Text: page.Sayf("Limits are set by a flag (%s) or in lacuna.yaml; --calibrate learns them from "+
				"unchanged runs.",
				page.Of(page.Word, r.Measures[0].Override))})
	}
	return p
}

// checkRows is a row for each measure. What passed is folded where that is possible.
func checkRows(r *gate.Result) page.Table {
	out := page.Table{FoldTitle: "What passed", Columns: []page.Column{{Name: "measure", Flex: true},
		{Head: "before", Right: true, Drop: 1}, {Head: "new", Right: true},
		{Head: "change %", Right: true}, {Head: "95 % interval", Right: true, Drop: 2}, {Head: "limit", Drop: 3},
		{Head: "runs: before│new", Extra: true}, {Name: "verdict"}}}
	for i := range r.Measures {
		m := &r.Measures[i]
		before, after := "", ""
		if m.Before != nil {
			before = unit.FormatMeasure(*m.Before, m.Unit)
		}
		if m.RunsAfter > 0 {
			after = unit.FormatMeasure(m.After, m.Unit)
		}
		change, interval := changeWords(m)
		row := append([]page.Text{page.Named(checkName(m.Name))}, page.Row(before, after, change, interval,
			limitWords(m), plotRuns(m, plotWidth))...)
		out.Rows = append(out.Rows, append(row, page.Join(page.Of(page.Icon, checkSigns[m.Verdict]),
			page.T(CheckVerdict(m.Verdict)))))
		out.Folded = append(out.Folded, m.Verdict == gate.Pass)
	}
	return out
}

// checkReasons says why of each row that did not simply pass, and shows its runs.
func checkReasons(r *gate.Result) (out []page.Block) {
	for i := range r.Measures {
		m := &r.Measures[i]
		if m.Verdict == gate.Pass && len(m.Warnings) == 0 {
			continue
		}
		text := page.Sayf("%s: %s", page.Of(page.Word, checkName(m.Name)), RowWords(m))
		for _, x := range m.Warnings {
			text = page.Sayf("%s. %s", text, page.Sentence(page.T(x)))
		}
		out = append(out, page.Prose{Lead: "● ", LeadStyle: checkStyles[m.Verdict], Text: text})
		if m.Verdict != gate.Pass {
			out = append(out, page.Figure{Alt: "runs", Drawing: runsDrawing{m}, Elsewhere: true})
		}
	}
	return out
}

// A runsDrawing is the runs of a measure as heights, in a line.
type runsDrawing struct{ m *gate.Row }

func (d runsDrawing) Lines(l page.Layout) []string {
	if drawn := plotRuns(d.m, min(plotWidth, (l.Columns()-8)/2)); drawn != "" && !l.ASCII {
		return []string{"  runs " + drawn}
	}
	return nil
}

func (runsDrawing) SVG() string { return "" }
