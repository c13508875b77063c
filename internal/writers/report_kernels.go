package writers

import (
	"fmt"
	"io"
	"strings"

	"lacuna/internal/kernelname"
	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// How much of the joined kernels is told.
const (
	maxJoined        = 6
	maxJoinedDetails = 2 // findings of each
)

// JoinedKernelsText prints only what reports on single kernels say of a timeline's, for lacuna kernel --from.
func JoinedKernelsText(w io.Writer, r *report.Report, next []Advice, page Page, d Detail) error {
	p := &printer{Page: page, w: w}
	p.inputs(r.Inputs)
	p.joinedKernels(r, d)
	p.next(next)
	return p.err
}

// joinedKernels tells why the hot kernels of a timeline are slow, and what their repair is worth in a step.
func (p *printer) joinedKernels(r *report.Report, d Detail) {
	j := r.KernelReports
	if j == nil {
		return
	}
	p.heading("Inside the kernels, most gain in a step first")
	for _, w := range j.Warnings {
		for _, l := range p.wrap(p.clean(w), p.width()-2) {
			p.line("  " + p.paint(red, p.paint(bold, l)))
		}
	}
	if len(r.Kernels) == 0 {
		p.prose("  ", 2, "No kernel of this timeline is in "+p.clean(unit.List(j.Reports))+".")
	}
	for i := range r.Kernels {
		if i == maxJoined && !d.Whole {
			p.prose("  ", 2, fmt.Sprintf("and %d more kernels with a report; -v tells all.", len(r.Kernels)-i))
			break
		}
		p.joinedKernel(&r.Kernels[i], d)
	}
	p.unjoined(j)
}

// joinedKernel is one kernel: its share, its class, what repairs are worth.
func (p *printer) joinedKernel(k *report.Kernel, d Detail) {
	title := fmt.Sprintf("- %s: %s ms of a step (%s %%)", p.fit(p.clean(kernelname.Profiled(k.Name)), max(minFlex, p.width()/2)), unit.About(k.MsPerStep), unit.Percent(k.ShareOfStep))
	if class := classWords(k.Class); class != "" {
		title += ", " + class
	}
	for i, l := range p.wrap(title, p.width()-4) {
		if i > 0 {
			l = "  " + l
		}
		p.line("  " + p.paint(bold, l))
	}
	if x := k.Roofline; x != nil {
		p.prose("    ", 4, fmt.Sprintf("%sFLOP/s in %s at %s FLOP a byte of %s: %s %% of the roof.", unit.SI(x.Flops), precisionWords(x.Precision), unit.Three(x.Intensity), levelWords(x.Level), unit.Percent(x.RoofPct/100)))
	}
	for i := range k.Findings {
		if i == maxJoinedDetails && !d.Whole {
			break
		}
		p.joinedFinding(k, &k.Findings[i], d)
	}
	for _, n := range k.Notes {
		p.prose("    ", 4, p.localUnit(p.clean(sentence(n))))
	}
}

func (p *printer) joinedFinding(k *report.Kernel, f *report.KernelFinding, d Detail) {
	p.prose("    * ", 6, p.clean(capital(f.Title))+" ["+p.clean(f.Rule)+"]")
	switch {
	case f.Change != "":
		p.prose("      ", 6, fmt.Sprintf("the kernel %s; saves about %s ms of a step %s; %s", timesWords(1, f.Ratio), unit.About(f.RecoverableMs), unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs), confidenceWords(f.Confidence)))
	case f.Ratio > 0 && !f.Healthy:
		p.prose("      ", 6, fmt.Sprintf("the kernel %s, which is at most %s ms of a step; not replayed", timesWords(1, f.Ratio), unit.About((1-f.Ratio)*k.MsPerStep)))
	}
	if !d.Whole {
		if what, _, _ := strings.Cut(f.Fix, "\n\n"); what != "" && f.Ratio > 0 && !f.Healthy {
			p.prose("      ", 6, p.clean(sentence(strings.TrimRight(strings.ReplaceAll(what, "\n", " "), ":"))))
		}
		return
	}
	for _, e := range f.Evidence {
		p.prose("      - ", 8, p.clean(sentence(e)))
	}
	p.example(6, f.Fix, true)
	if f.Change != "" {
		p.prose("      ", 8, p.clean("Replayed as: -x "+ShellWord(f.Change)))
	}
}

// unjoined says what did not match.
func (p *printer) unjoined(j *report.Kernels) {
	s := fmt.Sprintf("The reports cover %s %% of the kernel time of a step.", unit.Percent(j.MatchedShare))
	var left []string
	for _, u := range j.Unmatched {
		if u.ShareOfStep >= 0.01 {
			left = append(left, fmt.Sprintf("%s (%s %%)", p.name(kernelname.Profiled(u.Name)), unit.Percent(u.ShareOfStep)))
		}
	}
	if len(left) > 0 {
		s += " Without a report: " + unit.List(left) + "."
	}
	p.prose("  ", 2, s)
	if len(j.Reports) > 0 {
		p.prose("  ", 2, p.clean("Where each sits in the source, and what warps wait for: lacuna kernel "+ShellWord(j.Reports[0])))
	}
	if len(j.NotInTrace) > 0 {
		var names []string
		for _, n := range j.NotInTrace {
			names = append(names, p.name(kernelname.Profiled(n)))
		}
		p.prose("  ", 2, "In the reports but not in these steps: "+strings.Join(names, ", ")+".")
	}
}

// joinedKernels tells why the hot kernels are slow: a row for each finding that has a price.
func (m *markdown) joinedKernels(r *report.Report) {
	j := r.KernelReports
	if j == nil {
		return
	}
	m.line("")
	m.line("**Inside the kernels** (" + m.text(fmt.Sprintf("reports cover %s %% of the kernel time of a step", unit.Percent(j.MatchedShare))) + ")")
	for _, w := range j.Warnings {
		m.line("")
		m.line("> **" + m.text(w) + "**")
	}
	var rows [][]string
	for i := range r.Kernels {
		k := &r.Kernels[i]
		row := []string{m.code(kernelname.Profiled(k.Name)), unit.About(k.MsPerStep), unit.Percent(k.ShareOfStep), m.text(shortClass(k.Class)), "", ""}
		for x := range k.Findings {
			if f := &k.Findings[x]; x == 0 || f.Change != "" && f.RecoverableMs >= k.RecoverableMs {
				row[4] = m.text(f.Title) + " (" + m.code(f.Rule) + ")"
				if f.Change != "" {
					row[5] = m.text(unit.About(f.RecoverableMs) + " " + unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs))
				}
			}
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		m.line("")
		m.table([]string{"kernel", "ms per step", "% of step", "bound by", "finding", "saves ms of a step"}, "lrrllr", rows)
	}
}
