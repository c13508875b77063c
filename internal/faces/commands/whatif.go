package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/answer/report"
	"lacuna/internal/faces/pages"
	"lacuna/internal/timeline/changes"
)

var whatifCommand = Command{
	Name:  "whatif",
	Args:  "INPUT...",
	Title: "Estimate the gain of fixes by replaying the capture",
	Doc: `
The capture is replayed as a program: host calls, kernels, copies, and their
dependencies. With the changes applied, the replay gives the time per step,
with bounds. Several -x are applied together: their gains do not add up.

Several inputs are the ranks of one job and are replayed together: a collective
continues when the last rank has reached it.

The predicted time is without the profiler, whose overhead is estimated from the
capture. The time under the same profiler is given too, to compare with a new
capture.

  lacuna whatif --list           all changes
  lacuna whatif --help CHANGE    what a change does, assumes and needs`,
	Examples: []string{
		"lacuna whatif data_loading.lacuna -x prefetch:data_load@12",
		"lacuna whatif data_loading.lacuna -x prefetch:data_load -x pin --format json",
		"lacuna whatif rank0.json.gz rank1.json.gz -x balance-ranks",
		"lacuna whatif --list",
		"lacuna whatif --help prefetch",
	},
	Help:         helpChanges,
	Complete:     map[string]func() []string{"format": reportFormats},
	CompleteWith: map[string]completer{"change": completeChange},
	No:           "a change matches nothing or is not allowed",
	NoVerdict:    "the capture cannot be replayed",
	Setup: func(flags *pflag.FlagSet) Run {
		call := whatifCall{
			changes: flags.StringArrayP("change", "x", nil, "apply `CHANGE`; may be repeated"),
			list:    flags.Bool("list", false, "list all changes"),
			format:  flags.String("format", "text", "output `FORMAT`: text, json or markdown"),
			steps: flags.String("steps", "", "only steps `A:B`: positions from 0, B excluded; start-up steps are "+
				"not removed"),
			pattern: flags.String("step-range", "", "steps are the ranges named `NAME`, or that match /REGEXP/"),
			kind:    flags.String("kind", "", "a serving engine's steps of `KIND`: decode, or decode@32 for batches of 17 to 32"),
			marks:   engineFlag(flags),
			rank:    optionalInt(flags, "rank", "only rank `N`, if there are several"),
		}
		return call.run
	},
}

// A whatifCall is the flags of whatif.
type whatifCall struct {
	changes        *[]string
	list           *bool
	format         *string
	steps, pattern *string
	kind, marks    *string
	rank           *int
}

func (c whatifCall) run(ctx context.Context, env *Env, args []string) error {
	if *c.list {
		return env.writeHelp(changeList())
	}
	if err := c.check(); err != nil {
		return err
	}
	args, err := inputFiles("whatif", args)
	if err != nil {
		return err
	}
	opt, err := stepOptions(*c.steps, *c.pattern)
	if err != nil {
		return err
	}
	if err := kindOption(*c.kind, *c.marks, &opt); err != nil {
		return err
	}
	x, of, err := env.openJob(args, opt, *c.rank).WhatIf(ctx, *c.changes)
	var cannot *engine.CannotReplayError
	switch {
	case errors.As(err, &cannot):
		return &statusError{NoVerdict, err}
	case err != nil:
		return err
	}
	if err := c.write(env, of, x); err != nil {
		return err
	}
	return notApplied(env, x)
}

// check refuses a call that is wrong before a large file is read.
func (c whatifCall) check() error {
	if err := oneOf("--format", *c.format, reportFormats()); err != nil {
		return err
	}
	if err := checkRank("whatif", *c.rank); err != nil {
		return err
	}
	if len(*c.changes) == 0 {
		return errCall("whatif: no change given; try -x CHANGE, from lacuna whatif --list")
	}
	for _, text := range *c.changes {
		if _, err := findChange(text); err != nil {
			return err
		}
	}
	return nil
}

// findChange is the change that a text of -x names.
func findChange(text string) (*changes.Change, error) {
	c, _, err := changes.Find(text)
	if err == nil {
		return c, nil
	}
	name, _, _ := strings.Cut(text, ":")
	hint := ""
	if near, ok := nearest(name, changeNames()); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return nil, errCall("whatif: %w%s", err, hint)
}

func (c whatifCall) write(env *Env, of report.Input, x *report.WhatIf) error {
	return env.show(*c.format, pages.WhatIf(of, x), x)
}

// notApplied tells which changes were not made; then the answer is no.
func notApplied(env *Env, x *report.WhatIf) error {
	no := false
	for _, c := range x.Changes {
		if !c.Applied {
			env.tell("-x %s: %s", c.Change, c.WhyNot)
			no = true
		}
	}
	if no {
		return &statusError{status: No}
	}
	return nil
}
