package writers

import (
	"fmt"
	"io"
	"math"
	"strings"

	"lacuna/internal/compare"
	"lacuna/internal/unit"
)

// DiffJSON writes a comparison by the JSON contract.
func DiffJSON(w io.Writer, d *compare.Difference) error { return writeJSON(w, d) }

// DiffText prints a comparison: the verdict on the step first, then what explains it, then rows.
func DiffText(w io.Writer, d *compare.Difference, page Page) error {
	p := &printer{Page: page, w: w}
	p.prose("", 0, "before  "+p.clean(sideWords(d.Before)))
	p.prose("", 0, "after   "+p.clean(sideWords(d.After)))
	if !d.Comparable {
		p.line("")
		p.prose("", 0, p.paint(bold, "NOT COMPARABLE: ")+p.clean(strings.Join(d.WhyNot, "; ")))
	}
	if d.Step != nil {
		p.line("")
		for _, l := range p.wrap(p.clean(stepWords(d)), p.width()) {
			p.line(p.paint(bold, l))
		}
	}
	p.diffPrediction(d)
	p.diffExplained(d)
	p.diffFindings(d)
	p.diffMeasures(d)
	p.diffKernels(d)
	p.diffOperators(d)
	if len(d.Warnings) > 0 {
		p.heading("What to know of these verdicts")
		for _, x := range d.Warnings {
			p.prose("  - ", 4, p.clean(x))
		}
	}
	return p.err
}

// sideWords is the runs of a side in a line.
func sideWords(s compare.Side) string {
	text := strings.Join(s.Runs[:min(2, len(s.Runs))], ", ")
	if more := len(s.Runs) - 2; more > 0 {
		text += fmt.Sprintf(" and %d more runs", more)
	}
	if s.GPU != "" {
		text += ", " + s.GPU
	}
	if s.Steps > 0 {
		text += fmt.Sprintf(", %d steps", s.Steps)
	}
	return text
}

// stepWords is the verdict on the step in a sentence or two.
func stepWords(d *compare.Difference) string {
	s := d.Step
	text := fmt.Sprintf("A step takes %s ms, before %s", about(s.After), about(s.Before))
	if s.ChangePct != nil {
		text += ": " + signed(*s.ChangePct) + " %" + percentRange(s)
	}
	switch s.Verdict {
	case "faster", "slower":
		text += ". It is " + s.Verdict + "."
	case "same":
		text += fmt.Sprintf(". No change of %s %% or more.", short(s.LimitPct))
	default:
		text += ". Undecided" + neededWords(s.RunsNeeded) + "."
	}
	if u := d.Unprofiled; u != nil && len(d.Before.Tools)+len(d.After.Tools) > 1 && strings.Join(d.Before.Tools, " ") != strings.Join(d.After.Tools, " ") {
		text += fmt.Sprintf(" The two were watched by different profilers (%s, %s), so that the verdict is on the step without them: about %s ms, before about %s (%s to %s %%).",
			strings.Join(d.Before.Tools, " "), strings.Join(d.After.Tools, " "), about(u.After), about(u.Before), signed(*u.LowPct), signed(*u.HighPct))
	}
	return text
}

func neededWords(runs int) string {
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("; about %d runs a side would tell", runs)
}

// percentRange is the interval of a change in parentheses, "" if it is not known.
func percentRange(c *compare.Change) string {
	if c.LowPct == nil || c.HighPct == nil || math.Abs(*c.LowPct) > 1e4 || math.Abs(*c.HighPct) > 1e4 {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", signed(*c.LowPct), signed(*c.HighPct))
}

// signed is a percentage with its sign, as exact as it is large.
func signed(pct float64) string {
	text := short(math.Abs(pct))
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case pct < 0:
		return "-" + text
	}
	return "+" + text
}

func short(x float64) string {
	switch a := math.Abs(x); {
	case a >= 9.95:
		return fixed(x, 0)
	case a >= 0.995 || a == 0:
		return fixed(x, 1)
	}
	return fixed(x, 2)
}

// signedMs is a change in ms.
func signedMs(ms float64) string {
	text := about(math.Abs(ms))
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case ms < 0:
		return "-" + text
	}
	return "+" + text
}

func (p *printer) diffPrediction(d *compare.Difference) {
	x := d.Predicted
	if x == nil {
		return
	}
	p.line("")
	in := "inside"
	if !x.InRange {
		in = "outside"
	}
	p.prose("", 0, p.clean(fmt.Sprintf("Predicted of %s: %s %% of the step before (%s to %s); achieved: %s %%, %s the range (the prediction is %s %% off).",
		strings.Join(x.Changes, ", "), short(100*x.Ratio), short(100*x.Low), short(100*x.High), short(100*x.Achieved), in, signed(x.ErrorPct))))
}

func (p *printer) diffExplained(d *compare.Difference) {
	if len(d.Explained) == 0 {
		return
	}
	sum := 0.0
	for _, x := range d.Explained {
		sum += x.Ms
	}
	p.heading(fmt.Sprintf("What explains %s ms of a mean step", signedMs(sum)))
	width := 0
	for _, x := range d.Explained {
		width = max(width, len(signedMs(x.Ms)))
	}
	for _, x := range d.Explained {
		p.prose("  "+pad(signedMs(x.Ms), width, true)+" ms  ", width+7, p.clean(x.What))
	}
}

func (p *printer) diffFindings(d *compare.Difference) {
	f := d.Findings
	if len(f.Gone)+len(f.New)+len(f.Stayed) == 0 {
		return
	}
	p.heading("Findings")
	tell := func(what string, list []compare.Finding) {
		for _, x := range list {
			text := x.Rule + ": " + x.Title
			switch {
			case x.BeforeMs != nil && x.AfterMs != nil && (*x.BeforeMs >= 0.0005 || *x.AfterMs >= 0.0005):
				text += fmt.Sprintf(" (worth %s ms, before %s)", about(*x.AfterMs), about(*x.BeforeMs))
			case x.AfterMs != nil && x.BeforeMs == nil && *x.AfterMs >= 0.0005:
				text += fmt.Sprintf(" (worth %s ms)", about(*x.AfterMs))
			case x.BeforeMs != nil && x.AfterMs == nil && *x.BeforeMs >= 0.0005:
				text += fmt.Sprintf(" (was worth %s ms)", about(*x.BeforeMs))
			}
			p.prose("  "+pad(what, 8, false), 10, p.clean(text))
		}
	}
	tell("gone", f.Gone)
	tell("new", f.New)
	tell("stayed", f.Stayed)
}

// diffMeasures prints what moved, and says how many did not.
func (p *printer) diffMeasures(d *compare.Difference) {
	var rows [][]string
	same, undecided := 0, 0
	for i := range d.Measures {
		c := &d.Measures[i]
		switch c.Verdict {
		case "same":
			same++
		case "undecided":
			undecided++
			if len(d.Explained) == 0 || len(d.Measures) <= 12 {
				rows = append(rows, p.changeCells(c))
			}
		default:
			rows = append(rows, p.changeCells(c))
		}
	}
	if len(d.Measures) == 0 {
		return
	}
	p.heading("What moved")
	if len(rows) > 0 {
		p.grid([]gridColumn{{head: "", flex: true}, {head: "before", right: true}, {head: "after", right: true}, {head: "change %", right: true}, {head: "95 % interval", right: true, drop: 1}, {head: ""}}, rows)
	}
	p.prose("  ", 2, fmt.Sprintf("%d measures are the same, of %d nothing can be told.", same, undecided))
}

// changeCells is a change as cells: name, before, after, change, interval, verdict.
func (p *printer) changeCells(c *compare.Change) []string {
	show := func(x float64) string {
		switch c.Unit {
		case "ms", "us":
			return about(x) + " " + c.Unit
		case "bytes":
			return unit.FormatBytes(int64(x))
		case "share":
			return short(100*x) + " %"
		case "%":
			return short(x) + " %"
		case "count":
			return short(x)
		}
		return strings.TrimSpace(about(x) + " " + p.clean(c.Unit))
	}
	change, bounds := "from none", ""
	if c.ChangePct != nil {
		change = signed(*c.ChangePct)
		bounds = strings.Trim(percentRange(c), " ()")
	}
	return []string{p.clean(c.Name), show(c.Before), show(c.After), change, bounds, p.verdict(c)}
}

func (p *printer) verdict(c *compare.Change) string {
	if c.Verdict == "undecided" && c.RunsNeeded > 0 {
		return fmt.Sprintf("undecided, %d runs", c.RunsNeeded)
	}
	return c.Verdict
}

func (p *printer) diffKernels(d *compare.Difference) {
	if len(d.Kernels) == 0 {
		return
	}
	p.heading("Kernels, most change first (ms of a step)")
	var rows [][]string
	for i := range d.Kernels {
		k := &d.Kernels[i]
		rows = append(rows, []string{p.clean(kernelPair(k)), about(k.Change.Before), about(k.Change.After), signedMs(k.ChangeMs), short(k.CallsBefore) + p.pick("→", "->") + short(k.CallsAfter), p.kernelVerdict(k)})
	}
	p.grid([]gridColumn{{head: "", flex: true}, {head: "before", right: true}, {head: "after", right: true}, {head: "change", right: true}, {head: "launches", right: true, drop: 1}, {head: ""}}, rows)
}

func (p *printer) kernelVerdict(k *compare.KernelChange) string {
	switch {
	case len(k.Before) == 0:
		return "new"
	case len(k.After) == 0:
		return "gone"
	case k.How != "name" && k.How != "renamed":
		return k.Verdict + ", " + k.How
	case k.How == "renamed":
		return k.Verdict + ", renamed"
	}
	return k.Verdict
}

// kernelPair is what a row of kernels is called.
func kernelPair(k *compare.KernelChange) string {
	side := func(names []string) string {
		text := ""
		if len(names) > 0 {
			text = kernelName(names[0])
		}
		if more := len(names) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	}
	b, a := side(k.Before), side(k.After)
	switch {
	case b == "":
		return a
	case a == "" || a == b:
		return b
	}
	return b + " -> " + a
}

func (p *printer) diffOperators(d *compare.Difference) {
	var rows [][]string
	for _, x := range d.Operators {
		if math.Abs(x.ChangeMs) >= 0.02*max(x.BeforeMs, x.AfterMs) {
			rows = append(rows, []string{p.clean(x.Path), about(x.BeforeMs), about(x.AfterMs), signedMs(x.ChangeMs), short(x.CallsBefore) + p.pick("→", "->") + short(x.CallsAfter)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading("Operators by call path, most change first (GPU ms of a step)")
	p.grid([]gridColumn{{head: "", flex: true}, {head: "before", right: true}, {head: "after", right: true}, {head: "change", right: true}, {head: "calls", right: true, drop: 1}}, rows)
}
