package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/report"
	"lacuna/internal/writers"
)

var reportCommand = Command{
	Name:  "report",
	Args:  "INPUT...",
	Title: "Say where a step's time goes, and why the GPU waits",
	Doc: `
Several inputs are the ranks of one job. A step lasts from the first kernel
launched inside a step marker to the first one launched inside the next. Markers
are ranges that --step-range names; else ranges called "step 3" or the like;
else the profiler's own; else the rhythm of the launches. First steps that load,
compile or tune are left out and shown apart.

Every instant of a GPU counts once: as compute, exposed communication (while no
compute runs), copy (while neither runs) or idle. The parts sum to the step.`,
	Examples: []string{
		"lacuna report trace.json.gz",
		"lacuna report run.sqlite --steps 2:6 --format json",
		"lacuna report trace.json.gz --format markdown -o report.md",
	},
	Complete: map[string]func() []string{"format": reportFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		view := reportFlags(flags)
		steps := flags.String("steps", "", "only the steps at positions `A:B`, from 0, B excluded; start-up is not looked for")
		pattern := flags.String("step-range", "", "ranges called `NAME` mark steps; /REGEXP/ for a pattern")
		rank := optionalInt(flags, "rank", "of several inputs, only rank `N`")
		device := optionalInt(flags, "device", "only GPU `N` (its CUDA number)")
		return func(ctx context.Context, env *Env, args []string) error {
			if err := view.check(); err != nil {
				return err
			}
			if *rank < -1 || *device < -1 {
				return errCall("report: --rank and --device count from 0")
			}
			if err := needInputs("report", args); err != nil {
				return err
			}
			stepOpt, err := stepOptions(*steps, *pattern)
			if err != nil {
				return err
			}
			opt := report.Options{Steps: stepOpt, Top: view.rows()}
			if *device >= 0 {
				d := uint32(*device)
				opt.Device = &d
			}
			in, err := env.readAll(ctx, args, report.Needs, *rank)
			if err != nil {
				return err
			}
			r, err := report.Build(in, opt)
			if err != nil {
				return err
			}
			return view.write(env, r, nextSteps(r, *pattern == ""))
		}
	},
}

func reportFormats() []string { return []string{"text", "json", "markdown"} }

// A reportView is how a report is printed.
type reportView struct {
	format *string
	limit  *int
}

// reportFlags declares the flags that say how a report is printed.
func reportFlags(flags *pflag.FlagSet) *reportView {
	return &reportView{
		format: flags.String("format", "text", "`FORMAT` is text, json or markdown"),
		limit:  flags.Int("limit", 0, "at most `N` rows in each list (default 5, json 20)"),
	}
}

func (v *reportView) check() error {
	if *v.limit < 0 {
		return errCall("--limit %d: want a number of rows", *v.limit)
	}
	return oneOf("--format", *v.format, reportFormats())
}

// rows is how long a list may be: for people what fits on a screen with the rest.
func (v *reportView) rows() int {
	switch {
	case *v.limit > 0:
		return *v.limit
	case *v.format == "json":
		return 20
	}
	return 5
}

func (v *reportView) write(env *Env, r *report.Report, next []writers.Advice) error {
	page := env.page()
	return env.write(func(w io.Writer) error {
		switch *v.format {
		case "json":
			return writers.ReportJSON(w, r)
		case "markdown":
			return writers.ReportMarkdown(w, r)
		}
		return writers.ReportText(w, r, next, page)
	})
}
