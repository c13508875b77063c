package commands

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/history"
	"lacuna/internal/tables"
)

var historyCommand = Command{
	Name:  "history",
	Args:  "VERB ...",
	Title: "Keep what was measured over commits; say when a measure moved",
	Doc: `
  add INPUT...        keep the runs in captures, kernel reports, measure files
  list                the series and the last runs
  show RUN|COMMIT     what was measured of a run
  plot MEASURE        a measure over commits; --format svg draws it
  baseline [GLOB...]  the levels that new runs are held against
  blame [GLOB...]     the commits between which measures moved: shift, drift,
                      single runs that are off; how much, and what moved with it
  acknowledge COMMIT|RUN [GLOB...]   (or accept) from here on it is as it should
                      be: baselines begin anew
  reject RUN...       leave runs out of everything; --undo takes them back in
  export [GLOB...]    the last runs as lacuna.metrics/1 (json) or csv
  prune               remove old runs: --keep N, --before DATE

The history is an SQLite file, lacuna.db in your data folder, or what --store
or LACUNA_STORE names: a path, or postgres://USER@HOST/DATABASE for a team.
Runs of one program on one kind of machine (GPUs, major version of the driver,
clocks), on one branch, under one profiler are a series: others are never
compared with them. add takes commit and branch from git. Runs stand in the
order of their commits' times: late ones find their place.

A baseline is the last runs of the level that a measure is meant to have. A
change for the better moves it. One for the worse does only when acknowledged.
docs/history.md has an example from first run to blame.`,
	Examples: []string{
		"lacuna history add run.sqlite --program train.py",
		"lacuna history list",
		"lacuna history plot step",
		"lacuna history baseline step kernel:*",
	},
	No:        "nothing moved (blame)",
	NoVerdict: "too few runs to tell (blame)",
	Complete:  map[string]func() []string{"format": historyFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyCall{
			flags:   flags,
			store:   flags.String("store", "", "the history: a `PLACE` is a path or a PostgreSQL DSN"),
			format:  flags.String("format", "text", "`FORMAT` is text, markdown, csv or json; of plot text or svg"),
			program: flags.String("program", "", "only series of the program `NAME`; add: what ran, where the input does not say"),
			machine: flags.String("machine", "", "only series on machines like `GLOB`: H100, '*driver 580*'"),
			branch:  flags.String("branch", "", "only series of the branch `NAME`; add: the runs' branch"),
			tool:    flags.String("profiler", "", "only series under the profiler `NAME`, or none"),
			commit:  flags.String("commit", "", "add: the runs' `COMMIT`, if it is not git's HEAD"),
			labels:  flags.StringArray("label", nil, "add: say also `NAME=VALUE` of the runs"),
			steps:   flags.String("steps", "", "add: of captures, only the steps at positions `A:B`"),
			pattern: flags.String("step-range", "", "add: ranges called `NAME` mark steps; /REGEXP/ for a pattern"),
			rank:    optionalInt(flags, "rank", "add: of recordings of several ranks, rank `N` (default the slowest)"),
			last:    flags.Int("last", 0, "look at the last `N` runs (default 500; of all measures 200; list 20)"),
			effect:  flags.String("min-effect", "1%", "blame, plot: changes under `SHARE` of the level before are none"),
			window:  flags.Int("window", history.Window, "baseline: of the last `N` runs of the level"),
			note:    flags.String("note", "", "acknowledge: why, as `TEXT`"),
			undo:    flags.Bool("undo", false, "reject: take the runs back in"),
			before:  flags.String("before", "", "prune: runs that stand before `DATE` (2026-11-21)"),
			keep:    flags.Int("keep", 0, "prune: all but the last `N` runs of each series"),
			dry:     flags.Bool("dry-run", false, "prune: only say what would be removed"),
		}
		return c.run
	},
}

func historyFormats() []string { return []string{"text", "markdown", "csv", "json", "svg"} }

// A historyCall is a call of lacuna history.
type historyCall struct {
	flags                                                 *pflag.FlagSet
	store, format, program, machine, branch, tool, commit *string
	steps, pattern, effect, note, before                  *string
	labels                                                *[]string
	last, window, keep, rank                              *int
	undo, dry                                             *bool
}

// A historyVerb is a word after lacuna history.
type historyVerb struct {
	name    string
	flags   string // that it takes beside --store and --format
	formats string
	fewest  int // arguments
	want    string
	run     func(c *historyCall, ctx context.Context, env *Env, args []string) error
}

func historyVerbs() []historyVerb {
	const choose = "program machine branch profiler "
	return []historyVerb{
		{"add", "program branch commit label steps step-range rank", "text json", 1, "INPUT", (*historyCall).add},
		{"list", choose + "last", "text markdown csv json", 0, "", (*historyCall).list},
		{"show", "", "text markdown csv json", 1, "RUN or COMMIT", (*historyCall).show},
		{"plot", choose + "last min-effect", "text svg", 1, "MEASURE", (*historyCall).plot},
		{"baseline", choose + "window", "text markdown csv json", 0, "", (*historyCall).baseline},
		{"blame", choose + "last min-effect", "text markdown csv json", 0, "", (*historyCall).blame},
		{"acknowledge", choose + "note", "text", 1, "COMMIT or RUN", (*historyCall).acknowledge},
		{"accept", choose + "note", "text", 1, "COMMIT or RUN", (*historyCall).acknowledge},
		{"reject", "undo", "text", 1, "RUN", (*historyCall).reject},
		{"export", choose + "last", "text json csv", 0, "", (*historyCall).export},
		{"prune", choose + "before keep dry-run", "text", 0, "", (*historyCall).prune},
	}
}

func (c *historyCall) run(ctx context.Context, env *Env, args []string) error {
	var names []string
	for _, v := range historyVerbs() {
		names = append(names, v.name)
	}
	if len(args) == 0 {
		return errCall("history: want a verb: %s", strings.Join(names, ", "))
	}
	i := slices.Index(names, args[0])
	if i < 0 {
		hint := ""
		if near, ok := nearest(args[0], names); ok {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return errCall("history %s: no such verb; want %s%s", args[0], strings.Join(names, ", "), hint)
	}
	v := historyVerbs()[i]
	if err := c.check(env, v, args[1:]); err != nil {
		return err
	}
	return v.run(c, ctx, env, args[1:])
}

// check refuses flags and formats that are another verb's.
func (c *historyCall) check(env *Env, v historyVerb, args []string) error {
	taken := strings.Fields(v.flags + " store format")
	var err error
	c.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(taken, f.Name) && env.root.PersistentFlags().Lookup(f.Name) == nil && f.Name != "help" {
			err = errCall("history %s: takes no --%s; it takes --%s", v.name, f.Name, strings.Join(taken, " --"))
		}
	})
	if err == nil {
		err = oneOf("--format", *c.format, strings.Fields(v.formats))
	}
	if err == nil && len(args) < v.fewest {
		err = errCall("history %s: want %s", v.name, v.want)
	}
	if err == nil && (*c.last < 0 || *c.window < 1 || *c.keep < 0) {
		err = errCall("history %s: --last, --window and --keep want a number of runs", v.name)
	}
	return err
}

// place is the store that the call means.
func (c *historyCall) place() (string, error) {
	if *c.store != "" {
		return *c.store, nil
	}
	if place := os.Getenv("LACUNA_STORE"); place != "" {
		return place, nil
	}
	return history.DefaultPath()
}

// open opens the store that the call means.
func (c *historyCall) open(ctx context.Context) (*history.Store, error) {
	place, err := c.place()
	if err != nil {
		return nil, err
	}
	return history.Open(ctx, place)
}

func (c *historyCall) filter() history.Filter {
	return history.Filter{Program: *c.program, Machine: *c.machine, Branch: *c.branch, Tool: *c.tool}
}

// series opens the store and chooses the one series that the call means.
func (c *historyCall) series(ctx context.Context) (*history.Store, history.Series, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, history.Series{}, err
	}
	x, err := s.Choose(ctx, c.filter())
	if err != nil {
		s.Close()
		return nil, x, err
	}
	return s, x, nil
}

// lastOr is --last, or another number where it is not given.
func (c *historyCall) lastOr(n int) int {
	if *c.last > 0 {
		return *c.last
	}
	return n
}

// historyLast is how many runs are looked at: years of nightly runs, and quick.
const historyLast = 500

// historyLastOfAll is how many are, where every measure is looked at: hundreds of measures within a second.
const historyLastOfAll = 200

// sheets writes tables in the format of the call.
func (c *historyCall) sheets(env *Env, sheets ...tables.Sheet) error {
	return env.showTables(*c.format, sheets, 0)
}

// noMeasure says that globs match no measure of a series, and which is most like the first.
func noMeasure(series history.Series, words []string, all []history.Measure) error {
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	if near, ok := nearest(words[0], names); ok {
		return errCall("%s: no measure of %s is called that; did you mean %s?", words[0], series, near)
	}
	return errCall("%s: no measure of %s is called that; there are %s", words[0], series, firstFew(names))
}

// firstFew is the first names of a list.
func firstFew(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
