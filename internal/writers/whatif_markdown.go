package writers

import (
	"io"
	"maps"
	"slices"

	"lacuna/internal/report"
)

// WhatIfMarkdown writes an answer for a pull request: the sentences and the critical path, what it rests on folded away.
func WhatIfMarkdown(w io.Writer, x *report.WhatIf) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	m.line("### What a step would take")
	m.line("")
	m.line(m.text(measuredWords(x)))
	for _, c := range x.Changes {
		if c.Applied {
			m.line("")
			m.line("**" + predictedWords(x, m.code) + "**")
			break
		}
	}
	for _, c := range x.Changes {
		if !c.Applied {
			m.line("")
			m.line("> Not made: " + m.code(c.Change) + " " + m.text(c.WhyNot) + ".")
		}
	}
	total := 0.0
	for _, key := range slices.Sorted(maps.Keys(x.CriticalPathMs)) {
		total += x.CriticalPathMs[key]
	}
	var path, assumes, sure [][]string
	for _, r := range pathRows(x.CriticalPathMs, m.code) {
		path = append(path, []string{r.name, about(r.ms), percent(r.ms / total)})
	}
	for _, c := range x.Changes {
		for _, a := range c.Assumes {
			assumes = append(assumes, []string{m.code(c.Change), m.text(sentence(a))})
		}
	}
	for _, s := range surenessWords(x) {
		sure = append(sure, []string{m.text(s)})
	}
	m.fold("What a step is then made of, along its critical path", []string{"cause", "ms", "% of step"}, "lrr", path)
	m.fold("What this assumes", []string{"change", "assumes"}, "ll", assumes)
	m.fold("How sure it is", []string{""}, "l", sure)
	return m.err
}
