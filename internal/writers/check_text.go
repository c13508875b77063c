package writers

import (
	"io"

	"lacuna/internal/gate"
	"lacuna/internal/unit"
)

// CheckJSON writes a check by the JSON contract.
func CheckJSON(w io.Writer, r *gate.Result) error { return JSON(w, r) }

// verdictStyles is how verdicts are painted.
var verdictStyles = map[gate.Verdict]string{gate.Regression: red, gate.Pass: green, gate.Improvement: green, gate.Inconclusive: magenta, gate.NotComparable: magenta}

// CheckText prints a check: the verdict, a row for each measure, and of those that did not pass the rule and how to judge otherwise.
func CheckText(w io.Writer, r *gate.Result, page Page) error {
	p := &printer{Page: page, w: w}
	p.line(p.paint(verdictStyles[r.Verdict], p.fit(p.clean(headWords(r)), p.width())))
	if len(r.Before.Runs) > 0 {
		p.prose("  before  ", 10, p.clean(checkSide(r.Before, r.Baseline)))
	}
	p.prose("  new     ", 10, p.clean(checkSide(r.After, "")))
	for _, why := range r.WhyNot {
		p.prose("  - ", 4, "not comparable: "+p.clean(why))
	}
	p.line("")
	p.checkRows(r)
	p.checkReasons(r)
	if len(remarks(r)) > 0 {
		p.line("")
	}
	for _, x := range remarks(r) {
		p.prose("- ", 2, p.clean(sentence(x)))
	}
	if len(r.Measures) > 0 {
		p.line("")
		p.prose("", 0, p.clean("Limits are set by a flag ("+r.Measures[0].Override+") or in lacuna.yaml; --calibrate learns them from unchanged runs."))
	}
	return p.err
}

func (p *printer) checkRows(r *gate.Result) {
	var rows [][]string
	for i := range r.Measures {
		m := &r.Measures[i]
		before := ""
		if m.Before != nil {
			before = unit.FormatMeasure(*m.Before, m.Unit)
		}
		after := ""
		if m.RunsAfter > 0 {
			after = unit.FormatMeasure(m.After, m.Unit)
		}
		change, interval := changeWords(m)
		rows = append(rows, []string{p.clean(measureName(m.Name)), before, after, change, interval, p.clean(limitWords(m)), verdictWords(m.Verdict)})
	}
	p.grid([]gridColumn{{head: "", flex: true}, {head: "before", right: true, drop: 1}, {head: "new", right: true}, {head: "change %", right: true},
		{head: "95 % interval", right: true, drop: 2}, {head: "limit", drop: 3}, {head: ""}}, rows)
}

// checkReasons says why of each row that did not simply pass, and shows its runs.
func (p *printer) checkReasons(r *gate.Result) {
	begun := false
	for i := range r.Measures {
		m := &r.Measures[i]
		if m.Verdict == gate.Pass && len(m.Warnings) == 0 {
			continue
		}
		if !begun {
			p.line("")
			begun = true
		}
		text := p.clean(measureName(m.Name)) + ": " + p.clean(rowWords(m))
		for _, x := range m.Warnings {
			text += ". " + p.clean(sentence(x))
		}
		p.prose(p.paint(verdictStyles[m.Verdict], p.pick("●", "*"))+" ", 2, text)
		if drawn := plot(m, min(plotWidth, (p.width()-8)/2)); drawn != "" && !p.ASCII && m.Verdict != gate.Pass {
			p.line("  runs " + drawn)
		}
	}
}
