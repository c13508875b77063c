package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lacuna/internal/reader"
)

// formatsPage is the index of the formats: what each says of itself. docs is the folder in which a format may have a
// page of its own, NAME.md, written by hand.
func formatsPage(all []*reader.Format, docs string) string {
	var b strings.Builder
	b.WriteString("<!-- Generated from the readers by go generate; do not edit. -->\n# The formats that lacuna " +
		"reads\n\n" +
		"| format | what it is | written by | files |\n|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", f.Name, f.Name, cell(f.Title), cell(f.Maker), cell(f.Files))
	}
	for _, f := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n**Clock:** %s.\n", f.Name, text(strings.TrimSpace(f.Doc)), text(f.Clock))
		if own := f.Name + ".md"; exists(filepath.Join(docs, own)) {
			fmt.Fprintf(&b, "\n**In full:** [%s](%s).\n", own, own)
		}
		if f.Maker != "" && f.Fills != nil {
			b.WriteString(fillsTable(f.Fills))
		}
		if f.Tool != nil {
			b.WriteString(costTable(f))
		}
	}
	return b.String()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func fillsTable(fills []reader.Fill) string {
	var b strings.Builder
	b.WriteString("\n| can hold | if recorded with |\n|---|---|\n")
	for _, x := range fills {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(strings.Join(x.Parts.Words(), ", ")), cell(x.With))
	}
	return b.String()
}

// costTable is what recording adds, as a replay takes it out.
func costTable(f *reader.Format) string {
	t := f.Tool
	if !t.Priced() {
		return fmt.Sprintf("\nThe overhead of %s is not measured: nothing is subtracted for it.\n", text(t.Name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| overhead of %s | ns |\n|---|---|\n", cell(t.Name))
	for _, x := range []struct {
		what string
		ns   float64
	}{
		{"per call that issues GPU work", t.CallNs}, {"per other call", t.OtherNs},
		{"per operator or annotation", t.OpNs}, {"per recorded input of an operator", t.InputNs},
		{"per recorded Python function", t.FrameNs},
		{"on the device, per node of a graph recorded by node", t.NodeNs},
	} {
		if x.ns > 0 {
			fmt.Fprintf(&b, "| %s | %.0f |\n", x.what, x.ns)
		}
	}
	fmt.Fprintf(&b, "\nThe true overhead is assumed to be within %.0f %% of it, and the time of a step without the "+
		"tool is known "+
		"to %.0f %% at best. %s\n", 100*t.Spread, 100*t.MinShare, text(f.Measured))
	return b.String()
}
