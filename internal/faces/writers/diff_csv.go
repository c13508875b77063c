package writers

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"lacuna/internal/faces/page"
	"lacuna/internal/runs/compare"
)

// DiffCSV writes every row of a comparison: the step, measures, kernels, operators, and what explains the step.
func DiffCSV(w io.Writer, d *compare.Difference) error {
	c := csv.NewWriter(w)
	c.Write([]string{"Kind", "Name", "Unit", "Before", "After", "Change", "Change (%)", "Low (%)", "High (%)",
		"Verdict", "Runs needed"})
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
		c.Write([]string{kind, page.Printable(name), x.Unit, number(x.Before), number(x.After),
			number(x.After - x.Before), maybe(x.ChangePct), maybe(x.LowPct), maybe(x.HighPct), string(x.Verdict),
			needed})
	}
	if d.Step != nil {
		row("step", d.Step.Name, d.Step)
	}
	if d.Unprofiled != nil {
		row("step", d.Unprofiled.Name, d.Unprofiled)
	}
	for _, x := range d.Explained {
		c.Write([]string{"explained", page.Printable(x.What), "ms", "", "", number(x.Ms), "", "", "", "", ""})
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
		c.Write([]string{"operator", page.Printable(x.Path), "ms", number(x.BeforeMs), number(x.AfterMs),
			number(x.ChangeMs), "", "", "", "", ""})
	}
	c.Flush()
	return c.Error()
}
