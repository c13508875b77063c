package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/pages"
	"lacuna/internal/timeline/tables"
)

var statsCommand = Command{
	Name:  "stats",
	Args:  "INPUT...",
	Title: "Print tables: kernels, calls, copies, ranges, operators, steps",
	Doc: `
A table's name may be followed by options: cuda_gpu_kern_sum:base, or with a
value: op_sum:group-by=shape. Several inputs, or ranks in one recording, are the
ranks of one job for tables that compare ranks; other tables are printed for
each.

  lacuna stats --list          every table in a line
  lacuna stats --help NAME     a table's columns, units and formula`,
	Examples: []string{
		"lacuna stats trace.json.gz -r op_sum --limit 10",
		"lacuna stats trace.json.gz -r op_sum --group-by shape",
		"lacuna stats run.sqlite -r cuda_gpu_kern_sum,cuda_api_sum --format csv",
		"lacuna stats --list",
		"lacuna stats --help cuda_gpu_kern_sum",
	},
	Help: helpTables,
	Complete: map[string]func() []string{"format": tableFormats, "tables": tableNames,
		"group-by": func() []string { return []string{"shape", "stack"} }},
	No: "the capture has no data for one of the tables",
	Setup: func(flags *pflag.FlagSet) Run {
		call := statsCall{
			names: flags.StringArrayP("tables", "r", nil,
				"print `TABLE[,TABLE...]` (default: the usual tables that have data)"),
			list:   flags.Bool("list", false, "list all tables"),
			format: flags.String("format", "text", "output `FORMAT`: text, csv, json or markdown"),
			limit:  flags.Int("limit", 0, "print at most `N` rows of each table (default all)"),
			group:  flags.String("group-by", "", "short for op_sum:group-by=`WHAT`: shape or stack"),
			steps:  flags.String("steps", "", "only steps `A:B`: positions from 0, B excluded, for tables by step"),
			ranges: flags.String("step-range", "", "steps are the ranges named `NAME`, or that match /REGEXP/"),
			rank:   optionalInt(flags, "rank", "only rank `N`, if there are several"),
		}
		return call.run
	},
}

// A statsCall is the flags of stats.
type statsCall struct {
	names  *[]string
	list   *bool
	format *string
	limit  *int
	group  *string
	steps  *string
	ranges *string
	rank   *int
}

func (c statsCall) run(ctx context.Context, env *Env, args []string) error {
	if *c.list {
		return env.writeHelp(tableList())
	}
	if err := oneOf("--format", *c.format, tableFormats()); err != nil {
		return err
	}
	if *c.limit < 0 {
		return errCall("--limit %d: want a number of rows", *c.limit)
	}
	asked, err := parseRequests(*c.names)
	if err == nil && *c.group != "" {
		err = groupBy(asked, *c.group)
	}
	if err != nil {
		return err
	}
	if args, err = inputFiles("stats", args); err != nil {
		return err
	}
	if err := checkRank("stats", *c.rank); err != nil {
		return err
	}
	opt, err := c.stepOptions(asked)
	if err != nil {
		return err
	}
	if len(asked) == 0 {
		return c.usual(ctx, env, args)
	}
	sheets, missing, err := env.fill(ctx, args, *c.rank, asked, opt)
	if err != nil {
		return err
	}
	if len(sheets) > 0 {
		if err := c.write(env, sheets); err != nil {
			return err
		}
	}
	for _, m := range missing {
		env.tell("%v", m)
	}
	switch {
	case len(sheets) == 0:
		return &statusError{status: Wrong}
	case len(missing) > 0:
		return &statusError{status: No}
	}
	return nil
}

// stepOptions is which steps the tables are to look at; it is an error to say so to tables that do not.
func (c statsCall) stepOptions(asked []engine.Request) (engine.StepOptions, error) {
	opt, err := stepOptions(*c.steps, *c.ranges)
	if err != nil || *c.steps == "" && *c.ranges == "" {
		return opt, err
	}
	if slices.ContainsFunc(asked, func(r engine.Request) bool { return r.Table.BySteps }) {
		return opt, nil
	}
	var names []string
	for _, t := range tables.All {
		if t.BySteps {
			names = append(names, t.Name)
		}
	}
	return opt, errCall("stats: --steps and --step-range go with tables by step: -r %s", strings.Join(names, ", "))
}

// usual prints the usual tables, as far as the capture has them.
func (c statsCall) usual(ctx context.Context, env *Env, args []string) error {
	sheets, _, err := env.fill(ctx, args, *c.rank, usualRequests(), engine.StepOptions{})
	if err != nil {
		return err
	}
	sheets = slices.DeleteFunc(sheets, func(s tables.Sheet) bool { return len(s.Rows.Rows) == 0 })
	if len(sheets) == 0 {
		return fmt.Errorf("%s: none of the usual tables has rows; lacuna info %s shows what the capture holds",
			args[0], pages.ShellWord(args[0]))
	}
	env.remark("no -r given: printing %s; lacuna stats --list has all tables", sheetNames(sheets))
	return c.write(env, sheets)
}

// write prints tables.
func (c statsCall) write(env *Env, sheets []tables.Sheet) error {
	return env.showTables(*c.format, sheets, *c.limit)
}

func tableFormats() []string { return []string{"text", "csv", "json", "markdown"} }

func tableNames() []string {
	var names []string
	for _, t := range tables.All {
		names = append(names, t.Name)
	}
	return names
}

// parseRequests understands the values of -r: NAME[:WORD[=VALUE]]..., separated by commas.
func parseRequests(values []string) ([]engine.Request, error) {
	var out []engine.Request
	for _, v := range values {
		for _, text := range strings.Split(v, ",") {
			r, err := parseRequest(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func parseRequest(text string) (engine.Request, error) {
	name, words, _ := strings.Cut(text, ":")
	table, err := findTable(name)
	if err != nil {
		return engine.Request{}, err
	}
	r := engine.Request{Table: table, Args: tables.Args{}}
	if words == "" {
		return r, nil
	}
	for _, word := range strings.Split(words, ":") {
		key, value, given := strings.Cut(word, "=")
		at := slices.IndexFunc(table.Args, func(a tables.Arg) bool { return a.Name == key })
		switch {
		case at < 0 && len(table.Args) == 0:
			return r, errCall("-r %s: %s takes no options, got %q", text, name, key)
		case at < 0:
			return r, errCall("-r %s: %s has no option %q; options are %s", text, name, key,
				strings.Join(argForms(table), ", "))
		case table.Args[at].Value != "" && !given:
			return r, errCall("-r %s: %s needs a value: %s", text, key, argForms(table)[at])
		case table.Args[at].Value == "" && given:
			return r, errCall("-r %s: %s takes no value", text, key)
		}
		r.Args[key] = value
	}
	return r, nil
}

// groupBy gives the word group-by to the tables that know it.
func groupBy(asked []engine.Request, what string) error {
	known := false
	for _, r := range asked {
		if slices.ContainsFunc(r.Table.Args, func(a tables.Arg) bool { return a.Name == "group-by" }) {
			r.Args["group-by"] = what
			known = true
		}
	}
	if !known {
		return errCall("--group-by %s: none of the tables can be grouped; try -r op_sum", what)
	}
	return nil
}

// argForms is the words of a table as they are typed.
func argForms(t *tables.Table) []string {
	var forms []string
	for _, a := range t.Args {
		form := a.Name
		if a.Value != "" {
			form += "=" + a.Value
		}
		forms = append(forms, form)
	}
	return forms
}

func findTable(name string) (*tables.Table, error) {
	for _, t := range tables.All {
		if t.Name == name {
			return t, nil
		}
	}
	if near, ok := nearest(name, tableNames()); ok {
		return nil, errCall("stats: no table %q; did you mean %s? lacuna stats --list has all", name, near)
	}
	return nil, errCall("stats: no table %q; lacuna stats --list has all", name)
}

// usualRequests is what is printed when nobody says what: what Nsight Systems prints first, and PyTorch's operators.
func usualRequests() []engine.Request {
	var out []engine.Request
	for _, name := range []string{"nvtx_sum", "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum",
		"cuda_gpu_mem_size_sum", "op_sum"} {
		if t, err := findTable(name); err == nil {
			out = append(out, engine.Request{Table: t, Args: tables.Args{}})
		}
	}
	return out
}

// fill reads the inputs and answers the requests. What a capture lacks is told in missing; other errors end it.
func (e *Env) fill(ctx context.Context, paths []string, rank int, asked []engine.Request,
	opt engine.StepOptions) ([]tables.Sheet, []error, error) {
	return e.openJob(paths, opt, rank).Tables(ctx, asked)
}

// sheetNames is the names of the tables, once each.
func sheetNames(sheets []tables.Sheet) string {
	var names []string
	for _, s := range sheets {
		if !slices.Contains(names, s.Table.Name) {
			names = append(names, s.Table.Name)
		}
	}
	return strings.Join(names, ", ")
}
