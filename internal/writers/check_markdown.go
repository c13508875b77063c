package writers

import (
	"io"

	"lacuna/internal/gate"
	"lacuna/internal/unit"
)

// verdictSigns are what GitHub and GitLab show.
var verdictSigns = map[gate.Verdict]string{gate.Pass: "✅", gate.Improvement: "✅", gate.Regression: "❌", gate.Inconclusive: "❔", gate.NotComparable: "⚠️"}

// CheckMarkdown writes a check for a pull request: the verdict, what did not pass, and the rest folded away.
func CheckMarkdown(w io.Writer, r *gate.Result) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	m.line("### " + verdictSigns[r.Verdict] + " " + m.text(headWords(r)))
	for _, why := range r.WhyNot {
		m.line("")
		m.line("> **Not comparable:** " + m.text(why))
	}
	heads := []string{"measure", "before", "new", "change %", "95 % interval", "limit", "runs: before│new", "verdict"}
	var bad, good [][]string
	for i := range r.Measures {
		x := &r.Measures[i]
		if cells := m.checkCells(x); x.Verdict == gate.Pass {
			good = append(good, cells)
		} else {
			bad = append(bad, cells)
		}
	}
	if len(bad) > 0 {
		m.line("")
		m.table(heads, "lrrrrlll", bad)
	}
	m.line("")
	for i := range r.Measures {
		x := &r.Measures[i]
		if x.Verdict != gate.Pass {
			m.line("- " + m.code(x.Name) + ": " + m.text(rowWords(x)))
		}
	}
	m.fold("What passed", heads, "lrrrrlll", good)
	for _, x := range remarks(r) {
		m.line("")
		m.line("> " + m.text(x))
	}
	sides := "new: " + checkSide(r.After, "")
	if len(r.Before.Runs) > 0 {
		sides = "before: " + checkSide(r.Before, r.Baseline) + "; " + sides
	}
	m.line("")
	m.line("<sub>" + m.text(sides) + "</sub>")
	return m.err
}

func (m *markdown) checkCells(x *gate.Row) []string {
	before, after := "", ""
	if x.Before != nil {
		before = unit.FormatMeasure(*x.Before, x.Unit)
	}
	if x.RunsAfter > 0 {
		after = unit.FormatMeasure(x.After, x.Unit)
	}
	change, interval := changeWords(x)
	return []string{m.code(x.Name), m.text(before), m.text(after), change, interval, m.text(limitWords(x)), plot(x, plotWidth), verdictSigns[x.Verdict] + " " + verdictWords(x.Verdict)}
}
