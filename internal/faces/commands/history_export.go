package commands

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/faces/writers"
	"lacuna/internal/runs/history"
	"lacuna/internal/runs/measure"
)

var historyExportCommand = &Command{
	Name:  "export",
	Args:  "[GLOB...]",
	Title: "Print the last runs as lacuna.metrics/1 or csv",
	Examples: []string{
		"lacuna history export",
		"lacuna history export step --format csv",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyExportCall{
			historySeries: seriesFlags(flags),
			format: choose(flags, "format", "output `FORMAT`: text or json, both lacuna.metrics/1, or csv",
				"text", "json", "csv"),
			last: lastFlag(flags, historyLast),
		}
		return c.run
	},
}

// A historyExportCall is the flags of history export.
type historyExportCall struct {
	historySeries
	format *string
	last   *int
}

func (c *historyExportCall) run(ctx context.Context, env *Env, args []string) error {
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if *c.format == "csv" {
		courses, runs, err := s.Courses(ctx, series, args, *c.last, 0)
		if err != nil {
			return err
		}
		return env.write(func(w io.Writer) error { return writers.HistoryCSV(w, runs, courses) })
	}
	list, err := s.Runs(ctx, series.ID, *c.last)
	if err != nil {
		return err
	}
	var out []*measure.Run
	for _, r := range list {
		if r.Rejected {
			continue
		}
		run, err := s.Measured(ctx, r)
		if err != nil {
			return err
		}
		if run.Measures = history.Only(run.Measures, args); len(run.Measures) > 0 {
			out = append(out, run)
		}
	}
	if len(out) == 0 && len(args) > 0 {
		return unknownMeasure(ctx, s, series, args)
	}
	if len(out) == 0 {
		return fmt.Errorf("%s: every run of %s is rejected", s.Name, series)
	}
	return env.write(func(w io.Writer) error { return measure.Write(w, out) })
}
