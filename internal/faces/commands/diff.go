package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
	"lacuna/internal/runs/compare"
)

var diffCommand = Command{
	Name:  "diff",
	Args:  "BEFORE AFTER",
	Title: "Compare two sets of runs; show what changed and whether it is real",
	Doc: `
Each side is a file, a directory or a quoted glob: PyTorch traces, Nsight
Systems exports, kernel reports of ncu, or lacuna.metrics files. The two sides
may have different formats.

With several runs per side, each run is one sample. With one run per side, the
interval comes from its steps, widened by the usual scatter of such programs
from run to run, and the output says so. A change is real if its 95 % interval
lies beyond --min-effect. If the data cannot decide, the verdict is
inconclusive, with an estimate of the runs that would settle it.

For two kernel reports, diff shows what changed inside each kernel and what that
means: time, traffic, hit rates, stall reasons, and the findings that are gone.

In a recording of several ranks, one rank is compared with the same rank of the
other side: --rank, else the slowest of BEFORE. Ranks do not count as repeated
runs.

Kernels are matched across renaming, splitting and fusion. The parts that
explain the change of the step sum to it. The exit status is 0 whatever changed:
the gate for CI is lacuna check.`,
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
			format:  flags.String("format", "text", "output `FORMAT`: text, markdown, csv or json"),
			steps:   flags.String("steps", "", "only steps `A:B`: positions from 0, B excluded, of captures"),
			kind:    flags.String("kind", "", "a serving engine's steps of `KIND`: decode, or decode@32 for batches of 17 to 32"),
			marks:   engineFlag(flags),
			pattern: flags.String("step-range", "", "steps are the ranges named `NAME`, or that match /REGEXP/"),
			effect:  flags.String("min-effect", "2%", "ignore changes below `SHARE` of before"),
			force: flags.Bool("force", false, "compare, and exit with 0, even if GPUs, drivers, libraries or "+
				"shapes differ"),
			predicted: flags.String("predicted", "",
				"compare the prediction in `FILE` (from lacuna whatif --format json) with the measured gain"),
			kernel: flags.String("kernel", "", "only kernels whose names contain `NAME`, in kernel reports; "+
				"BEFORE=AFTER if the names differ"),
			rank: optionalInt(flags, "rank", "only rank `N`, if there are several"),
			top:  flags.Int("limit", 0, "at most `N` rows in each list (default 8; csv and json all)"),
		}
		return call.run
	},
}

func diffFormats() []string { return []string{"text", "markdown", "csv", "json"} }

type diffCall struct {
	format, steps, kind, marks, pattern, effect, predicted, kernel *string
	force                                                          *bool
	top, rank                                                      *int
}

func (c diffCall) run(ctx context.Context, env *Env, args []string) error {
	if err := oneOf("--format", *c.format, diffFormats()); err != nil {
		return err
	}
	if len(args) != 2 {
		return errCall("diff: want BEFORE and AFTER, got %d arguments; for several runs per side give a directory "+
			"or a quoted glob: lacuna diff 'a/*.json' 'b/*.json'", len(args))
	}
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return err
	}
	steps, err := stepOptions(*c.steps, *c.pattern)
	if err != nil {
		return err
	}
	if err := kindOption(*c.kind, *c.marks, &steps); err != nil {
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
	d, err := engine.Diff(ctx, args[0], args[1], engine.DiffOptions{
		Open:    engine.Options{Steps: steps, Rank: *c.rank, Progress: env},
		Compare: compare.Options{MinEffect: effect, Top: c.rows()},
		Kernel:  [2]*regexp.Regexp{only, onlyAfter}, Predicted: whatif,
	})
	if err != nil {
		return c.cannot(err)
	}
	if err := env.writeDiff(*c.format, d, diffNext(d)); err != nil {
		return err
	}
	if err := engine.NotComparable(args[0], args[1], d); err != nil && !*c.force {
		return &statusError{status: NoVerdict, err: fmt.Errorf("%w; --force compares anyway", err)}
	}
	return nil
}

// cannot gives an error of a comparison its exit status.
func (c diffCall) cannot(err error) error {
	var none *engine.NothingInCommonError
	var predicted *engine.PredictedError
	switch {
	case errors.As(err, &none):
		return &statusError{status: NoVerdict, err: err}
	case errors.As(err, &predicted):
		return fmt.Errorf("--predicted %s: %w", *c.predicted, err)
	}
	return err
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

// diffNext is which commands to run after a comparison.
func diffNext(d *compare.Difference) []page.Advice {
	if len(d.After.Tools) == 0 || d.After.Tools[0] == "" || len(d.Before.Runs) == 0 || len(d.After.Runs) == 0 {
		return nil
	}
	after := pages.ShellWord(d.After.Runs[0])
	if d.Step == nil {
		return []page.Advice{{Command: "lacuna kernel " + after, Why: "what is left to fix"}}
	}
	var out []page.Advice
	if d.Comparable && d.Step.Verdict == compare.Undecided {
		why := "with several captures per side, each side in its own folder"
		if n := d.Step.RunsNeeded; n > 0 {
			why = fmt.Sprintf("with about %d captures per side, each side in its own folder", n)
		}
		out = append(out, page.Advice{Command: "lacuna diff before/ after/", Why: why})
	}
	why := "what is left to gain"
	if d.Step.Verdict == compare.Slower {
		why = "where the time goes now"
	}
	return append(out, page.Advice{Command: "lacuna report " + after, Why: why})
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
		return nil, fmt.Errorf("--predicted %s: is not the output of lacuna whatif --format json", path)
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
