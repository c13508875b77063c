package writers

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lacuna/internal/compare"
	"lacuna/internal/facts"
	"lacuna/internal/kernelname"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/unit"
)

// DiffJSON writes a comparison by the JSON contract.
func DiffJSON(w io.Writer, d *compare.Difference) error { return JSON(w, d) }

// DiffText prints a comparison: the verdict on the step first, then what explains it, then rows, then what to run next.
func DiffText(w io.Writer, d *compare.Difference, next []Advice, page Page) error {
	p := &printer{Page: page, w: w}
	p.prose("before  ", 8, p.clean(sideWords(d.Before)))
	p.prose("after   ", 8, p.clean(sideWords(d.After)))
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
	p.diffSheets(d)
	p.diffMeasures(d)
	p.diffKernels(d)
	p.diffOperators(d)
	if len(d.Warnings) > 0 {
		p.heading("What to know of these verdicts")
		for _, x := range d.Warnings {
			p.prose("  - ", 4, p.clean(x))
		}
	}
	p.next(next)
	return p.err
}

// sideWords is the runs of a side in a line.
func sideWords(s compare.Side) string {
	text := strings.Join(s.Runs[:min(2, len(s.Runs))], ", ")
	if more := len(s.Runs) - 2; more > 0 {
		text = fmt.Sprintf("%d runs: %s and %d more", len(s.Runs), text, more)
	}
	if s.GPU != "" {
		text += "; " + s.GPU
	}
	if s.Steps > 0 {
		text += "; " + unit.Plural(s.Steps, "step")
	}
	return text
}

// stepWords is the verdict on the step in a sentence or two.
func stepWords(d *compare.Difference) string {
	s := d.Step
	text := fmt.Sprintf("The median step takes %s ms, before %s ms", unit.About(s.After), unit.About(s.Before))
	if s.ChangePct != nil {
		text += ": " + unit.Signed(*s.ChangePct) + " %" + percentRange(s)
	}
	switch s.Verdict {
	case compare.Faster, compare.Slower:
		text += ". It is " + string(s.Verdict)
		if !d.Comparable {
			text += "; what else differs may be why"
		}
		text += "."
	case compare.Same:
		text += fmt.Sprintf(". That is no change of %s %% or more.", unit.Tally(s.LimitPct))
	default:
		text += fmt.Sprintf(". Whether it changed by %s %% or more is undecided%s.", unit.Tally(s.LimitPct), neededWords(s.RunsNeeded))
	}
	if u := d.Unprofiled; u != nil && !slices.Equal(d.Before.Tools, d.After.Tools) {
		text += fmt.Sprintf(" The two were watched by different profilers (%s, %s), so that the verdict is on the step without them: about %s ms, before about %s ms (%s to %s %%).",
			toolWords(d.Before.Tools), toolWords(d.After.Tools), unit.About(u.After), unit.About(u.Before), unit.Signed(*u.LowPct), unit.Signed(*u.HighPct))
	}
	return text
}

func neededWords(runs int) string {
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("; about %d runs a side would tell", runs)
}

// toolWords is what watched the runs of a side.
func toolWords(tools []string) string {
	out := make([]string, len(tools))
	for i, t := range tools {
		out[i] = cmp.Or(t, "none")
		if f := reader.Named(readers.All, t); f != nil {
			out[i] = cmp.Or(f.Maker, t)
		}
	}
	return strings.Join(out, " and ")
}

// percentRange is the interval of a change in parentheses, "" if it is not known.
func percentRange(c *compare.Change) string {
	if c.LowPct == nil || c.HighPct == nil || math.Abs(*c.LowPct) > 1e4 || math.Abs(*c.HighPct) > 1e4 {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", unit.Signed(*c.LowPct), unit.Signed(*c.HighPct))
}

// worthMs is what a repair is worth.
func worthMs(ms float64) string {
	if ms < 0.0005 {
		return "0"
	}
	return unit.About(ms)
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
	off := "long"
	if x.ErrorPct < 0 {
		off = "short"
	}
	p.prose("", 0, p.clean(fmt.Sprintf("Predicted of %s: %s %% of the step before (%s to %s); achieved: %s %%, %s the range (the prediction is %s %% too %s).",
		strings.Join(x.Changes, ", "), unit.Short(100*x.Ratio), unit.Short(100*x.Low), unit.Short(100*x.High), unit.Short(100*x.Achieved), in, unit.Short(math.Abs(x.ErrorPct)), off)))
}

func (p *printer) diffExplained(d *compare.Difference) {
	if len(d.Explained) == 0 {
		return
	}
	sum := 0.0
	for _, x := range d.Explained {
		sum += x.Ms
	}
	if v := d.Step.Verdict; v == compare.Faster || v == compare.Slower {
		p.heading(fmt.Sprintf("What explains %s ms of a mean step", unit.SignedMs(sum)))
	} else {
		p.heading(fmt.Sprintf("Where %s ms of a mean step differ, real or not", unit.SignedMs(sum)))
	}
	if len(d.Before.Runs)+len(d.After.Runs) > 2 {
		p.prose("  ", 2, "Of the first run of each side:")
	}
	width := 0
	for _, x := range d.Explained {
		width = max(width, len(unit.SignedMs(x.Ms)))
	}
	for _, x := range d.Explained {
		p.prose("  "+pad(unit.SignedMs(x.Ms), width, true)+" ms  ", width+7, p.clean(x.What))
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
				text += fmt.Sprintf(" (worth %s ms, before %s)", worthMs(*x.AfterMs), worthMs(*x.BeforeMs))
			case x.AfterMs != nil && x.BeforeMs == nil && *x.AfterMs >= 0.0005:
				text += fmt.Sprintf(" (worth %s ms)", unit.About(*x.AfterMs))
			case x.BeforeMs != nil && x.AfterMs == nil && *x.BeforeMs >= 0.0005:
				text += fmt.Sprintf(" (was worth %s ms)", unit.About(*x.BeforeMs))
			}
			p.prose("  "+pad(what, 8, false), 10, p.clean(text))
		}
	}
	tell("gone", f.Gone)
	tell("new", f.New)
	tell("stayed", f.Stayed)
}

// maxUndecided is how many measures of which nothing can be told are listed where others moved.
const maxUndecided = 8

// diffMeasures prints what moved and what is undecided, and says how many are neither.
func (p *printer) diffMeasures(d *compare.Difference) {
	if len(d.Measures) == 0 {
		return
	}
	var rows [][]string
	same, undecided := 0, 0
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
		cells := p.changeCells(c)
		runs := ""
		if c.RunsNeeded > 0 {
			runs = unit.Tally(float64(c.RunsNeeded))
		}
		rows = append(rows, append(cells[:5], string(c.Verdict), runs))
	}
	p.heading("Measures, those that moved first")
	columns := []gridColumn{{head: "measure", flex: true}, {head: "before", right: true, drop: 2}, {head: "after", right: true, drop: 1}, {head: "change", right: true},
		{head: "95 % interval", right: true, drop: 3}, {head: "verdict"}, {head: "runs to tell", right: true, drop: 4}}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[6] != "" }) {
		columns = columns[:6]
	}
	if len(rows) > 0 {
		p.grid(columns, rows)
	}
	var rest []string
	if more := undecided - maxUndecided; more > 0 {
		rest = append(rest, fmt.Sprintf("%d more are undecided.", more))
	}
	if same > 0 {
		rest = append(rest, unit.Counted(same, "measure is", "measures are")+" the same.")
	}
	p.prose("  ", 2, strings.Join(rest, " "))
}

// changeCells is a change as cells: name, before, after, change, interval, verdict. A share changes by points.
func (p *printer) changeCells(c *compare.Change) []string {
	change, bounds := "from none", ""
	points := 0.0 // of one per cent of before
	switch c.Unit {
	case "share":
		points = c.Before
	case "%":
		points = c.Before / 100
	}
	switch {
	case points > 0 && c.ChangePct != nil:
		change = unit.Signed(points**c.ChangePct) + " points"
		if c.LowPct != nil && c.HighPct != nil && math.Abs(*c.HighPct) < 1e6 {
			high := points * *c.HighPct
			if c.Unit == "share" {
				high = min(high, 100*(1-c.Before)) // a share has all there is at most
			}
			bounds = unit.Signed(points**c.LowPct) + " to " + unit.Signed(high)
		}
	case c.ChangePct != nil:
		change = unit.Signed(*c.ChangePct) + " %"
		bounds = strings.Trim(percentRange(c), " ()")
	case c.After == 0:
		change = "0"
	}
	return []string{p.clean(measureWords(c.Name)), unit.FormatMeasure(c.Before, c.Unit), unit.FormatMeasure(c.After, c.Unit), change, bounds, p.verdict(c)}
}

// measureWords is a measure as people read it: of a kernel report, the kernel and the metric.
func measureWords(name string) string {
	rest, ok := strings.CutPrefix(name, "kernel:")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at <= 0 || rest[at-1] == ':' {
		return name
	}
	kernel, metric := rest[:at], rest[at+1:]
	if _, after, renamed := strings.Cut(kernel, " -> "); renamed {
		kernel = after // as it is called now
	}
	return kernelname.Base(kernel) + ": " + cmp.Or(metricWords[metric], metric)
}

// metricWords is the metrics of a kernel whose names are no words.
var metricWords = map[string]string{"dram_bytes": "DRAM bytes", "occupancy_theoretical": "theoretical occupancy", "occupancy": "achieved occupancy",
	"sm": "compute, of peak", "memory": "memory, of peak"}

func (p *printer) verdict(c *compare.Change) string {
	if c.Verdict == compare.Undecided && c.RunsNeeded > 0 {
		return fmt.Sprintf("undecided, %d runs", c.RunsNeeded)
	}
	return string(c.Verdict)
}

// worthRow is the least change of a row, as a share of the mean step, of which people are told: what explains the step
// has no smaller parts either.
const worthRow = 1e-3

// counts says whether a row is told to people: JSON and CSV have all.
func counts(d *compare.Difference, changeMs float64) bool {
	return math.Abs(changeMs) >= worthRow*max(d.MeanMs[0], d.MeanMs[1])
}

func (p *printer) diffKernels(d *compare.Difference) {
	var rows [][]string
	for i := range d.Kernels {
		if k := &d.Kernels[i]; counts(d, k.ChangeMs) {
			verdict, how := kernelVerdict(k)
			rows = append(rows, []string{p.clean(kernelPair(k)), unit.SomeMs(k.Change.Before), unit.SomeMs(k.Change.After), unit.SignedMs(k.ChangeMs), p.pair(k.CallsBefore, k.CallsAfter), verdict, how})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading("Kernels, most change first (ms of a step)")
	p.grid([]gridColumn{{head: "kernel", flex: true}, {head: "before", right: true, drop: 2}, {head: "after", right: true, drop: 1}, {head: "change", right: true}, {head: "launches", right: true, drop: 3}, {head: "verdict"}, {head: "matched by", drop: 4}}, rows)
}

// pair is two counts, or one where they are the same.
func (p *printer) pair(before, after float64) string {
	b, a := unit.Tally(before), unit.Tally(after)
	if b == a {
		return a
	}
	return b + p.pick("→", "->") + a
}

// kernelVerdict is the verdict on a row of kernels, and what makes both sides the same work where that is not the name.
func kernelVerdict(k *compare.KernelChange) (verdict, how string) {
	switch {
	case len(k.Before) == 0:
		return "new", ""
	case len(k.After) == 0:
		return "gone", ""
	case k.How == "name":
		return string(k.Verdict), ""
	case k.How == "renamed":
		return string(k.Verdict), "like name"
	}
	return string(k.Verdict), k.How
}

// kernelPair is what a row of kernels is called.
func kernelPair(k *compare.KernelChange) string {
	side := func(names []string) string {
		text := ""
		if len(names) > 0 {
			text = kernelname.Short(names[0])
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
		if counts(d, x.ChangeMs) && math.Abs(x.ChangeMs) >= 0.02*max(x.BeforeMs, x.AfterMs) {
			rows = append(rows, []string{p.clean(callPathWords(x.Path)), unit.SomeMs(x.BeforeMs), unit.SomeMs(x.AfterMs), unit.SignedMs(x.ChangeMs), p.pair(x.CallsBefore, x.CallsAfter)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading("Operators by call path, most change first (GPU ms of a step)")
	p.grid([]gridColumn{{head: "operator", flex: true}, {head: "before", right: true, drop: 2}, {head: "after", right: true, drop: 1}, {head: "change", right: true}, {head: "calls", right: true, drop: 3}}, rows)
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
