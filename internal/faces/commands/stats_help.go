package commands

import (
	"fmt"
	"strings"

	"lacuna/internal/answer/engine"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/tables"
)

// tableList is every table in a line.
func tableList() string {
	var b strings.Builder
	width := 0
	for _, t := range tables.All {
		width = max(width, len(t.Name))
	}
	for _, t := range tables.All {
		for i, line := range page.Wrap(t.Title, helpWidth-width-2) {
			name := t.Name
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "%-*s  %s\n", width, name, line)
		}
	}
	b.WriteString("\nlacuna stats --help NAME shows columns, units and formula.\n")
	return b.String()
}

// helpTables explains tables: what is counted, columns with units, words, origin.
func helpTables(env *Env, names []string) error {
	var b strings.Builder
	for i, name := range names {
		t, err := findTable(name)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(tableHelp(t))
	}
	return env.writeHelp(b.String())
}

func tableHelp(t *tables.Table) string {
	var b strings.Builder
	paragraph := func(text string) {
		for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
			b.WriteString("\n" + strings.Join(page.Wrap(p, helpWidth), "\n") + "\n")
		}
	}
	item := func(name, text string) {
		b.WriteString("  " + name + "\n")
		for _, l := range page.Wrap(text, helpWidth-6) {
			b.WriteString("      " + l + "\n")
		}
	}
	b.WriteString(strings.Join(page.Wrap(t.Name+": "+t.Title, helpWidth), "\n") + "\n")
	if t.Doc != "" {
		paragraph(t.Doc)
	}
	if t.Origin != "" {
		paragraph("Equals " + t.Origin + ".")
	}
	paragraph("Formats that have the data: " + engine.FormatsOf(t) + ".")
	if len(t.Columns) > 0 {
		b.WriteString("\nColumns:\n")
	}
	for _, c := range t.Columns {
		item(header(c), c.Doc)
	}
	if len(t.Args) > 0 {
		b.WriteString("\nOptions, after the name:\n")
	}
	for i, form := range argForms(t) {
		item(t.Name+":"+form, t.Args[i].Doc)
	}
	fmt.Fprintf(&b, "\n  lacuna stats INPUT -r %s\n", t.Name)
	return b.String()
}

// header is a column's name with its unit, as CSV has it.
func header(c tables.Column) string {
	if c.Unit == unit.Text {
		return c.Name
	}
	return c.Unit.Header(c.Name)
}
