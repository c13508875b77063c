package commands

import (
	"context"

	"github.com/spf13/pflag"

	"lacuna/internal/faces/pages"
	"lacuna/internal/runs/history"
)

var historyBaselineCommand = &Command{
	Name:  "baseline",
	Args:  "[GLOB...]",
	Title: "Print the levels that new runs are compared with",
	Examples: []string{
		"lacuna history baseline",
		"lacuna history baseline step kernel:* --window 20",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := seriesFlags(flags)
		format, window := sheetFormat(flags), countFlag(flags, "window", history.Window,
			"use the last `N` runs at the level")
		return func(ctx context.Context, env *Env, args []string) error {
			s, series, err := c.series(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			levels, err := s.Levels(ctx, series, args, *window)
			if err != nil {
				return err
			}
			if len(levels) == 0 && len(args) > 0 {
				return unknownMeasure(ctx, s, series, args)
			}
			return env.sheets(*format, pages.HistoryLevels(series, levels))
		}
	},
}
