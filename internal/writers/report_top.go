package writers

import (
	"fmt"

	"lacuna/internal/facts"
	"lacuna/internal/kernelname"
	"lacuna/internal/report"
	"lacuna/internal/unit"
)

func (p *printer) topKernels(r *report.Report) {
	if len(r.TopKernels) == 0 {
		return
	}
	p.line("")
	digits := unit.TableDigits(r.Budget.StepMs(), r.TopKernels[0].MsPerStep)
	var rows [][]string
	for _, k := range r.TopKernels {
		name := p.clean(kernelname.Short(k.Name))
		if k.Kind == "comm" {
			name = "[comm] " + name
		}
		rows = append(rows, []string{name, unit.Fixed(k.MsPerStep, digits), unit.Percent(k.ShareOfStep), unit.PerStep(k.CallsPerStep), unit.Fixed(k.MeanUs, 1)})
	}
	p.grid([]gridColumn{{head: "Kernels that take most", flex: true}, {head: "ms/step", right: true}, {head: "% of step", right: true},
		{head: "calls/step", right: true, drop: 1}, {head: p.pick("mean µs", "mean us"), right: true, drop: 2}}, rows)
}

func (p *printer) topOps(r *report.Report) {
	if len(r.TopOps) == 0 {
		return
	}
	p.line("")
	digits := unit.TableDigits(r.Budget.StepMs(), r.TopOps[0].MsPerStep)
	var rows [][]string
	if len(r.PerDevice) == 0 {
		for _, o := range r.TopOps {
			rows = append(rows, []string{p.clean(o.Name), unit.Fixed(o.HostMs, digits), unit.Percent(o.ShareOfStep), unit.PerStep(o.CallsPerStep)})
		}
		p.grid([]gridColumn{{head: hostOpsTitle, flex: true}, {head: "ms/step", right: true}, {head: "% of step", right: true},
			{head: "calls/step", right: true, drop: 1}}, rows)
		return
	}
	for _, o := range r.TopOps {
		rows = append(rows, []string{p.clean(o.Name), unit.Fixed(o.MsPerStep, digits), unit.Percent(o.ShareOfStep), unit.PerStep(o.CallsPerStep), unit.Fixed(o.HostMs, digits)})
	}
	p.grid([]gridColumn{{head: "Operators and ranges, by GPU work", flex: true}, {head: "ms/step", right: true}, {head: "% of step", right: true},
		{head: "calls/step", right: true, drop: 1}, {head: "host ms", right: true, drop: 2}}, rows)
}

// hostOpsTitle heads the operators of a capture without GPU work.
const hostOpsTitle = "Operators and ranges, by host time of all threads without inner ones"

func (p *printer) topCopies(r *report.Report) {
	if len(r.TopCopies) == 0 {
		return
	}
	p.line("")
	digits := unit.TableDigits(r.Budget.StepMs(), r.TopCopies[0].MsPerStep)
	var rows [][]string
	for _, c := range r.TopCopies {
		rows = append(rows, []string{p.clean(c.Name), unit.Fixed(c.MsPerStep, digits), known(c.MBPerStep), known(c.GBs), unit.PerStep(c.CallsPerStep)})
	}
	p.grid([]gridColumn{{head: "Copies", flex: true}, {head: "ms/step", right: true}, {head: "MB/step", right: true},
		{head: "GB/s", right: true, drop: 2}, {head: "calls/step", right: true, drop: 1}}, rows)
}

// known is a quantity that is not recorded where it is 0.
func known(v float64) string {
	if v <= 0 {
		return "-"
	}
	return unit.Fixed(v, unit.MsDigits(v))
}

func (p *printer) topSyncs(r *report.Report) {
	if len(r.TopSyncs) == 0 {
		return
	}
	p.line("")
	digits := unit.TableDigits(r.Budget.StepMs(), r.TopSyncs[0].MsPerStep)
	var rows [][]string
	for _, s := range r.TopSyncs {
		name := p.clean(s.Name)
		if s.Where != "" {
			name += " in " + p.clean(s.Where)
		}
		rows = append(rows, []string{name, unit.Fixed(s.MsPerStep, digits), unit.PerStep(s.CallsPerStep)})
	}
	p.grid([]gridColumn{{head: "Where the host waits for the GPU", flex: true}, {head: "ms/step", right: true}, {head: "calls/step", right: true, drop: 1}}, rows)
}

// gaps tells the longest gaps in words. Gaps that are alike, as those of one place in every step, are told together.
func (p *printer) gaps(r *report.Report) {
	if len(r.Gaps) == 0 {
		return
	}
	p.heading("Longest gaps, in which the GPU does nothing")
	type likeness struct {
		device                              uint32
		cause, call, inRange, before, after string
	}
	alike := make(map[likeness][]report.Gap)
	var order []likeness
	for _, g := range r.Gaps {
		key := likeness{g.Device, g.Cause, g.Call, g.Range, g.Before, g.After}
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], g)
	}
	for _, key := range order {
		list := alike[key]
		g := list[0]
		text := fmt.Sprintf("%s ms at %s ms", unit.Fixed(g.DurMs, unit.MsDigits(g.DurMs)), unit.Fixed(g.StartMs, 1))
		if n := len(list); n > 1 {
			text = fmt.Sprintf("%d of %s to %s ms, the first at %s ms", n, unit.Fixed(list[n-1].DurMs, unit.MsDigits(g.DurMs)), unit.Fixed(g.DurMs, unit.MsDigits(g.DurMs)), unit.Fixed(firstMs(list), 1))
		}
		if len(r.PerDevice) > 1 {
			text += fmt.Sprintf(" on GPU %d", g.Device)
		}
		p.prose("  ", 4, text+": the host "+causeWords(gapKey(g, r.Budget), p.name)+whereWords(r, g, list, p.name))
		p.prose("    ", 4, between(g, p.shortName))
	}
}

// firstMs is the start of the earliest gap.
func firstMs(list []report.Gap) float64 {
	first := list[0].StartMs
	for _, g := range list {
		first = min(first, g.StartMs)
	}
	return first
}

// explains is the least share of a gap that a call has to take to be told beside it.
const explains = 0.05

// whereWords adds the range and the call behind a gap, the first of those in list, to what the host did.
func whereWords(r *report.Report, g report.Gap, list []report.Gap, show shower) string {
	s := ""
	if g.Range != "" && facts.ParseCause(g.Cause).Name != g.Range {
		s += ", in " + show(g.Range)
	}
	longest := 0.0
	for _, x := range list {
		longest = max(longest, x.CallMs)
	}
	switch {
	case gapKey(g, r.Budget) == facts.HeldIn(g.Call).Key():
		s += fmt.Sprintf(" (%s ms)", unit.Fixed(longest, unit.MsDigits(longest)))
	case g.Call != "" && longest >= explains*g.DurMs:
		s += fmt.Sprintf("; its longest call is %s (%s ms)", show(g.Call), unit.Fixed(longest, unit.MsDigits(longest)))
	}
	return s
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
	return p.fit(p.clean(kernelname.Base(s)), max(16, (p.width()-20)/2))
}
