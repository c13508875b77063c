package commands

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"

	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
)

var reportCommand = Command{
	Name:  "report",
	Args:  "INPUT...",
	Title: "Show where a step's time goes and what each fix would gain",
	Doc: `
INPUT is a capture, a folder of captures or a quoted glob. Several inputs, or
ranks in one recording, are the ranks of one job.

A step lasts from the first kernel launched inside one step marker to the first
kernel launched inside the next. Step markers are the ranges that --step-range
names; else marks of a serving engine, of which the kind that takes most time
counts (--kind); else ranges called "step 3" or the like; else the profiler's
own; else ranges that repeat like turns of a loop, or what PyTorch marks in
each turn (optimizer, data loader); else steps are found by the periodicity of
launches, or of the operators or calls of the host if no GPU work is recorded.
First steps that load, compile or tune are left out and shown apart.

Every instant of a GPU counts once: as compute, exposed communication (while no
compute runs), copy (while neither runs) or idle. The parts sum to the step.

Findings come first, in the order to fix them. A gain is the time saved per step
when the capture is replayed with that fix, without the profiler, with its
range. lacuna whatif replays any change. Of several ranks, the slowest is
diagnosed. --kernels adds reports of ncu on single kernels: why the hot kernels
are slow, and what that costs per step.

A terminal shows the verdict on one screen, a pipe or a file the whole report;
-v shows everything.`,
	Examples: []string{
		"lacuna report trace.json.gz",
		"lacuna report run.sqlite --steps 2:6 --format json",
		"lacuna report trace.json.gz --format markdown -o report.md",
		"lacuna report trace.json.gz --explain input_pipeline",
		"lacuna report run.sqlite --fail-on input_pipeline",
		"lacuna report trace.json.gz --kernels gemm.ncu-rep",
	},
	Complete:  map[string]func() []string{"format": reportFormats, "fail-on": failWords, "explain": ruleNames},
	No:        "--fail-on matches",
	NoVerdict: "what --fail-on names cannot be judged",
	Setup: func(flags *pflag.FlagSet) Run {
		view := reportFlags(flags)
		steps := flags.String("steps", "", "only steps `A:B`: positions from 0, B excluded; start-up steps are not "+
			"removed")
		pattern := flags.String("step-range", "", "steps are the ranges named `NAME`, or that match /REGEXP/")
		kind := flags.String("kind", "", "a serving engine's steps of `KIND`: decode, or decode@32 for batches of 17 to 32")
		marks := engineFlag(flags)
		rank := optionalInt(flags, "rank", "only rank `N`, if there are several")
		device := optionalInt(flags, "device", "only GPU `N` (its CUDA number); findings still cover the whole "+
			"process")
		kernels := flags.StringArray("kernels", nil,
			"add a kernel `REPORT` of ncu on the same program: why hot kernels are slow; may be repeated")
		server := servingFlags(flags)
		failOn := flags.StringSlice("fail-on", nil,
			"exit with 1 if there is a finding of `RULE`, or of at least this severity: high, medium or low")
		return func(ctx context.Context, env *Env, args []string) error {
			if err := view.check(); err != nil {
				return err
			}
			if err := checkFailOn(*failOn); err != nil {
				return err
			}
			if *rank < -1 || *device < -1 {
				return errCall("report: --rank and --device: want 0 or more")
			}
			args, err := inputFiles("report", args)
			if err != nil {
				return err
			}
			stepOpt, err := stepOptions(*steps, *pattern)
			if err != nil {
				return err
			}
			if err := kindOption(*kind, *marks, &stepOpt); err != nil {
				return err
			}
			opt := engine.ReportOptions{Top: view.rows()}
			if opt.Serving, err = server.options(); err != nil {
				return err
			}
			if *device >= 0 {
				d := uint32(*device)
				opt.Device = &d
			}
			if len(*kernels) > 0 {
				if opt.Kernels, err = engine.OpenKernels(ctx, *kernels, env); err != nil {
					return err
				}
			}
			r, err := env.openJob(args, stepOpt, *rank).Report(ctx, opt)
			if err != nil {
				return err
			}
			if err := view.write(env, r, nextSteps(r, *pattern == "")); err != nil {
				return err
			}
			return env.failOn(r, *failOn)
		}
	},
}

func reportFormats() []string { return []string{"text", "json", "markdown"} }

// A reportView is how a report is printed.
type reportView struct {
	format    *string
	limit     *int
	verbose   *bool
	explain   *[]string
	abstained *bool
	short     func(env *Env, format string) bool
}

// reportFlags declares the flags that say how a report is printed.
func reportFlags(flags *pflag.FlagSet) *reportView {
	return &reportView{
		format: flags.String("format", "text", "output `FORMAT`: text, json or markdown"),
		limit:  flags.Int("limit", 0, "at most `N` rows in each list (default 5, json 20)"),

		verbose:   flags.BoolP("verbose", "v", false, "show every finding in full"),
		explain:   flags.StringSlice("explain", nil, "show the findings of `RULE` in full"),
		abstained: flags.Bool("abstained", false, "list everything that could not be judged"),
		short:     shortFlag(flags, "verbose", "explain", "abstained", "limit"),
	}
}

func (v *reportView) check() error {
	for _, name := range *v.explain {
		if err := oneOf("--explain", name, ruleNames()); err != nil {
			return err
		}
	}
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

func (v *reportView) write(env *Env, r *report.Report, next []page.Advice) error {
	for _, name := range *v.explain {
		if !hasFinding(r, name) && !slices.ContainsFunc(r.Negligible, ofRule(name)) {
			env.remark("--explain %s: no such finding here%s", name, whyRuleAbstained(r, name))
		}
	}
	detail := pages.Detail{Whole: *v.verbose, Explain: *v.explain, Abstained: *v.abstained,
		Short: v.short(env, *v.format)}
	return env.show(*v.format, pages.Report(r, next, detail), r)
}
