package writers

import (
	"strings"

	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// memoryChart draws what moves between the levels of memory: boxes from the SMs to DRAM, under each link its bytes.
func (p *printer) memoryChart(k *kernelreport.Kernel) {
	m := k.Memory
	if m == nil || len(m.Links)+len(m.Notes) == 0 {
		return
	}
	p.subheading("Memory: what moves between its levels")
	at := ""
	for _, l := range m.Links {
		if l.From != at { // a chain writes each level once
			p.line("    " + p.paint(bold, "["+p.clean(l.From)+"]"))
		}
		for _, text := range p.linkLines(l) {
			p.line("    " + text)
		}
		at = l.To
		var about []string
		if l.UsedPct != nil {
			about = append(about, unit.Percent(*l.UsedPct/100)+" % busy")
		}
		if l.HitPct != nil {
			about = append(about, unit.Percent(*l.HitPct/100)+" % of what arrives is found here")
		}
		to := "[" + p.clean(at) + "]"
		for i, t := range p.wrap(strings.Join(about, ", "), p.width()-4-len(to)-2) {
			if i == 0 {
				p.line("    " + p.paint(bold, to) + "  " + t)
				continue
			}
			p.line("    " + strings.Repeat(" ", len(to)+2) + t)
		}
		if len(about) == 0 {
			p.line("    " + p.paint(bold, to))
		}
	}
	for _, n := range m.Notes {
		p.prose("    - ", 6, p.clean(sentence(n)))
	}
}

// linkLines is a link's traffic beside its arrows.
func (p *printer) linkLines(l kernelreport.Link) (lines []string) {
	var parts []string
	if l.ReadBytes != nil {
		parts = append(parts, p.pick("▲", "^")+" "+bytesWords(*l.ReadBytes)+" read")
	}
	if l.WriteBytes != nil {
		parts = append(parts, p.pick("▼", "v")+" "+bytesWords(*l.WriteBytes)+" written")
	}
	bar := "  " + p.pick("│", "|") + "  "
	for _, t := range p.wrap(strings.Join(parts, ", "), p.width()-4-len("  |  ")) {
		lines = append(lines, bar+t)
	}
	return lines
}
