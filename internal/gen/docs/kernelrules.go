package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"lacuna/internal/kernelrules"
)

const generatedKernelRule = "<!-- Generated from the rules by go generate; do not edit. -->\n"

// kernelRulePages is a page for each diagnosis of a kernel and the index. cases is the folder of their txtar files.
func kernelRulePages(all []*kernelrules.Rule, cases string) (map[string]string, error) {
	out := make(map[string]string)
	var b strings.Builder
	b.WriteString(generatedKernelRule + "# The diagnoses of `lacuna kernel`\n\n| rule | the fault | since |\n|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s |\n", r.ID, r.ID, cell(r.Title), r.Since)
		page, err := kernelRulePage(r, filepath.Join(cases, r.ID+".txtar"))
		if err != nil {
			return nil, err
		}
		out[r.ID+".md"] = page
	}
	b.WriteString("\nA fault is a finding if its repair is modelled to make the kernel at least 1.1 times faster; what is true and gains less is mentioned. " +
		"The model, and how right it is: [accuracy-kernels](../accuracy-kernels.md).\n")
	out["README.md"] = b.String()
	return out, nil
}

func kernelRulePage(r *kernelrules.Rule, cases string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s: %s\n\nSince %s.", generatedKernelRule, r.ID, text(r.Title), r.Since)
	var needs []string
	for _, n := range r.Needs {
		needs = append(needs, fmt.Sprintf("%s (`--section %s`)", text(n.Name), n.Section))
	}
	fmt.Fprintf(&b, " Needs %s.", strings.Join(needs, ", "))
	if r.Residual {
		b.WriteString(" Asked only when nothing else is found.")
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
	fmt.Fprintf(&b, "\n\n## Example\n\nA kernel's counters as text:\n\n```\n%s```\n\nWhat is found in it, with how sure that is and the predicted time:\n\n```\n%s```", events, finding)
	section("What to do", r.Fix)
	section("What would show that the diagnosis is wrong", r.RefutedBy)
	section("When it is wrong, or silent", r.Limits)
	return b.String() + "\n", nil
}
