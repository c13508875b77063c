package commands

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/runs/history"
	"lacuna/internal/timeline/tables"
)

var historyCommand = Command{
	Name:  "history",
	Args:  "SUBCOMMAND ...",
	Title: "Keep measurements over commits; find where a measure shifted",
	Doc: `
The history is an SQLite file, lacuna.db in your data folder, or what --store
or LACUNA_STORE names: a path, or postgres://USER@HOST/DATABASE for a team.

A series is the runs of one program on one kind of machine (GPUs, major version
of the driver, clocks), on one branch, under one profiler. Runs are compared
only within a series. They are ordered by the time of their commits, whenever
they are added.

The baseline of a measure is the last runs at its accepted level. A change for
the better moves the level by itself, a regression only when it is
acknowledged. docs/history.md has an example from first run to blame.`,
	Examples: []string{
		"lacuna history add run.sqlite --program train.py",
		"lacuna history list",
		"lacuna history plot step",
		"lacuna history baseline step kernel:*",
	},
	No:        "no measure shifted (blame)",
	NoVerdict: "too few runs to decide (blame)",
	Sub: []*Command{
		historyAddCommand, historyListCommand, historyShowCommand, historyPlotCommand, historyBaselineCommand,
		historyBlameCommand,
		historyAcknowledgeCommand, historyRejectCommand, historyExportCommand, historyPruneCommand,
	},
}

// storeFlag declares --store, which every subcommand of history takes.
func storeFlag(flags *pflag.FlagSet) *string {
	return flags.String("store", "", "use the history at `PLACE`, a path or a PostgreSQL DSN")
}

// sheetFormat declares the --format of subcommands that print tables.
func sheetFormat(flags *pflag.FlagSet) *string {
	return choose(flags, "format", "output `FORMAT`: text, markdown, csv or json", "text", "markdown", "csv", "json")
}

// lastFlag declares --last, of subcommands that look at the last runs.
func lastFlag(flags *pflag.FlagSet, usual int) *int {
	return countFlag(flags, "last", usual, "look at the last `N` runs")
}

// effectFlag declares --min-effect.
func effectFlag(flags *pflag.FlagSet) *string {
	return flags.String("min-effect", "1%", "ignore changes below `SHARE` of the level before")
}

// A historySeries is the flags that choose series of a store.
type historySeries struct {
	store, program, machine, branch, tool *string
}

func seriesFlags(flags *pflag.FlagSet) historySeries {
	return historySeries{
		store:   storeFlag(flags),
		program: flags.String("program", "", "only series of the program `NAME`"),
		machine: flags.String("machine", "", "only series on machines that match `GLOB`: H100, '*driver 580*'"),
		branch:  flags.String("branch", "", "only series of the branch `NAME`"),
		tool:    flags.String("profiler", "", "only series under the profiler `NAME`, or none"),
	}
}

func (c historySeries) filter() history.Filter {
	return history.Filter{Program: *c.program, Machine: *c.machine, Branch: *c.branch, Tool: *c.tool}
}

// open opens the store that the call means.
func (c historySeries) open(ctx context.Context) (*history.Store, error) {
	return openHistory(ctx, *c.store)
}

// series opens the store and chooses the one series that the call means.
func (c historySeries) series(ctx context.Context) (*history.Store, history.Series, error) {
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

// historyPlace is the store that --store means.
func historyPlace(store string) (string, error) {
	if store != "" {
		return store, nil
	}
	if place := os.Getenv("LACUNA_STORE"); place != "" {
		return place, nil
	}
	return history.DefaultPath()
}

// openHistory opens the store that --store means.
func openHistory(ctx context.Context, store string) (*history.Store, error) {
	place, err := historyPlace(store)
	if err != nil {
		return nil, err
	}
	return history.Open(ctx, place)
}

// historyLast is how many runs are looked at: years of nightly runs, and quick.
const historyLast = 500

// sheets writes tables in a format of sheetFormat.
func (e *Env) sheets(format string, sheets ...tables.Sheet) error {
	return e.showTables(format, sheets, 0)
}

// unknownMeasure says that globs match no measure of a series, and which is most like the first.
func unknownMeasure(ctx context.Context, s *history.Store, series history.Series, words []string) error {
	all, err := s.Measures(ctx, series.ID)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	if near, ok := nearest(words[0], names); ok {
		return errCall("%s: %s has no such measure; did you mean %s?", words[0], series, near)
	}
	return errCall("%s: %s has no such measure (has %s)", words[0], series, firstFew(names))
}

// firstFew is the first names of a list.
func firstFew(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
