package main

import (
	"fmt"
	"strings"

	"lacuna/internal/changes"
)

const generatedChange = "<!-- Generated from the changes by go generate; do not edit. -->\n"

// changePages is a page for each change of lacuna whatif and the index.
func changePages(all []*changes.Change) map[string]string {
	out := make(map[string]string)
	var b strings.Builder
	b.WriteString(generatedChange + "# The changes of `lacuna whatif -x`\n\n| change | what would be different |\n|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s |\n", strings.ReplaceAll(c.Syntax, "|", `\|`), c.Name, cell(c.Title))
		out[c.Name+".md"] = changePage(c)
	}
	out["README.md"] = b.String()
	return out
}

func changePage(c *changes.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n%s.\n\n    lacuna whatif INPUT -x %s\n\nWritten `%s`.\n", generatedChange, c.Name, text(c.Title), c.Example, c.Syntax)
	for _, part := range []struct{ title, body string }{
		{"How it is replayed", c.Doc}, {"What it takes for granted", c.Assumes}, {"When it is not allowed, or means nothing", c.NotWhen},
	} {
		if body := prose(part.body); body != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", part.title, body)
		}
	}
	return b.String()
}
