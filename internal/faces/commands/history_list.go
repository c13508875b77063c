package commands

import (
	"context"
	"lacuna/internal/faces/pages"

	"github.com/spf13/pflag"
)

var historyListCommand = &Command{
	Name:  "list",
	Title: "Print the series and the last runs",
	Examples: []string{
		"lacuna history list",
		"lacuna history list --program train.py --last 50",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := seriesFlags(flags)
		format, last := sheetFormat(flags), lastFlag(flags, 20)
		return func(ctx context.Context, env *Env, _ []string) error {
			s, err := c.open(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			series, err := s.Series(ctx, c.filter())
			if err != nil {
				return err
			}
			runs, err := s.Latest(ctx, series, *last)
			if err != nil {
				return err
			}
			return env.sheets(*format, pages.HistorySeries(series), pages.HistoryRuns(runs))
		}
	},
}
