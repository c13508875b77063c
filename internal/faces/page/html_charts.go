package page

import (
	"fmt"
	"strings"
)

// breakdown draws the bar as SVG, which stands without scripts, and a row for each part.
func (h *hypertext) breakdown(b Breakdown) {
	const width, height = 1000.0, 28
	sum := 0.0
	for _, p := range b.Parts {
		if p.Block != "" {
			sum += max(p.Value, 0)
		}
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg class="bar" viewBox="0 0 %.0f %d" preserveAspectRatio="none" role="img" aria-label="%s">`,
		width, height, h.text(b.Total.Name.String()))
	at := 0.0
	var rows [][]Text
	for _, p := range b.Parts {
		name := p.Name
		if p.Inner {
			name = inside(name)
		} else if p.Deeper {
			name = inside(inside(name))
		}
		rows = append(rows, []Text{name, Num(p.Figure), T(p.Share)})
		if p.Block == "" || !(sum > 0) || p.Value <= 0 {
			continue
		}
		w := p.Value / sum * width
		fmt.Fprintf(&svg, `<rect class="%s" x="%.2f" y="0" width="%.2f" height="%d"><title>%s: %s ms</title></rect>`,
			partClass(p.Style), at, w, height, h.text(p.Name.String()), h.text(p.Figure))
		at += w
	}
	svg.WriteString("</svg>")
	h.element("p", "", svg.String())
	rows = append(rows, []Text{Of(Strong, b.Total.Name.String()), Of(Strong, b.Total.Figure), T(b.Total.Share)})
	h.table(Table{Columns: []Column{{Head: "part"}, {Head: "ms", Right: true}, {Head: "% of " + b.Of, Right: true}},
		Rows: rows})
}

// partClass is the class of a part of a bar.
func partClass(s Style) string { return "part " + styleClass(s) }

func (h *hypertext) meters(m Meters) {
	h.closeList()
	h.raw("<table class=\"meters\"><tbody>\n")
	for _, r := range m.Rows {
		name := r.Name
		if r.Inner {
			name = inside(name)
		}
		h.raw("<tr><th>" + h.inline(name) + "</th><td>" + meterSVG(r.Share, r.Style) + "</td><td class=\"r\">" +
			h.text(r.Figure) + " %</td><td class=\"dim\">" + h.inline(r.Note) + "</td></tr>\n")
	}
	h.raw("</tbody></table>\n")
}

func (h *hypertext) bars(b Bars) {
	largest := 0.0
	for _, r := range b.Rows {
		largest = max(largest, r.Value)
	}
	h.closeList()
	h.raw("<table class=\"meters\"><tbody>\n")
	for _, r := range b.Rows {
		share := 0.0
		if largest > 0 {
			share = r.Value / largest
		}
		h.raw("<tr><th>" + h.inline(r.Name) + "</th><td>" + meterSVG(share, r.Style) + "</td><td class=\"r\">" +
			h.text(r.Figure+" "+b.Unit) + "</td></tr>\n")
	}
	h.raw("</tbody></table>\n")
}

// meterSVG is a bar of 0 to 1.
func meterSVG(share float64, style Style) string {
	return fmt.Sprintf(`<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="%s" x="0" y="0" width="%.2f" height="10"/></svg>`,
		partClass(style), 100*min(max(share, 0), 1))
}

func (h *hypertext) figure(f Figure) {
	if f.Elsewhere {
		return
	}
	if svg := f.Drawing.SVG(); svg != "" {
		h.element("figure", "wide", svg)
		return
	}
	h.pre(f.Drawing.Lines(Layout{}))
}
