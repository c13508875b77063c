package writers

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"lacuna/internal/compare"
	"lacuna/internal/unit"
)

// DiffCSV writes every row of a comparison: the step, measures, kernels, operators, and what explains the step.
func DiffCSV(w io.Writer, d *compare.Difference) error {
	c := csv.NewWriter(w)
	c.Write([]string{"Kind", "Name", "Unit", "Before", "After", "Change", "Change (%)", "Low (%)", "High (%)", "Verdict", "Runs needed"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	maybe := func(x *float64) string {
		if x == nil {
			return ""
		}
		return number(*x)
	}
	row := func(kind, name string, x *compare.Change) {
		needed := ""
		if x.RunsNeeded > 0 {
			needed = strconv.Itoa(x.RunsNeeded)
		}
		c.Write([]string{kind, Printable(name), x.Unit, number(x.Before), number(x.After), number(x.After - x.Before), maybe(x.ChangePct), maybe(x.LowPct), maybe(x.HighPct), string(x.Verdict), needed})
	}
	if d.Step != nil {
		row("step", d.Step.Name, d.Step)
	}
	if d.Unprofiled != nil {
		row("step", d.Unprofiled.Name, d.Unprofiled)
	}
	for _, x := range d.Explained {
		c.Write([]string{"explained", Printable(x.What), "ms", "", "", number(x.Ms), "", "", "", "", ""})
	}
	for i := range d.Measures {
		row("measure", d.Measures[i].Name, &d.Measures[i])
	}
	for i := range d.Kernels {
		k := &d.Kernels[i]
		name := strings.Join(k.Before, " | ")
		if after := strings.Join(k.After, " | "); after != name {
			name += " -> " + after
		}
		row("kernel", name, &k.Change)
	}
	for _, x := range d.Operators {
		c.Write([]string{"operator", Printable(x.Path), "ms", number(x.BeforeMs), number(x.AfterMs), number(x.ChangeMs), "", "", "", "", ""})
	}
	c.Flush()
	return c.Error()
}

// changeSigns are what GitHub and GitLab show of the verdict on a step.
var changeSigns = map[compare.Verdict]string{compare.Faster: "✅", compare.Slower: "❌", compare.Same: "➖", compare.Undecided: "❔"}

// DiffMarkdown writes a comparison for a pull request: the verdict and what explains it, the rest folded away.
func DiffMarkdown(w io.Writer, d *compare.Difference) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	if d.Step != nil {
		icon := changeSigns[d.Step.Verdict]
		if !d.Comparable {
			icon = "❔"
		}
		m.line("### " + icon + " " + m.text(stepWords(d)))
	}
	m.line("")
	m.line("before " + m.text(sideWords(d.Before)) + "<br>after " + m.text(sideWords(d.After)))
	if !d.Comparable {
		m.line("")
		m.line("> **Not comparable:** " + m.text(strings.Join(d.WhyNot, "; ")))
	}
	if len(d.Explained) > 0 {
		var rows [][]string
		for _, x := range d.Explained {
			rows = append(rows, []string{unit.SignedMs(x.Ms), m.text(x.What)})
		}
		m.line("")
		m.table([]string{"ms of a step", "what explains it"}, "rl", rows)
	}
	m.line("")
	for _, x := range d.Findings.Gone {
		m.line("- gone: " + m.code(x.Rule) + " " + m.text(x.Title))
	}
	for _, x := range d.Findings.New {
		m.line("- **new**: " + m.code(x.Rule) + " " + m.text(x.Title))
	}
	m.diffSheets(d)
	var moved, kernels [][]string
	for i := range d.Measures {
		if x := &d.Measures[i]; x.Verdict != compare.Same {
			cells := m.changeCells(x)
			for k := range cells {
				cells[k] = m.text(cells[k])
			}
			moved = append(moved, cells)
		}
	}
	m.fold("Measures", []string{"measure", "before", "after", "change", "95 % interval", "verdict"}, "lrrrrl", moved)
	for i := range d.Kernels {
		if k := &d.Kernels[i]; counts(d, k.ChangeMs) {
			verdict, how := kernelVerdict(k)
			kernels = append(kernels, []string{m.code(kernelPair(k)), unit.SomeMs(k.Change.Before), unit.SomeMs(k.Change.After), unit.SignedMs(k.ChangeMs), m.pair(k.CallsBefore, k.CallsAfter), verdict, how})
		}
	}
	m.fold("Kernels, ms of a step", []string{"kernel", "before", "after", "change", "launches", "verdict", "matched by"}, "lrrrrll", kernels)
	for _, x := range d.Warnings {
		m.line("")
		m.line("> " + m.text(x))
	}
	return m.err
}
