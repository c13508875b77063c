package writers

import (
	"fmt"

	"lacuna/internal/report"
)

func (p *printer) topKernels(r *report.Report) {
	if len(r.TopKernels) == 0 {
		return
	}
	p.line("")
	digits := msDigits(r.Budget.StepMs())
	var rows [][]string
	for _, k := range r.TopKernels {
		name := p.clean(kernelName(k.Name))
		if k.Kind == "comm" {
			name = "[comm] " + name
		}
		rows = append(rows, []string{name, fixed(k.MsPerStep, digits), percent(k.ShareOfStep), perStep(k.CallsPerStep), fixed(k.MeanUs, 1)})
	}
	p.grid([]gridColumn{{head: "Kernels that take most", flex: true}, {head: "ms/step", right: true}, {head: "% of step", right: true},
		{head: "calls/step", right: true, drop: 1}, {head: p.pick("mean µs", "mean us"), right: true, drop: 2}}, rows)
}

func (p *printer) topOps(r *report.Report) {
	if len(r.TopOps) == 0 {
		return
	}
	p.line("")
	digits := msDigits(r.Budget.StepMs())
	var rows [][]string
	for _, o := range r.TopOps {
		rows = append(rows, []string{p.clean(o.Name), fixed(o.MsPerStep, digits), percent(o.ShareOfStep), perStep(o.CallsPerStep), fixed(o.HostMs, digits)})
	}
	p.grid([]gridColumn{{head: "Operators, by GPU work that they launch", flex: true}, {head: "ms/step", right: true}, {head: "% of step", right: true},
		{head: "calls/step", right: true, drop: 1}, {head: "host ms", right: true, drop: 2}}, rows)
}

func (p *printer) topCopies(r *report.Report) {
	if len(r.TopCopies) == 0 {
		return
	}
	p.line("")
	digits := msDigits(r.Budget.StepMs())
	var rows [][]string
	for _, c := range r.TopCopies {
		rows = append(rows, []string{p.clean(c.Name), fixed(c.MsPerStep, digits), fixed(c.MBPerStep, msDigits(c.MBPerStep)), fixed(c.GBs, 2), perStep(c.CallsPerStep)})
	}
	p.grid([]gridColumn{{head: "Copies", flex: true}, {head: "ms/step", right: true}, {head: "MB/step", right: true},
		{head: "GB/s", right: true, drop: 2}, {head: "calls/step", right: true, drop: 1}}, rows)
}

func (p *printer) topSyncs(r *report.Report) {
	if len(r.TopSyncs) == 0 {
		return
	}
	p.line("")
	digits := msDigits(r.Budget.StepMs())
	var rows [][]string
	for _, s := range r.TopSyncs {
		name := p.clean(s.Name)
		if s.Where != "" {
			name += " in " + p.clean(s.Where)
		}
		rows = append(rows, []string{name, fixed(s.MsPerStep, digits), perStep(s.CallsPerStep)})
	}
	p.grid([]gridColumn{{head: "Where the host waits for the GPU", flex: true}, {head: "ms/step", right: true}, {head: "calls/step", right: true, drop: 1}}, rows)
}

// gaps tells each of the longest gaps in words.
func (p *printer) gaps(r *report.Report) {
	if len(r.Gaps) == 0 {
		return
	}
	p.heading("Longest gaps, in which the GPU does nothing")
	for _, g := range r.Gaps {
		device := ""
		if len(r.PerDevice) > 1 {
			device = fmt.Sprintf(" on GPU %d", g.Device)
		}
		text := fmt.Sprintf("%s ms at %s ms%s: the host %s", fixed(g.DurMs, msDigits(g.DurMs)), fixed(g.StartMs, 1), device, causeWords(g.Cause, p.name))
		if g.Range != "" && g.Cause != "range:"+g.Range && g.Cause != "op:"+g.Range {
			text += " (in " + p.name(g.Range) + ")"
		}
		if g.Call != "" {
			text += "; longest call " + p.name(g.Call)
		}
		p.prose("  ", 4, text)
		p.prose("    ", 4, between(g, p.shortName))
	}
}

// between says what ran before and after a gap.
func between(g report.Gap, show shower) string {
	switch {
	case g.Before != "" && g.After != "":
		return "after " + show(g.Before) + ", until " + show(g.After)
	case g.After != "":
		return "from the start, until " + show(g.After)
	case g.Before != "":
		return "after " + show(g.Before) + ", to the end"
	}
	return ""
}

// shortName is a name of which two fit into a line.
func (p *printer) shortName(s string) string {
	return p.fit(p.clean(kernelName(s)), max(16, (p.width()-20)/2))
}
