package writers

import (
	"io"
	"strings"

	"lacuna/internal/bench"
	"lacuna/internal/compare"
	"lacuna/internal/unit"
)

// BenchMarkdown writes what was measured for a pull request: the verdict, then the rows, the GPU's state folded away.
func BenchMarkdown(w io.Writer, r *bench.Result) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	icon := ""
	if len(r.Changes) > 0 && r.Changes[0].Name == r.Main {
		if sign := map[compare.Verdict]string{}[r.Changes[0].Verdict]; sign != "" {
			icon = sign + " "
		}
	}
	m.line("### " + icon + m.text(benchWords(r)))
	if !r.Comparable {
		m.line("")
		m.line("> **Not comparable:** " + m.text(strings.Join(r.WhyNot, "; ")))
	}
	m.line("")
	for i, x := range r.Programs {
		m.line("- " + benchName(r, i) + ": " + m.code(x.Command) + ", " + unit.Plural(x.Runs, "run"))
	}
	m.line("- " + m.text(benchStopWords(r)))
	m.line("")
	columns, rows := benchRows(r, &m.printer)
	heads, align := markdownHeads(columns)
	m.table(heads, align, m.escaped(rows))
	var states [][]string
	for _, x := range benchStates(r, "°") {
		if x.texts == nil {
			states = append(states, append([]string{x.name}, x.cells...))
		}
	}
	heads, align = markdownHeads(benchStateHeads(r))
	m.fold("The GPU meanwhile", heads, align, m.escaped(states))
	for _, x := range benchStates(r, "°") {
		for _, text := range x.texts {
			m.line("")
			m.line("> " + m.text(x.name+": "+text))
		}
	}
	for _, x := range r.Warnings {
		m.line("")
		m.line("> " + m.text(x))
	}
	return m.err
}

// markdownHeads is the heads of a grid's columns, and how each is aligned.
func markdownHeads(columns []gridColumn) (heads []string, align string) {
	for _, c := range columns {
		heads = append(heads, c.head)
		if c.right {
			align += "r"
		} else {
			align += "l"
		}
	}
	return heads, align
}

func (m *markdown) escaped(rows [][]string) [][]string {
	for _, row := range rows {
		for k := range row {
			row[k] = m.text(row[k])
		}
	}
	return rows
}
