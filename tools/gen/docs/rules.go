package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"lacuna/internal/timeline/rules"
)

const generatedRule = "<!-- Generated from the rules by go generate; do not edit. -->\n"

// rulePages is a page for each rule and the index. cases is the folder of the rules' txtar files.
func rulePages(all []*rules.Rule, cases string) (map[string]string, error) {
	out := make(map[string]string)
	var b strings.Builder
	b.WriteString(generatedRule + "# The diagnoses of `lacuna report`\n\n| rule | problem | since | costs " +
		"|\n|---|---|---|---|\n")
	for _, r := range all {
		costs := "time"
		if r.Standing != rules.CostsTime {
			costs = "something else"
		}
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s | %s |\n", r.ID, r.ID, cell(r.Title), r.Since, costs)
		page, err := rulePage(r, filepath.Join(cases, r.ID+".txtar"))
		if err != nil {
			return nil, err
		}
		out[r.ID+".md"] = page
	}
	b.WriteString("\nA finding that costs time is priced by replaying the capture with its fix, and left out if " +
		"the fix gains nothing. " +
		"A finding that costs something else, such as memory, is reported without a price.\n")
	out["README.md"] = b.String()
	return out, nil
}

func rulePage(r *rules.Rule, cases string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s: %s\n\nSince %s.", generatedRule, r.ID, text(r.Title), r.Since)
	if needs := needsOf(r); needs != "" {
		fmt.Fprintf(&b, " Needs %s.", text(needs))
	}
	section := func(title, body string) {
		if body = prose(body); body != "" {
			fmt.Fprintf(&b, "\n\n## %s\n\n%s", title, body)
		}
	}
	section("What it means", r.Doc)
	events, finding, err := firing(cases)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\n\n## Example\n\nA capture as text ([how to read "+
		"it](../formats/text.md)):\n\n```\n%s```\n\nThe finding, with its confidence, the most that it can save "+
		"and the change that fixes it:\n\n```\n%s```", events, finding)
	section("What to do", r.Fix)
	section("Outside PyTorch", r.FixC)
	section("How to confirm the fix", r.Confirm)
	section("What would refute the diagnosis", r.RefutedBy)
	section("When it is wrong or finds nothing", r.Limits)
	return b.String() + "\n", nil
}

// needsOf is what a capture must have for a rule, in words.
func needsOf(r *rules.Rule) string {
	var names []string
	for _, n := range r.Needs {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

// firing is the case of a rule's test that fires: its events and what is found.
func firing(path string) (events, want string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	for _, f := range txtar.Parse(data).Files {
		switch f.Name {
		case "fires/events":
			events = string(f.Data)
		case "fires/want":
			want = string(f.Data)
		}
	}
	if events == "" || want == "" {
		return "", "", fmt.Errorf("%s: no case fires; run go test ./internal/timeline/rules -update", path)
	}
	return events, want, nil
}

// prose is a text in which lines indented by four blanks are code: those stay as they are.
func prose(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "    ") {
			lines[i] = text(line)
		}
	}
	return strings.Join(lines, "\n")
}
