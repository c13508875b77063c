package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
	"lacuna/internal/runs/gate"
	"lacuna/internal/runs/measure"
)

var checkCommand = Command{
	Name:  "check",
	Args:  "RUN...",
	Title: "Check new runs against budgets and a baseline: the gate for CI",
	Doc: `
RUN is a capture, a kernel report or a lacuna.metrics file, or a directory or
quoted glob of these. Each run is one sample. The baseline is given the same
way, or as history:PROGRAM (see lacuna history).

Rules come from lacuna.yaml (docs/schema) or from flags; flags win. Without
rules, check uses step, peak_memory and the kernels of kernel reports. A measure
is a regression if the 95 % interval of its change lies beyond both limits, the
share and the amount, and the change is not noise, at a level of one false alarm
in a hundred suites. To pass, the data must show that the measure did not get
worse by the limit. Otherwise it is inconclusive, and check estimates how many
runs would settle it. Improvements are reported and fail nothing. Runs at lower
clocks are flagged. Runs on another GPU, driver or library are not comparable.

In a recording of several ranks, check uses one rank: --rank, else the rank of
the baseline, else the slowest. It uses the same rank in all recordings.

--calibrate learns the smallest limits without a false alarm from runs of one
unchanged program, and prints them as lines of lacuna.yaml.`,
	Examples: []string{
		"lacuna check --save baseline.json run.sqlite",
		"lacuna check --baseline baseline.json run.sqlite --limit step=25%,20us",
		"lacuna check --budget 'step<=1s' run.sqlite --format github",
	},
	No:        "a regression",
	NoVerdict: "inconclusive, or not comparable",
	Complete: map[string]func() []string{"format": checkFormats,
		"inconclusive": func() []string { return []string{"pass", "fail"} }},
	Setup: func(flags *pflag.FlagSet) Run {
		call := checkCall{
			baseline: flags.String("baseline", "",
				"compare with the runs in `FILE`, a directory, a glob, or history:PROGRAM"),
			store: flags.String("store", "",
				"history for history:PROGRAM: `PLACE` is a path or a PostgreSQL DSN"),
			config: flags.String("config", "", "read rules from `FILE` (default lacuna.yaml, if it exists)"),
			limits: flags.StringArray("limit", nil,
				"a regression exceeds both limits: `MEASURE=SHARE,AMOUNT`, such as step=5%,20us"),
			budgets: flags.StringArray("budget", nil,
				"absolute limit, with or without a baseline: `MEASURE<=AMOUNT` (or >=), such as 'step<=12ms'"),
			measures: flags.StringArray("measure", nil,
				"also check measures that match `GLOB`, such as 'kernel:*gemm*', with the default limits"),
			same:         flags.StringArray("same", nil, "require the label `NAME` to be equal on both sides"),
			inconclusive: flags.String("inconclusive", "", "count an inconclusive verdict as `WORD`: pass or fail"),
			force:        flags.Bool("force", false, "compare runs on different GPUs, drivers or libraries"),
			save: flags.String("save", "",
				"write the new runs to `FILE` for a later --baseline; if there is a baseline, only on exit status 0"),
			calibrate: flags.Bool("calibrate", false, "learn limits from runs of one unchanged program"),
			format: flags.String("format", "text",
				"output `FORMAT`: text, json, markdown, junit, sarif, github or gitlab"),
			location: flags.String("location", "", "show verdicts at `FILE:LINE` of the repository, in sarif, github "+
				"and gitlab (default: the rule in lacuna.yaml)"),
			also:    flags.StringArray("also", nil, "also write `FORMAT=FILE`, such as junit=junit.xml"),
			steps:   flags.String("steps", "", "only steps `A:B`: positions from 0, B excluded, of captures"),
			kind:    flags.String("kind", "", "a serving engine's steps of `KIND`: decode, or decode@32 for batches of 17 to 32"),
			marks:   engineFlag(flags),
			pattern: flags.String("step-range", "", "steps are the ranges named `NAME`, or that match /REGEXP/"),
			rank:    optionalInt(flags, "rank", "only rank `N`, if there are several"),
		}
		return call.run
	},
}

// checkFiles is the forms of a check that CI systems read.
var checkFiles = map[string]func(w io.Writer, r *gate.Result) error{
	"junit": writers.CheckJUnit, "sarif": writers.CheckSARIF, "github": writers.CheckGitHub,
	"gitlab": writers.CheckGitLab,
}

func checkFormats() []string {
	return []string{"text", "json", "markdown", "junit", "sarif", "github", "gitlab"}
}

type checkCall struct {
	baseline, store, config, inconclusive, save, format, location, steps, kind, marks, pattern *string
	limits, budgets, measures, same, also                                                      *[]string
	force, calibrate                                                                           *bool
	rank                                                                                       *int
}

func (c checkCall) run(ctx context.Context, env *Env, args []string) error {
	also, err := c.forms()
	if err != nil {
		return err
	}
	at, err := locationOf(*c.location)
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
	config, err := readConfig(*c.config)
	if err != nil {
		return near(err)
	}
	flags, err := c.rules()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errCall("check: no RUN given; try lacuna check --baseline old.json new.json")
	}
	if err := checkRank("check", *c.rank); err != nil {
		return err
	}
	files, err := engine.RunFiles(args)
	if err != nil {
		return err
	}
	config.Rules = gate.Override(flags, config.Rules)
	in := env.openRuns(steps, *c.rank)
	if *c.calibrate {
		runs, err := in.Read(ctx, files)
		if err != nil {
			return err
		}
		env.tellRanks(in)
		return near(env.calibrate(runs, config.Rules, *c.format))
	}
	if *c.baseline != "" {
		config.Baseline = *c.baseline
	}
	if *c.inconclusive != "" {
		config.Inconclusive = *c.inconclusive
	}
	config.Same = append(config.Same, *c.same...)
	if _, err := os.Stat(config.Baseline); *c.save != "" && *c.baseline == "" && errors.Is(err, os.ErrNotExist) {
		config.Baseline = "" // of the file of rules, and about to be made
	}
	before, after, what, err := sides(ctx, config, *c.store, files, in)
	if err != nil {
		return err
	}
	if before == nil && *c.save != "" {
		if config.Rules = budgets(config.Rules); len(config.Rules) == 0 {
			env.tellRanks(in)
			return env.save(*c.save, after)
		}
	}
	if len(config.Rules) == 0 {
		config.Rules = gate.Defaults(slices.Concat(before, after))
	}
	if before == nil && slices.ContainsFunc(config.Rules, func(r gate.Rule) bool { return r.Relative() }) {
		return errCall("check: no baseline to compare with; name one with --baseline, make one with --save " +
			"baseline.json, or give budgets alone (--budget 'step<=12ms')")
	}
	r, err := gate.Check(before, after, gate.Options{Rules: config.Rules, Same: config.Same, Config: config.Path,
		Inputs: files, Baseline: what, Inconclusive: config.Inconclusive, Force: *c.force})
	if err != nil {
		return near(err)
	}
	r.Warnings = append(r.Warnings, in.Said()...)
	if r.Location = at; at.File == "" {
		r.Location.File = inRepository(config.Path)
	}
	return c.tell(env, r, also, after)
}

// budgets is what rules say that needs no baseline.
func budgets(rules []gate.Rule) (out []gate.Rule) {
	for _, r := range rules {
		if r.Max != nil || r.Min != nil {
			r.Change, r.Floor = nil, nil
			out = append(out, r)
		}
	}
	return out
}

// tell writes the result in every form that was asked for, and ends with its exit status.
func (c checkCall) tell(env *Env, r *gate.Result, also []form, after []*measure.Run) error {
	if err := env.writeCheck(r, *c.format); err != nil {
		return err
	}
	for _, f := range also {
		other := *env
		other.output = f.file
		if err := other.writeCheck(r, f.name); err != nil {
			return err
		}
	}
	if *c.save != "" {
		if r.ExitStatus != Done {
			env.remark("--save %s: not written, since the verdict is %s", *c.save,
				strings.ReplaceAll(string(r.Verdict), "_", " "))
		} else if err := env.save(*c.save, after); err != nil {
			return err
		}
	}
	if r.ExitStatus != Done {
		return &statusError{status: r.ExitStatus}
	}
	return nil
}

func (e *Env) writeCheck(r *gate.Result, format string) error {
	if write := checkFiles[format]; write != nil {
		return e.write(func(w io.Writer) error { return write(w, r) })
	}
	return e.show(format, pages.Check(r), r)
}

// A form is a result in one format in a file.
type form struct{ name, file string }

// forms checks the flags that take words.
func (c checkCall) forms() (out []form, err error) {
	if err := oneOf("--format", *c.format, checkFormats()); err != nil {
		return nil, err
	}
	if *c.inconclusive != "" {
		if err := oneOf("--inconclusive", *c.inconclusive, []string{"pass", "fail"}); err != nil {
			return nil, err
		}
	}
	for _, text := range *c.also {
		name, file, ok := strings.Cut(text, "=")
		if !ok || file == "" {
			return nil, errCall("--also %s: want FORMAT=FILE such as junit=junit.xml", text)
		}
		if err := oneOf("--also", name, checkFormats()); err != nil {
			return nil, err
		}
		out = append(out, form{name, file})
	}
	return out, nil
}

// rules is what the flags say, in the order of the flags' kinds.
func (c checkCall) rules() (out []gate.Rule, err error) {
	for _, kind := range []struct {
		texts *[]string
		parse func(string) (gate.Rule, error)
	}{{c.limits, gate.ParseLimit}, {c.budgets, gate.ParseBudget},
		{c.measures, func(text string) (gate.Rule, error) {
			return gate.Rule{Pattern: text, From: "--measure"},
				nil
		}}} {
		for _, text := range *kind.texts {
			r, err := kind.parse(text)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// defaultConfig is the file of rules that is read without being asked for.
const defaultConfig = "lacuna.yaml"

// readConfig reads a file of rules; that of nobody's asking need not be there.
func readConfig(path string) (*gate.Config, error) {
	asked := path != ""
	if !asked {
		path = defaultConfig
	}
	text, err := readSmall(path)
	if errors.Is(err, os.ErrNotExist) && !asked {
		return new(gate.Config), nil
	}
	if err != nil {
		return nil, err
	}
	return gate.ParseConfig(path, text)
}

// near adds the nearest of the names that there are to an error about one that there is not.
func near(err error) error {
	var config *gate.ConfigError
	var none *gate.NoMeasureError
	name, have := "", []string(nil)
	switch {
	case errors.As(err, &config):
		name, have = config.Key, config.Known
	case errors.As(err, &none):
		name, have = none.Name, none.Have
	}
	if found, ok := nearest(name, have); ok && name != "" {
		return fmt.Errorf("%w; did you mean %s?", err, found)
	}
	return err
}
