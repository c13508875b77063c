package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/compare"
	"lacuna/internal/diagnose"
	"lacuna/internal/facts"
	"lacuna/internal/measure"
	"lacuna/internal/page"
	"lacuna/internal/pages"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/report"
	"lacuna/internal/writers"
)

var diffCommand = Command{
	Name:  "diff",
	Args:  "BEFORE AFTER",
	Title: "Say what changed between two sets of runs, and whether it is real",
	Doc: `
Each side is a file, a directory or a quoted glob: PyTorch traces, Nsight
Systems exports, kernel reports of ncu, or lacuna.metrics files. The two sides
may be of different formats.

With several runs a side, a run is one sample. With one, the interval is over
its steps, widened by what runs of such programs are known to scatter, and the
output says so. A change is real if its 95 % interval lies beyond --min-effect.
What cannot be told is called undecided, with the runs that would tell.

Of two kernel reports it says what moved inside each kernel and what that means:
time, traffic, hit rates, what warps wait for, and which findings are gone.

Of a recording of several ranks one is compared, with the same one of the other
side: that of --rank, else the slowest of BEFORE. Ranks are no repeats.

Kernels are matched through renaming, splitting and fusion. What explains the
change of the step sums to it. The exit status is 0 whatever changed: the gate
for CI is lacuna check.`,
	Examples: []string{
		"lacuna diff before.json.gz after.json.gz",
		"lacuna diff 'before/*.sqlite' 'after/*.sqlite' --format markdown",
		"lacuna diff before.sqlite after.sqlite --predicted whatif.json",
		"lacuna diff slow.ncu-rep fixed.ncu-rep",
		"lacuna diff gemm.ncu-rep gemm.ncu-rep --kernel sgemm_naive=sgemm_tiled",
	},
	Complete:  map[string]func() []string{"format": diffFormats},
	NoVerdict: "the two are not comparable",
	Setup: func(flags *pflag.FlagSet) Run {
		call := diffCall{
			format:    flags.String("format", "text", "`FORMAT` is text, markdown, csv or json"),
			steps:     flags.String("steps", "", "of captures, only the steps at positions `A:B`, from 0, B excluded"),
			pattern:   flags.String("step-range", "", "ranges called `NAME` mark steps; /REGEXP/ for a pattern"),
			effect:    flags.String("min-effect", "2%", "changes under `SHARE` of before are none"),
			force:     flags.Bool("force", false, "end with 0 though GPUs, drivers, libraries or shapes differ"),
			predicted: flags.String("predicted", "", "hold the answer of lacuna whatif --format json in `FILE` against what was achieved"),
			kernel:    flags.String("kernel", "", "of kernel reports, only kernels in whose names `NAME` occurs; BEFORE=AFTER where the two differ"),
			rank:      optionalInt(flags, "rank", "of several inputs, or ranks in one, only rank `N`"),
			top:       flags.Int("limit", 0, "at most `N` rows in each list (default 8; csv and json all)"),
		}
		return call.run
	},
}

func diffFormats() []string { return []string{"text", "markdown", "csv", "json"} }

type diffCall struct {
	format, steps, pattern, effect, predicted, kernel *string
	force                                             *bool
	top, rank                                         *int
}

func (c diffCall) run(ctx context.Context, env *Env, args []string) error {
	if err := oneOf("--format", *c.format, diffFormats()); err != nil {
		return err
	}
	if len(args) != 2 {
		return errCall("diff: want BEFORE and AFTER, got %d; several runs of one side are a directory or a quoted glob: lacuna diff 'a/*.json' 'b/*.json'", len(args))
	}
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return err
	}
	steps, err := stepOptions(*c.steps, *c.pattern)
	if err != nil {
		return err
	}
	whatif, err := readWhatIf(*c.predicted)
	if err != nil {
		return err
	}
	only, onlyAfter, err := parseKernelPair(*c.kernel)
	if err != nil {
		return err
	}
	if err := checkRank("diff", *c.rank); err != nil {
		return err
	}
	ranks := newRankChoice(*c.rank)
	before, err := env.readSide(ctx, args[0], steps, only, ranks)
	if err != nil {
		return err
	}
	after, err := env.readSide(ctx, args[1], steps, onlyAfter, ranks)
	if err != nil {
		return err
	}
	d := compare.Diff(before, after, compare.Options{MinEffect: effect, Top: c.rows()})
	d.Warnings = append(d.Warnings, ranks.said()...)
	if whatif != nil {
		if err := d.Hold(whatif); err != nil {
			return fmt.Errorf("--predicted %s: %w", *c.predicted, err)
		}
	}
	if d.Nothing() {
		return &statusError{status: NoVerdict, err: fmt.Errorf("%s and %s have nothing in common that was measured (before: %s; after: %s)", args[0], args[1], measuredWords(before), measuredWords(after))}
	}
	if err := env.writeDiff(*c.format, d, diffNext(d)); err != nil {
		return err
	}
	if !d.Comparable && !*c.force {
		return &statusError{status: NoVerdict, err: fmt.Errorf("%s and %s are not comparable: %s; --force takes the verdicts anyway", args[0], args[1], strings.Join(d.WhyNot, "; "))}
	}
	return nil
}

func (c diffCall) rows() int {
	switch {
	case *c.top > 0:
		return *c.top
	case *c.format == "text" || *c.format == "markdown":
		return 8
	}
	return 0
}

func (e *Env) writeDiff(format string, d *compare.Difference, next []page.Advice) error {
	if format == "csv" {
		return e.write(func(w io.Writer) error { return writers.DiffCSV(w, d) })
	}
	return e.show(format, pages.Diff(d, next), d)
}

// measuredWords says what one side has.
func measuredWords(side []*compare.Capture) string {
	var runs []*measure.Run
	for _, c := range side {
		runs = append(runs, c.Run)
	}
	switch names := measure.Names(runs); len(names) {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
}

// diffNext is which commands to run after a comparison.
func diffNext(d *compare.Difference) []page.Advice {
	if len(d.After.Tools) == 0 || d.After.Tools[0] == "" || len(d.Before.Runs) == 0 || len(d.After.Runs) == 0 {
		return nil
	}
	after := writers.ShellWord(d.After.Runs[0])
	if d.Step == nil {
		return []page.Advice{{Command: "lacuna kernel " + after, Why: "what is left to repair"}}
	}
	var out []page.Advice
	if d.Comparable && d.Step.Verdict == "undecided" {
		why := "with several captures a side, each in a folder of its own"
		if n := d.Step.RunsNeeded; n > 0 {
			why = fmt.Sprintf("with about %d captures a side, each side in a folder of its own", n)
		}
		out = append(out, page.Advice{Command: "lacuna diff before/ after/", Why: why})
	}
	why := "what is left to gain"
	if d.Step.Verdict == "slower" {
		why = "where the time goes now"
	}
	return append(out, page.Advice{Command: "lacuna report " + after, Why: why})
}

// readSide reads the runs of one side. Findings and kernels are of the first capture: they change with the program,
// not with the run.
func (e *Env) readSide(ctx context.Context, arg string, steps facts.StepOptions, only *regexp.Regexp, ranks *rankChoice) ([]*compare.Capture, error) {
	files, err := runFiles([]string{arg})
	if err != nil {
		return nil, err
	}
	var out []*compare.Capture
	for _, path := range files {
		some, err := e.readCaptures(ctx, path, steps, only, ranks, len(out) == 0)
		if err != nil {
			if len(files) > 1 && !strings.ContainsAny(arg, "*?[") {
				err = fmt.Errorf("%w; every file of the directory is taken for a run: name those that are, as in '%s'", err, filepath.Join(arg, "*.json.gz"))
			}
			return nil, err
		}
		out = append(out, some...)
	}
	return out, ranks.some(len(out))
}

// readCaptures reads what a comparison needs of a file; whole: with findings.
func (e *Env) readCaptures(ctx context.Context, path string, steps facts.StepOptions, only *regexp.Regexp, ranks *rankChoice, whole bool) ([]*compare.Capture, error) {
	runs, err := metricsFile(path)
	if err != nil {
		return nil, err
	}
	if runs != nil {
		var out []*compare.Capture
		for _, r := range runs {
			if ranks.keep(r) {
				out = append(out, &compare.Capture{Run: r})
			}
		}
		return out, nil
	}
	bar := e.newProgress(path)
	defer bar.stop()
	trace, kernels, err := reader.OpenEither(ctx, path, readers.All, reader.Options{
		Need:     diagnose.Needs | report.MeasureNeeds,
		Progress: bar.set,
		Notice:   func(text string) { bar.above(e, path+": "+text) },
	})
	if err != nil {
		return nil, err
	}
	if kernels != nil {
		return kernelCapture(kernels, only)
	}
	in := byRank(facts.Of(trace))
	i, err := ranks.choose(in, steps)
	if err != nil || i < 0 {
		return nil, err
	}
	c, err := takeRank(in, i, steps, whole)
	if err != nil {
		return nil, err
	}
	return []*compare.Capture{c}, nil
}

// takeRank is what a comparison needs of one rank of a file; whole: with findings, which are judged in the light of the
// other ranks.
func takeRank(in []*facts.Facts, i int, steps facts.StepOptions, whole bool) (*compare.Capture, error) {
	f := in[i]
	run, err := measuresOf(in, i, steps)
	if err != nil {
		return nil, err
	}
	var rank *int32
	if n := f.Trace.Info.Rank; n >= 0 { // a copy: the trace goes
		rank = &n
	}
	if !whole {
		return &compare.Capture{Run: run, Rank: rank}, nil
	}
	r, err := answerOf(in, i, steps)
	if err != nil {
		return nil, err
	}
	found, err := f.Steps(steps)
	if err != nil {
		return nil, err
	}
	c := compare.Take(f, found, r, run)
	c.Rank = rank
	return c, nil
}

// readWhatIf reads the answer of whatif; nil: none was named.
func readWhatIf(path string) (*report.WhatIf, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readSmall(path)
	if err != nil {
		return nil, fmt.Errorf("--predicted: %w", err)
	}
	w := new(report.WhatIf)
	if err := json.Unmarshal(text, w); err != nil || w.Schema == 0 {
		return nil, fmt.Errorf("--predicted %s: is no answer of lacuna whatif --format json", path)
	}
	return w, nil
}

// parseShare understands 2%, 0.5 % and 0.02.
func parseShare(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errCall("%s %s: want a share such as 2%% or 0.02", flag, text)
	}
	if percent {
		x /= 100
	}
	return x, nil
}
