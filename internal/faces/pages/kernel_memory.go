package pages

import (
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelreport"
)

// memoryChart is what moves between the levels of memory.
func memoryChart(k *kernelreport.Kernel) []page.Block {
	m := k.Memory
	if m == nil || len(m.Links)+len(m.Notes) == 0 {
		return nil
	}
	out := notes(m.Notes)
	if len(m.Links) > 0 {
		out = append([]page.Block{page.Figure{Alt: "traffic between the levels of memory",
			Drawing: memoryLevels(m.Links)}}, out...)
	}
	return folded("Memory: traffic between its levels", out)
}

// memoryLevels draws boxes from the SMs to DRAM, between them what moves over the link.
type memoryLevels []kernelreport.Link

// SVG is none: what is drawn is text.
func (links memoryLevels) SVG() string { return "" }

// Lines is the boxes, below each other.
func (links memoryLevels) Lines(l page.Layout) (out []string) {
	const indent = "    "
	at := ""
	for _, x := range links {
		if x.From != at { // a chain writes each level once
			out = append(out, indent+l.Paint(page.Bold, "["+l.Clean(x.From)+"]"))
		}
		bar := "  " + l.Pick("│", "|") + "  "
		for _, t := range page.Wrap(movedWords(l, x), l.Columns()-len(indent)-page.Shown(bar)) {
			out = append(out, indent+bar+t)
		}
		at = x.To
		to := "[" + l.Clean(at) + "]"
		about := page.Wrap(usedWords(x), l.Columns()-len(indent)-page.Shown(to)-2)
		if len(about) == 0 {
			out = append(out, indent+l.Paint(page.Bold, to))
		}
		for i, t := range about {
			if i == 0 {
				out = append(out, indent+l.Paint(page.Bold, to)+"  "+t)
				continue
			}
			out = append(out, indent+strings.Repeat(" ", page.Shown(to)+2)+t)
		}
	}
	return out
}

// movedWords is a link's traffic beside its arrows.
func movedWords(l page.Layout, x kernelreport.Link) string {
	var parts []string
	if x.ReadBytes != nil {
		parts = append(parts, l.Pick("▲", "^")+" "+unit.SI(*x.ReadBytes)+"B read")
	}
	if x.WriteBytes != nil {
		parts = append(parts, l.Pick("▼", "v")+" "+unit.SI(*x.WriteBytes)+"B written")
	}
	return strings.Join(parts, ", ")
}

// usedWords is how busy the far end of a link is, and what it has of what is asked for.
func usedWords(x kernelreport.Link) string {
	var about []string
	if x.UsedPct != nil {
		about = append(about, unit.Percent(*x.UsedPct/100)+" % busy")
	}
	if x.HitPct != nil {
		about = append(about, unit.Percent(*x.HitPct/100)+" % hit rate")
	}
	return strings.Join(about, ", ")
}
