package writers

import (
	"fmt"
	"io"
	"strings"

	"lacuna/internal/kernelname"
	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// KernelMarkdown writes what is known of kernels for a pull request: a table, and under each of the first
// top kernels (0: all) its findings; the rest folded away.
func KernelMarkdown(w io.Writer, r *kernelreport.Report, top int) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	m.line("### Why these kernels take what they take")
	if words := deviceSays(r.Device); words != "" {
		m.line("")
		m.line(m.text(words))
	}
	m.line("")
	m.table([]string{"kernel", "calls", "time", "% of all", "bound by", "first finding", "time after it"}, "lrrrllr", m.kernelRows(r))
	kernels := topKernels(r, top)
	for i := range kernels {
		m.kernelPart(&kernels[i])
	}
	for _, l := range append([]string{}, r.Capture.Warnings...) {
		m.line("")
		m.line("> " + m.text(sentence(l)))
	}
	return m.err
}

func (m *markdown) kernelRows(r *kernelreport.Report) (rows [][]string) {
	for i := range r.Kernels {
		k := &r.Kernels[i]
		row := []string{m.code(kernelname.Profiled(k.Name)), unit.FormatCount(int64(k.Count)), "-", "-", m.text(shortClass(k.Class)), "", ""}
		if k.DurationUs != nil {
			row[2], row[3] = unit.Micros(*k.DurationUs), unit.Percent(k.Share)
		}
		if f := firstFinding(k); f != nil {
			row[5] = m.code(f.Rule)
			if f.PredictedUs > 0 && !f.Healthy {
				row[6] = unit.Micros(f.PredictedUs)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (m *markdown) kernelPart(k *kernelreport.Kernel) {
	m.line("")
	title := "#### " + m.code(kernelname.Profiled(k.Name))
	if k.DurationUs != nil {
		title += ": " + unit.Micros(*k.DurationUs)
	}
	if class := classWords(k.Class); class != "" {
		title += ", " + class
	}
	m.line(title)
	if k.ClassWhy != "" {
		m.line("")
		m.line(m.text(sentence(k.ClassWhy)))
	}
	if k.Clock != nil {
		m.line("")
		m.line(m.text(sentence(k.Clock.Why)))
	}
	m.line("")
	if len(k.Findings) == 0 {
		m.line("No fault was found in it.")
	}
	for i := range k.Findings {
		f := &k.Findings[i]
		words := ""
		if p := predictionWords(k, f); p != "" {
			words = ": " + m.text(p+"; "+confidenceWords(f.Confidence))
		}
		m.line(fmt.Sprintf("%d. **%s** (%s)%s", i+1, m.text(capital(f.Title)), m.code(f.Rule), words))
		m.kernelBecause(f)
	}
	if o := k.Occupancy; o != nil {
		var rows [][]string
		for _, s := range occupancyWords(o) {
			rows = append(rows, []string{m.text(s)})
		}
		m.fold(fmt.Sprintf("Occupancy: theoretical %s, achieved %s", known100(o.TheoreticalPct), known100(o.AchievedPct)), []string{""}, "l", rows)
	}
	m.fold("What a warp does", []string{"", "% of its time"}, "lr", shareRows(k.StallParts, func(s kernelreport.StallPart) []string { return []string{m.text(s.Name), unit.Percent(s.Share)} }))
	m.fold("Where the time goes", []string{"%", "where", "line"}, "rll", shareRows(k.Lines[:min(len(k.Lines), 2*maxLines)], func(l kernelreport.Line) []string {
		return []string{unit.Percent(l.Share), m.code(placeWords(&l)), m.code(lineText(&l))}
	}))
	m.fold("What could not be judged", []string{"", "missing", "get it with"}, "lll", shareRows(lacking(k.Abstained), func(l lack) []string {
		return []string{m.text(unit.List(l.rules)), m.text(unit.List(l.missing)), m.code(l.getItWith)}
	}))
}

// shareRows makes rows of a list.
func shareRows[T any](all []T, row func(T) []string) (rows [][]string) {
	for _, x := range all {
		rows = append(rows, row(x))
	}
	return rows
}

// known100 is a number in percent, "-" if it is not known.
func known100(v *float64) string {
	if v == nil {
		return "-"
	}
	return unit.Percent(*v/100) + " %"
}

// kernelBecause folds away a finding's evidence and repair, as a part of its list item.
func (m *markdown) kernelBecause(f *kernelreport.Finding) {
	const item = "   "
	m.line("")
	m.line(item + "<details><summary>Why, and what to do</summary>")
	m.line("")
	for _, e := range f.Evidence {
		m.line(item + "- " + m.text(sentence(e)))
	}
	for i := range f.Where {
		l := &f.Where[i]
		m.line(item + "- " + m.code(placeWords(l)) + " " + m.code(lineText(l)))
	}
	m.blocks(item, "", f.Fix)
	m.blocks(item, "Refuted if: ", f.RefutedBy)
	m.line("")
	m.line(item + "</details>")
	m.line("")
}

// blocks writes a text in which indented lines are code, as a part of a list item.
func (m *markdown) blocks(item, head, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	for k, b := range blocksOf(text) {
		m.line("")
		if !b.code {
			if k > 0 {
				head = ""
			}
			m.line(item + head + m.text(strings.Join(b.lines, " ")))
			continue
		}
		m.line(item + "<pre>")
		for _, l := range b.lines {
			if l == "" {
				l = " " // an empty line would end the HTML
			}
			m.line(item + m.text(l))
		}
		m.line(item + "</pre>")
	}
}
