package writers

import (
	"fmt"
	"strings"

	"lacuna/internal/kernelreport"
)

// memoryChart draws what moves between the levels of memory: boxes from the SMs to DRAM, under each link its bytes.
func (p *printer) memoryChart(k *kernelreport.Kernel) {
	m := k.Memory
	if m == nil || len(m.Links)+len(m.Notes) == 0 {
		return
	}
	p.subheading("Memory: what moves between its levels")
	for i, l := range m.Links {
		if i == 0 || m.Links[i-1].To != l.From { // a chain writes each level once
			p.line("    " + p.paint(bold, "["+p.clean(l.From)+"]"))
		}
		for _, text := range p.linkLines(l) {
			p.line("    " + text)
		}
		to := "[" + p.clean(l.To) + "]"
		if i+1 < len(m.Links) && m.Links[i+1].From == l.To && m.Links[i+1].HitPct != nil {
			p.line("    " + p.paint(bold, to) + fmt.Sprintf("  %s %% of what is asked for is found here", percent(*m.Links[i+1].HitPct/100)))
			continue
		}
		p.line("    " + p.paint(bold, to))
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
	if l.UsedPct != nil {
		parts = append(parts, percent(*l.UsedPct/100)+" % of the link's peak")
	}
	bar := "  " + p.pick("│", "|") + "  "
	for _, t := range p.wrap(strings.Join(parts, "   "), p.width()-4-len("  |  ")) {
		lines = append(lines, bar+t)
	}
	return lines
}
