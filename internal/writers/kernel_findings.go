package writers

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// kernelFindings tells what to repair in a kernel, and at which limit it is.
func (p *printer) kernelFindings(k *kernelreport.Kernel, d KernelDetail) {
	healthy := slices.ContainsFunc(k.Findings, func(f kernelreport.Finding) bool { return f.Healthy })
	switch {
	case len(k.Findings) == 0:
		p.line("")
		p.prose("  ", 2, nothingFound(k))
		p.mentioned(k, d)
		return
	case !healthy || len(k.Findings) > 1:
		p.line("")
		p.line("  " + p.paint(bold, p.fit("What to repair, most gain first", p.width()-2)))
	default:
		p.line("")
	}
	n := 0
	for i := range k.Findings {
		f := &k.Findings[i]
		first := "- "
		if !f.Healthy {
			n++
			first = fmt.Sprintf("%d ", n)
		}
		p.kernelFinding(k, f, first, n <= maxFindings || d.Whole, d.Whole)
	}
	if t := k.Together; t != nil && k.DurationUs != nil {
		s := unit.ScaleOfUs(*k.DurationUs)
		words := fmt.Sprintf("All of these together: about %s %s (%s to %s), %s", s.Number(t.PredictedUs), s.Symbol, s.Number(t.LowUs), s.Number(t.HighUs), timesWords(*k.DurationUs, t.PredictedUs))
		if t.Next != "" {
			words += "; then limited by " + t.Next
		}
		for _, l := range p.wrap(p.local(p.clean(words))+".", p.width()-2) {
			p.line("  " + p.paint(bold, l))
		}
	}
	p.mentioned(k, d)
}

// nothingFound says what it means that nothing was found in a kernel.
func nothingFound(k *kernelreport.Kernel) string {
	switch {
	case k.DurationUs == nil || k.SOL == nil:
		return "Too little was collected to look for faults."
	case k.Class == "launch" && len(k.Mentioned) > 0:
		return "It is too short for its counters to say what a repair brings."
	case len(k.Abstained) > 0:
		return fmt.Sprintf("No fault was found in it, as far as this report goes: %d diagnoses lack counters.", len(k.Abstained))
	}
	return "No fault was found in it."
}

// mentioned is what is true of the kernel but worth little.
func (p *printer) mentioned(k *kernelreport.Kernel, d KernelDetail) {
	if len(k.Mentioned) == 0 {
		return
	}
	var titles []string
	for i := range k.Mentioned {
		if i == maxFindings && !d.Whole {
			break
		}
		titles = append(titles, k.Mentioned[i].Title+" ["+k.Mentioned[i].Rule+"]")
	}
	what := "Also true, but worth little here: "
	if k.Class == "launch" {
		what = "True of it: "
	}
	p.prose("  ", 4, p.clean(what+strings.Join(titles, "; ")+"."))
}

// kernelFinding tells one fault: what it is, what its repair brings, where it sits, how to repair it.
func (p *printer) kernelFinding(k *kernelreport.Kernel, f *kernelreport.Finding, first string, told, whole bool) {
	indent := len(first) + 2
	blanks := strings.Repeat(" ", indent)
	for i, l := range p.wrap(p.clean(capital(f.Title))+" ["+p.clean(f.Rule)+"]", p.width()-indent) {
		if i > 0 {
			first = strings.Repeat(" ", len(first))
		}
		p.line("  " + p.paint(bold, first+l))
	}
	if words := predictionWords(k, f); words != "" {
		p.prose(blanks, indent, p.local(p.clean(words))+"; "+confidenceWords(f.Confidence))
	} else if !f.Healthy {
		p.prose(blanks, indent, "what its repair brings is not predicted; "+confidenceWords(f.Confidence))
	}
	if f.SymptomOf != "" {
		p.prose(blanks, indent, "a symptom of "+p.clean(f.SymptomOf)+" above: repair that")
	}
	if f.SameAs != "" {
		p.prose(blanks, indent, "the repair of "+p.clean(f.SameAs)+" above repairs this too")
	}
	if !told {
		return
	}
	for _, e := range f.Evidence {
		p.prose(blanks+"- ", indent+2, p.clean(sentence(e)))
	}
	for i := range f.Where {
		if i == maxPlaces && !whole {
			break
		}
		p.place(indent+2, &f.Where[i], "")
	}
	if !f.Healthy && (f.SameAs == "" && f.SymptomOf == "" || whole) {
		p.example(indent, f.Fix, whole)
	}
	if whole && f.RefutedBy != "" {
		p.example(indent, "Refuted if: "+strings.TrimSpace(f.RefutedBy), true)
	}
}

// maxPlaces is how many source lines of a finding are shown.
const maxPlaces = 3

// place writes where something is: share, file and line, and the line itself.
func (p *printer) place(indent int, l *kernelreport.Line, note string) {
	head := p.clean(placeWords(l))
	if l.Share > 0 {
		head = fmt.Sprintf("%5s %%  %s", unit.Percent(l.Share), head)
	}
	blanks := strings.Repeat(" ", indent)
	if note = p.clean(note); note != "" && indent+shown(head)+2+shown(note) <= p.width() {
		head += "  " + note
	} else if note != "" {
		defer func() { p.line(blanks + "  " + p.paint(dim, p.fit("("+note+")", p.width()-indent-2))) }()
	}
	text := p.clean(lineText(l))
	if room := p.width() - indent - shown(head) - 2; text != "" && room >= minFlex {
		p.line(blanks + p.fit(head, p.width()-indent) + "  " + p.paint(cyan, p.fit(text, room)))
		return
	}
	p.line(blanks + p.fit(head, p.width()-indent))
	if text != "" {
		p.line(blanks + "  " + p.paint(cyan, p.fit(text, p.width()-indent-2)))
	}
}

// profilerSays is what the profiler's own rules said.
func (p *printer) profilerSays(k *kernelreport.Kernel) {
	if len(k.Profiler) == 0 {
		return
	}
	p.subheading("What the profiler itself says")
	for _, s := range k.Profiler {
		text := p.clean(s.Text)
		if s.Title != "" {
			text = p.clean(s.Title) + ": " + text
		}
		p.prose("    - ", 6, text)
	}
}

// subheading begins a part of a kernel's page.
func (p *printer) subheading(text string) {
	p.line("")
	for _, l := range p.wrap(text, p.width()-2) {
		p.line("  " + p.paint(bold, l))
	}
}

// notJudged is what the report does not hold, and what could not be judged without it.
func (p *printer) notJudged(k *kernelreport.Kernel, d KernelDetail) {
	if len(k.Missing)+len(k.Abstained) == 0 {
		return
	}
	p.subheading("What could not be judged")
	if len(k.Missing) > maxAbstained && !d.Whole {
		p.prose("    ", 4, p.clean(muchMissing(k)))
		return
	}
	for _, m := range k.Missing {
		p.prose("    - ", 6, p.clean(missingWords(&m)))
	}
	for _, g := range lacking(k.Abstained) {
		words := "the report lacks " + unit.List(g.missing)
		switch n := len(g.rules); {
		case n > maxAbstained && !d.Whole:
			words += fmt.Sprintf(", which %d diagnoses look at", n)
		case n == 1:
			words += ", which " + g.rules[0] + " looks at"
		case n > 1:
			words += ", which " + unit.List(g.rules) + " look at"
		}
		if g.getItWith != "" && !strings.Contains(collects(k.Missing), g.getItWith) {
			words += "; ncu " + g.getItWith + " collects it"
		}
		p.prose("    - ", 6, p.clean(sentence(words)))
	}
}

// missingWords is what the report does not hold, and what collects it, if the version of ncu that wrote it could.
func missingWords(m *kernelreport.Missing) string {
	text := "not in the report: " + m.Part
	if m.GetItWith != "" {
		text += "; ncu " + m.GetItWith + " collects it"
	}
	return sentence(text)
}

// muchMissing is what a report with few counters lacks, in short.
func muchMissing(k *kernelreport.Kernel) string {
	var parts []string
	for _, m := range k.Missing {
		parts = append(parts, m.Part)
	}
	s := "Not in the report: " + unit.List(parts) + "."
	if n := len(k.Abstained); n > 0 {
		s += fmt.Sprintf(" %d diagnoses lack counters.", n)
	}
	return s + " ncu --set full --import-source yes collects all of it; -v names the section of each."
}

// collects is the sections that what is missing names already.
func collects(all []kernelreport.Missing) (text string) {
	for _, m := range all {
		text += m.GetItWith + " "
	}
	return text
}

// A lack is what abstentions lack that the same section collects.
type lack struct {
	rules, missing []string
	getItWith      string
}

// lacking puts abstentions together that the same section would answer, most first.
func lacking(all []kernelreport.Abstained) []lack {
	var out []lack
	add := func(to []string, s string) []string {
		if s == "" || slices.Contains(to, s) {
			return to
		}
		return append(to, s)
	}
	for _, a := range all {
		i := slices.IndexFunc(out, func(l lack) bool { return l.getItWith == a.GetItWith })
		if i < 0 {
			i = len(out)
			out = append(out, lack{getItWith: a.GetItWith})
		}
		out[i].rules, out[i].missing = add(out[i].rules, a.Rule), add(out[i].missing, a.Missing)
	}
	slices.SortStableFunc(out, func(a, b lack) int { return len(b.rules) - len(a.rules) })
	return out
}

// kernelTrust says what the files lost.
func (p *printer) kernelTrust(r *kernelreport.Report) {
	c := r.Capture
	if len(c.Losses)+len(c.Warnings) == 0 {
		return
	}
	p.heading("Can this report be trusted?")
	for _, w := range c.Warnings {
		p.prose("  - ", 4, sentence(p.clean(w)))
	}
	for _, l := range c.Losses {
		s := fmt.Sprintf("%d x %s: %s", l.Count, p.clean(l.Code), p.clean(lossWords(l.Code)))
		if l.Example != "" {
			s += " (the first: " + p.fit(p.clean(l.Example), 120) + ")"
		}
		p.prose("  - ", 4, s+".")
	}
}
