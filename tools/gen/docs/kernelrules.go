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
	b.WriteString(generatedKernelRule + "# The diagnoses of `lacuna kernel`\n\n| rule | problem | since " +
		"|\n|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s |\n", r.ID, r.ID, cell(r.Title), r.Since)
		page, err := kernelRulePage(r, filepath.Join(cases, r.ID+".txtar"))
		if err != nil {
			return nil, err
		}
		out[r.ID+".md"] = page
	}
	b.WriteString(kernelModel)
	b.WriteString("\nA problem is a finding if its fix is predicted to make the kernel at least 1.1 times faster; " +
		"one that gains less is mentioned. " +
		"The model and its accuracy: [accuracy-kernels](../accuracy-kernels.md).\n")
	out["README.md"] = b.String()
	return out, nil
}

// kernelModel is how times are predicted, in words.
const kernelModel = `
## How times are predicted

A kernel takes as long as its busiest resource needs: T x u x s / cap, the maximum over DRAM, L2, L1, the load/store
unit, instruction issue and the arithmetic pipes. T is the measured time. u is the measured share of the resource's
peak. s is the share of the demand that is left after the fix (fewer bytes, passes or instructions). cap is the share
of the peak that kernels reach: 0.88 for DRAM, issue and the pipes, 0.85 for the caches. The range of the prediction
comes from caps of 0.93 to 0.99 at best and about 0.65 at worst.

Work on several resources overlaps only in part: with two equally busy ones a kernel takes a fifth longer than with one.
Kernels that write to DRAM take up to 18 us more, short blocks leave slots empty between them, and start and end take
3 us. If stalls remain, the rule adds a floor. Fixes of several findings are priced together: their shares of demand are
multiplied, gains are not added.

Times are those under the profiler, which locks the clocks unless it runs with --clock-control none.
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
		b.WriteString(" Runs only if no other rule finds anything.")
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
	fmt.Fprintf(&b, "\n\n## Example\n\nThe counters of a kernel as text:\n\n```\n%s```\n\nThe finding, with its "+
		"confidence and the predicted time:\n\n```\n%s```", events, finding)
	section("What to do", r.Fix)
	section("What would refute the diagnosis", r.RefutedBy)
	section("When it is wrong or finds nothing", r.Limits)
	return b.String() + "\n", nil
}
