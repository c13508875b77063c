package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"lacuna/internal/kernel/kernelrules"
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
	b.WriteString(kernelModel)
	b.WriteString("\nA fault is a finding if the model predicts that its fix makes the kernel at least 1.1 times as fast; faults that gain less are only mentioned. " +
		"The model, and how right it is: [accuracy-kernels](../accuracy-kernels.md).\n")
	out["README.md"] = b.String()
	return out, nil
}

// kernelModel is how times are predicted, in words.
const kernelModel = `
## How times are predicted

A kernel lasts as long as its busiest resource needs: T x u x s / cap, the largest over DRAM, L2, L1, the load unit,
instruction issue and the arithmetic pipes. u is the share of the resource's peak that was measured, s the part of
the demand on it that remains after the fix (bytes, wavefronts, instructions), cap the share of the peak that
kernels reach: 0.88 of DRAM, issue and the pipes, 0.85 of the caches, with 0.93 to 0.99 at best and about 0.65 at
worst, which gives the range. Work at several levels overlaps in part: with two of equal length a kernel takes a
fifth more than with one. Kernels that write to DRAM take up to 18 µs more, short blocks leave slots empty between
them, and start and end take 3 µs. Where waiting remains, the rule adds a floor. Fixes of several findings are
priced together: the remaining parts are multiplied, gains are not added.

Times are those under the profiler, which locks clocks unless --clock-control none is given.
`

func kernelRulePage(r *kernelrules.Rule, cases string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s: %s\n\nSince %s.", generatedKernelRule, r.ID, text(r.Title), r.Since)
	var needs []string
	for _, n := range r.Needs {
		needs = append(needs, fmt.Sprintf("%s (`--section %s`)", text(n.Name), n.Section))
	}
	fmt.Fprintf(&b, " Needs %s.", strings.Join(needs, ", "))
	if r.Residual {
		b.WriteString(" Reported only when nothing else is found.")
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
	fmt.Fprintf(&b, "\n\n## Example\n\nA kernel's counters as text:\n\n```\n%s```\n\nThe findings in it, each with its confidence and the predicted time:\n\n```\n%s```", events, finding)
	section("What to do", r.Fix)
	section("What would show that the diagnosis is wrong", r.RefutedBy)
	section("When it is wrong, or silent", r.Limits)
	return b.String() + "\n", nil
}
