package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"lacuna/internal/timeline/changes"
)

const generatedChange = "<!-- Generated from the changes by go generate; do not edit. -->\n"

// changePages is a page for each change of lacuna whatif and the index. cases is the folder of the changes' txtar
// files.
func changePages(all []*changes.Change, cases string) (map[string]string, error) {
	out := make(map[string]string)
	var b strings.Builder
	b.WriteString(generatedChange + "# The changes of `lacuna whatif -x`\n\n| change | what it does |\n|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s |\n", strings.ReplaceAll(c.Syntax, "|", `\|`), c.Name, cell(c.Title))
		page, err := changePage(c, filepath.Join(cases, c.Name+".txtar"))
		if err != nil {
			return nil, err
		}
		out[c.Name+".md"] = page
	}
	b.WriteString("\nSeveral are applied in order, `-x drop-syncs -x cuda-graph`: each starts from the result of " +
		"those before it.\n")
	out["README.md"] = b.String()
	return out, nil
}

func changePage(c *changes.Change, cases string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n%s.\n\n    lacuna whatif INPUT -x %s\n\nWritten `%s`.\n", generatedChange, c.Name,
		text(c.Title), c.Example, c.Syntax)
	for _, part := range []struct{ title, body string }{
		{"How it is replayed", c.Doc}, {"What it assumes", c.Assumes}, {"When it does not apply", c.NotWhen},
	} {
		if body := prose(part.body); body != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", part.title, body)
		}
	}
	archive, err := txtar.ParseFile(cases)
	if err != nil {
		return "", err
	}
	b.WriteString("\n## Example\n\n")
	if comment := prose(string(archive.Comment)); comment != "" {
		b.WriteString(comment + "\n\n")
	}
	args, events, want := firstCase(archive)
	fmt.Fprintf(&b, "A capture as text ([how to read it](../formats/text.md)):\n\n```\n%s```\n\nThe step after `-x "+
		"%s`, in ns, best and worst in brackets, "+
		"by the rules of the replay alone:\n\n```\n%s```\n", events, args, want)
	return b.String(), nil
}

// firstCase is the first case of a file of tests, which gains.
func firstCase(a *txtar.Archive) (args, events, want string) {
	first := ""
	for _, f := range a.Files {
		stem, part, _ := strings.Cut(f.Name, "/")
		if first == "" {
			first = stem
		}
		if stem != first {
			continue
		}
		switch part {
		case "args":
			args = strings.TrimSpace(string(f.Data))
		case "events":
			events = string(f.Data)
		case "want":
			want = string(f.Data)
		}
	}
	return args, events, want
}
