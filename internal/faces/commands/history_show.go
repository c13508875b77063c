package commands

import (
	"context"
	"lacuna/internal/faces/pages"
	"lacuna/internal/timeline/tables"

	"github.com/spf13/pflag"
)

var historyShowCommand = &Command{
	Name:  "show",
	Args:  "RUN|COMMIT...",
	Title: "Print the measures of runs",
	Doc: `
A run is named by the first letters of its key, which list prints, or by its
commit.`,
	Examples: []string{
		"lacuna history show 4f2a91c",
		"lacuna history show 4f2a91c --format json",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		store, format := storeFlag(flags), sheetFormat(flags)
		return func(ctx context.Context, env *Env, args []string) error {
			if len(args) == 0 {
				return errCall("history show: no RUN or COMMIT given; lacuna history list shows them")
			}
			s, err := openHistory(ctx, *store)
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
			return env.sheets(*format, sheets...)
		}
	},
}
