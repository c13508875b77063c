package writers

import (
	"fmt"
	"strings"

	"lacuna/internal/report"
)

// findings tells what to change, most gain first; evidence and repair are folded away under each.
func (m *markdown) findings(r *report.Report) {
	place := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if !costsTime(f) {
			continue
		}
		m.line("")
		m.line(fmt.Sprintf("%d. **%s: %s** (%s): %s", place+1, f.Severity, m.text(f.Title), m.code(f.Rule), m.text(savesWords(r, f, place))))
		m.because(f)
		place++
	}
	if words := afterAllWords(r, m.text, m.code); words != "" {
		m.line("")
		m.line("**" + words + "**")
	}
	first := true
	for i := range r.Findings {
		f := &r.Findings[i]
		if costsTime(f) {
			continue
		}
		if first {
			m.line("")
			m.line("Worth knowing:")
			first = false
		}
		m.line("")
		m.line("- " + m.text(f.Title) + " (" + m.code(f.Rule) + ")")
		m.because(f)
	}
}

// because folds away a finding's evidence and repair, as a part of its list item.
func (m *markdown) because(f *report.Finding) {
	const item = "   " // the lines of a list item
	m.line("")
	m.line(item + "<details><summary>Why, and what to do</summary>")
	m.line("")
	for _, e := range f.Evidence {
		m.line(item + "- " + m.text(sentence(e.Text)))
		for _, row := range e.Rows {
			m.line(item + "  - " + m.text(row))
		}
	}
	for _, x := range []struct{ head, text string }{
		{"", f.Fix}, {"Outside PyTorch: ", f.FixElsewhere}, {"Confirmed if: ", f.Confirm}, {"Refuted if: ", f.RefutedBy}, {"Assumes: ", strings.Join(f.Assumes, "; ")},
	} {
		m.blocks(item, x.head, x.text)
	}
	m.line("")
	m.line(item + "</details>")
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
