package commands

import (
	"context"
	"fmt"
	"io"

	"lacuna/internal/history"
	"lacuna/internal/measure"
	"lacuna/internal/page"
	"lacuna/internal/pages"
	"lacuna/internal/tables"
	"lacuna/internal/writers"
)

func (c *historyCall) list(ctx context.Context, env *Env, _ []string) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	series, err := s.Series(ctx, c.filter())
	if err != nil {
		return err
	}
	const most = 20
	runs, err := s.Latest(ctx, series, c.lastOr(most))
	if err != nil {
		return err
	}
	return c.sheets(env, pages.HistorySeries(series), pages.HistoryRuns(runs))
}

func (c *historyCall) show(ctx context.Context, env *Env, args []string) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var sheets []tables.Sheet
	for _, word := range args {
		found, err := s.Find(ctx, word)
		if err != nil {
			return err
		}
		for _, r := range found {
			run, err := s.Measured(ctx, r)
			if err != nil {
				return err
			}
			kept, err := s.Kept(ctx, r)
			if err != nil {
				return err
			}
			sheets = append(sheets, pages.HistoryRun(r, run, kept))
		}
	}
	return c.sheets(env, sheets...)
}

func (c *historyCall) baseline(ctx context.Context, env *Env, args []string) error {
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	levels, err := s.Levels(ctx, series, args, *c.window)
	if err != nil {
		return err
	}
	if len(levels) == 0 && len(args) > 0 {
		return c.unknown(ctx, s, series, args)
	}
	return c.sheets(env, pages.HistoryLevels(series, levels))
}

// unknown says that globs match no measure.
func (c *historyCall) unknown(ctx context.Context, s *history.Store, series history.Series, words []string) error {
	all, err := s.Measures(ctx, series.ID)
	if err != nil {
		return err
	}
	return noMeasure(series, words, all)
}

func (c *historyCall) blame(ctx context.Context, env *Env, args []string) error {
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return err
	}
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	last := c.lastOr(historyLast)
	if len(args) == 0 {
		last = c.lastOr(historyLastOfAll)
	}
	b, err := s.Blame(ctx, series, args, last, effect)
	if err != nil {
		return err
	}
	if b.Measures == 0 && len(args) > 0 {
		return c.unknown(ctx, s, series, args)
	}
	err = env.write(func(w io.Writer) error {
		switch *c.format {
		case "json":
			return writers.BlameJSON(w, b)
		case "csv":
			return writers.BlameCSV(w, b)
		case "markdown":
			return page.WriteMarkdown(w, pages.Blame(b))
		}
		return page.WriteText(w, pages.Blame(b), env.layout())
	})
	switch {
	case err != nil:
		return err
	case len(b.Moves) > 0:
		return nil
	case !b.Enough:
		return &statusError{status: NoVerdict}
	}
	return &statusError{status: No}
}

func (c *historyCall) plot(ctx context.Context, env *Env, args []string) error {
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return err
	}
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	courses, runs, err := s.Courses(ctx, series, args, c.lastOr(historyLast), effect)
	if err != nil {
		return err
	}
	if len(courses) == 0 {
		return c.unknown(ctx, s, series, args)
	}
	const most = 50
	if len(courses) > most {
		return errCall("history plot: %d measures are called like that, at most %d are drawn; give fewer", len(courses), most)
	}
	return env.write(func(w io.Writer) error {
		if *c.format == "svg" {
			return writeText(w, pages.HistorySVG(runs, courses))
		}
		return page.WriteText(w, pages.HistoryPlot(runs, courses), env.layout())
	})
}

func (c *historyCall) export(ctx context.Context, env *Env, args []string) error {
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if *c.format == "csv" {
		courses, runs, err := s.Courses(ctx, series, args, c.lastOr(historyLast), 0)
		if err != nil {
			return err
		}
		return env.write(func(w io.Writer) error { return writers.HistoryCSV(w, runs, courses) })
	}
	list, err := s.Runs(ctx, series.ID, c.lastOr(historyLast))
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
		return c.unknown(ctx, s, series, args)
	}
	if len(out) == 0 {
		return fmt.Errorf("%s: every run of %s is rejected", s.Name, series)
	}
	return env.write(func(w io.Writer) error { return measure.Write(w, out) })
}
