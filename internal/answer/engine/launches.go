package engine

import (
	"context"
	"strings"

	"lacuna/internal/answer/diagnose"
	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/launchplan"
)

// namedShare is the share of a step that a kernel must take to come first because a finding names it: of one that takes
// less, not even its disappearance would be seen.
const namedShare = 0.02

// namedTop is how many of the hottest kernels are looked for in what findings say.
const namedTop = 20

// Launches chooses the launches of the slowest that are worth a kernel report: wish.First are those that findings
// name, in their order, unless it says others.
func (j *Job) Launches(ctx context.Context, wish launchplan.Wish) (*launchplan.Plan, error) {
	if wish.First == nil {
		r, err := j.Report(ctx, ReportOptions{Top: namedTop})
		if err != nil {
			return nil, err
		}
		wish.First = namedKernels(r)
	}
	in, slowest, err := j.Facts(ctx, diagnose.Needs)
	if err != nil {
		return nil, err
	}
	return launchplan.Choose(in[slowest], wish)
}

// namedKernels is the kernels that the findings name, in the findings' order.
func namedKernels(r *report.Report) (out []string) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Severity == "info" {
			continue
		}
		text := f.Change
		for _, e := range f.Evidence {
			text += "\n" + e.Text + "\n" + strings.Join(e.Rows, "\n")
		}
		for _, k := range r.TopKernels {
			if k.Kind == "compute" && k.ShareOfStep >= namedShare && strings.Contains(text, k.Name) {
				out = append(out, k.Name)
			}
		}
	}
	return out
}
