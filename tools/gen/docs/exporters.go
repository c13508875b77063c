package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"lacuna/internal/faces/exporters"
)

const generatedExporter = "<!-- Generated from the exporters by go generate; do not edit. -->\n"

// exporterPages is a page for each form of lacuna export and the index. cases is the folder of the exporters' txtar
// files.
func exporterPages(all []*exporters.Exporter, cases string) (map[string]string, error) {
	out := make(map[string]string)
	var b strings.Builder
	b.WriteString(generatedExporter + "# The formats of `lacuna export --to`\n\n| format | what it is |\n|---|---|\n")
	for _, e := range all {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s |\n", e.Name, e.Name, cell(e.Title))
		archive, err := txtar.ParseFile(filepath.Join(cases, e.Name+".txtar"))
		if err != nil {
			return nil, err
		}
		_, events, want := firstCase(archive)
		out[e.Name+".md"] = fmt.Sprintf("%s# %s\n\n%s.\n\n    lacuna export INPUT --to %s -o FILE\n\n%s\n\n## "+
			"Example\n\nA capture as text ([how to read it](../formats/text.md)):\n\n"+
			"```\n%s```\n\nThe result:\n\n```\n%s```\n", generatedExporter, e.Name, text(e.Title), e.Name,
			prose(e.Doc), events, want)
	}
	out["README.md"] = b.String()
	return out, nil
}
