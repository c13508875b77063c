package main

import (
	"fmt"
	"strings"

	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/tables"
)

const generated = "<!-- Generated from the tables by go generate; do not edit. -->\n"

// tablePages is a page for each table and the index.
func tablePages(all []*tables.Table) map[string]string {
	out := make(map[string]string)
	var b strings.Builder
	b.WriteString(generated + "# The tables of `lacuna stats`\n\n| table | what it shows | equals |\n|---|---|---|\n")
	for _, t := range all {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s |\n", t.Name, t.Name, cell(t.Title), cell(t.Origin))
		out[t.Name+".md"] = tablePage(t)
	}
	out["README.md"] = b.String()
	return out
}

func tablePage(t *tables.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n%s.\n\n    lacuna stats INPUT -r %s\n", generated, t.Name, text(t.Title), t.Name)
	if doc := strings.TrimSpace(t.Doc); doc != "" {
		b.WriteString("\n" + text(doc) + "\n")
	}
	if len(t.Columns) > 0 {
		b.WriteString("\n## Columns\n\n| CSV | JSON | meaning |\n|---|---|---|\n")
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", cell(c.Unit.Header(c.Name)), c.Unit.Key(c.Name), cell(c.Doc))
	}
	if len(t.Args) > 0 {
		b.WriteString("\n## Options, after the name\n\n| option | what it does |\n|---|---|\n")
	}
	for _, a := range t.Args {
		word := t.Name + ":" + a.Name
		if a.Value != "" {
			word += "=" + a.Value
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(word, "|", `\|`), cell(a.Doc))
	}
	fmt.Fprintf(&b, "\n**Formats that have the data:** %s.\n", text(reader.Having(readers.All, t.Needs&^t.Spares)))
	if t.Origin != "" {
		fmt.Fprintf(&b, "\n**Equals:** %s.\n", text(t.Origin))
	}
	if t.ManyRanks {
		b.WriteString("\nAll inputs are read together: they are the ranks of one job.\n")
	}
	return b.String()
}

// text escapes what Markdown would take for its own in a plain text.
func text(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`").Replace(s)
}

// cell is a text in a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text(s), "|", `\|`), "\n", " ")
}
