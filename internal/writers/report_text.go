package writers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// ReportText prints a report for people: the answer first, then what it rests on, then what to do next.
func ReportText(w io.Writer, r *report.Report, next []Advice, page Page, d Detail) error {
	p := &printer{Page: page, w: w}
	p.inputs(r.Inputs)
	p.line("")
	for _, l := range p.wrap(headline(r, p.name), p.width()) {
		p.line(p.paint(bold, l))
	}
	if words := profilerWords(r); words != "" {
		p.prose("", 0, p.clean(words))
	}
	if r.Steps.Note != "" {
		p.prose("", 0, sentence(p.clean(r.Steps.Note)))
	}
	if r.Budget.StepMs() > 0 {
		p.budget(r)
		p.stepSeries(r.Steps)
	}
	p.findings(r, d)
	p.joinedKernels(r, d)
	p.perDevice(r)
	p.startup(r.Steps)
	p.topKernels(r)
	p.topOps(r)
	p.topCopies(r)
	p.topSyncs(r)
	p.gaps(r)
	p.trust(r, d)
	p.next(next)
	return p.err
}

// name makes a name safe and short enough to stand in a sentence.
func (p *printer) name(s string) string { return p.fit(p.clean(s), max(24, p.width()/2)) }

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// maxInputs is how many files of a job are named.
const maxInputs = 4

func (p *printer) inputs(inputs []report.Input) {
	for i, in := range inputs {
		if i == maxInputs && len(inputs) > maxInputs+1 {
			p.line(fmt.Sprintf("and %d more %s", len(inputs)-maxInputs, map[bool]string{false: "files", true: "ranks"}[oneFile(inputs)]))
			return
		}
		var about []string
		for _, s := range []string{in.Producer, gpuNames(in.GPUs), in.Host} {
			if s != "" {
				about = append(about, p.clean(s))
			}
		}
		if in.Rank != nil && len(inputs) > 1 {
			about = append(about, fmt.Sprintf("rank %d", *in.Rank))
		}
		if i == 0 || in.Path != inputs[i-1].Path || in.Rank == nil {
			p.prose("", 2, p.fit(p.clean(in.Path), p.width()))
		}
		if len(about) > 0 {
			p.prose("  ", 2, strings.Join(about, ", "))
		}
	}
}

// oneFile says whether several inputs are the ranks that one file holds.
func oneFile(inputs []report.Input) bool {
	return len(inputs) > 1 && !slices.ContainsFunc(inputs, func(x report.Input) bool { return x.Rank == nil || x.Path != inputs[0].Path })
}

// inputWord is what one of the inputs is called.
func inputWord(inputs []report.Input) string {
	if oneFile(inputs) {
		return "rank"
	}
	return "input"
}

// gpuNames counts GPUs of the same name: "2 x NVIDIA H200".
func gpuNames(gpus []report.GPU) string {
	var names []string
	counts := make(map[string]int)
	for _, g := range gpus {
		if counts[g.Name] == 0 {
			names = append(names, g.Name)
		}
		counts[g.Name]++
	}
	for i, n := range names {
		if n == "" {
			n = "unnamed GPU"
		}
		if c := counts[names[i]]; c > 1 {
			n = fmt.Sprintf("%d x %s", c, n)
		}
		names[i] = n
	}
	return strings.Join(names, ", ")
}

// maxBar is the widest bar: beyond it eyes compare worse, not better.
const maxBar = 120

// A budgetRow is a line under the bar.
type budgetRow struct {
	mark, style string
	name        string
	ms          float64
}

// budget draws the bar and what its parts take; under idle, what the host did meanwhile.
func (p *printer) budget(r *report.Report) {
	b, step := r.Budget, r.Budget.StepMs()
	if len(r.PerDevice) == 0 {
		return // no GPU: nothing waits
	}
	p.line("")
	p.line("  " + p.bar(b, min(p.width()-4, maxBar)))
	p.line("")
	var rows []budgetRow
	for _, x := range parts(b) {
		rows = append(rows, budgetRow{p.mark(x), x.style, x.name, x.ms})
	}
	if causes := p.causes(b); len(causes) > 0 {
		rows[len(rows)-1].name = "idle, while the host ..."
		rows = append(rows, causes...)
	}
	rows = append(rows, budgetRow{" ", "", whole(r), step})
	p.budgetRows(rows, step)
	for _, x := range []struct {
		ms   float64
		what string
	}{{b.CommOverlapped, "communication"}, {b.CopyOverlapped, "copies"}} {
		if x.ms/step >= 0.001 {
			p.prose("    ", 4, fmt.Sprintf("another %s ms of %s lie hidden behind other work", unit.Fixed(x.ms, unit.MsDigits(step)), x.what))
		}
	}
	for i, x := range becauseRows(b) {
		if i == 0 {
			p.line("")
		}
		p.prose("  ", 4, becauseWords(x, p.name))
	}
}

// whole is what a budget divides.
func whole(r *report.Report) string {
	if r.Steps.Source == "none" {
		return "the capture"
	}
	return "one step"
}

func (p *printer) budgetRows(rows []budgetRow, step float64) {
	digits := unit.MsDigits(step)
	width, label := len(unit.Fixed(step, digits)), 0
	for _, r := range rows {
		label = max(label, shown(r.name))
	}
	const marks, figures = 4, 2 + 3 + 2 + 5 + 2
	label = min(label, p.width()-marks-figures-width)
	for _, r := range rows {
		p.line(fmt.Sprintf("  %s %s  %*s ms  %5s %%", p.paint(r.style, r.mark), pad(p.fit(r.name, label), label, false), width, unit.Fixed(r.ms, digits), unit.Percent(r.ms/step)))
	}
}

// maxCauses is how many causes of idle time are printed one by one.
const maxCauses = 6

// causes is the parts of idle; small ones are one row.
func (p *printer) causes(b report.Budget) (rows []budgetRow) {
	rest, n, last := 0.0, 0, ""
	for i, c := range causesOf(b, p.name) {
		switch {
		case c.ms <= 0:
		case i >= maxCauses || c.ms/b.StepMs() < 0.0005:
			rest, last = rest+c.ms, c.words
			n++
		default:
			rows = append(rows, budgetRow{" ", "", "  " + c.words, c.ms})
		}
	}
	if n > 1 {
		last = fmt.Sprintf("does one of %d other things", n)
	}
	if n > 0 {
		rows = append(rows, budgetRow{" ", "", "  " + last, rest})
	}
	return rows
}

// stepSeries shows each step's length, where there are enough of them to see a pattern.
func (p *printer) stepSeries(s report.Steps) {
	if p.ASCII || len(s.EachMs) < 3 {
		return
	}
	low, high := s.EachMs[0], s.EachMs[0]
	for _, v := range s.EachMs {
		low, high = min(low, v), max(high, v)
	}
	digits := unit.MsDigits(high)
	text := fmt.Sprintf("%s steps, %s to %s ms", unit.FormatCount(int64(len(s.EachMs))), unit.Fixed(low, digits), unit.Fixed(high, digits))
	p.line("")
	p.line("  " + spark(s.EachMs, p.width()-6-len(text)) + "  " + text)
}

func (p *printer) perDevice(r *report.Report) {
	if len(r.PerDevice) < 2 {
		return
	}
	p.heading("Each GPU, ms per step")
	digits := unit.MsDigits(r.Budget.StepMs())
	var rows [][]string
	ranks := false
	for _, d := range r.PerDevice {
		rank := "-"
		if d.Rank != nil {
			rank, ranks = fmt.Sprint(*d.Rank), true
		}
		b := d.Budget
		rows = append(rows, []string{fmt.Sprintf("%d %s", d.Device, p.clean(d.Name)), rank, unit.Fixed(b.Compute, digits), unit.Fixed(b.CommExposed, digits),
			unit.Fixed(b.Copy, digits), unit.Fixed(b.Idle, digits), unit.Fixed(b.StepMs(), digits)})
	}
	columns := []gridColumn{{head: "GPU", flex: true}, {head: "rank", right: true}, {head: "compute", right: true}, {head: "comm", right: true},
		{head: "copy", right: true, drop: 1}, {head: "idle", right: true}, {head: "step", right: true, drop: 2}}
	if !ranks {
		columns[1] = gridColumn{drop: 99}
		columns = append(columns[:1], columns[2:]...)
		for i := range rows {
			rows[i] = append(rows[i][:1], rows[i][2:]...)
		}
	}
	p.grid(columns, rows)
}

func (p *printer) startup(s report.Steps) {
	if len(s.Startup) == 0 {
		return
	}
	p.heading("Start-up, left out of all figures")
	var rows [][]string
	for _, x := range s.Startup {
		rows = append(rows, []string{fmt.Sprint(x.Index), unit.Fixed(x.Ms, unit.MsDigits(x.Ms)), p.clean(x.Why)})
	}
	p.grid([]gridColumn{{head: "step", right: true}, {head: "ms", right: true}, {head: "why", flex: true}}, rows)
}
