package commands

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/runs/history"
)

var historyRejectCommand = &Command{
	Name:  "reject",
	Args:  "RUN|COMMIT...",
	Title: "Exclude runs from everything, or take them back in",
	Examples: []string{
		"lacuna history reject 4f2a91c",
		"lacuna history reject 4f2a91c --undo",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		store, undo := storeFlag(flags), flags.Bool("undo", false, "take the runs back in")
		return func(ctx context.Context, env *Env, args []string) error {
			if len(args) == 0 {
				return errCall("history reject: no RUN or COMMIT given; lacuna history list shows them")
			}
			s, err := openHistory(ctx, *store)
			if err != nil {
				return err
			}
			defer s.Close()
			var runs []history.RunInfo
			for _, word := range args {
				found, err := s.Find(ctx, word)
				if err != nil {
					return err
				}
				runs = append(runs, found...)
			}
			if err := s.Reject(ctx, runs, !*undo); err != nil {
				return err
			}
			what := "excluded from now on"
			if *undo {
				what = "counted again"
			}
			return env.write(func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%d run(s) %s\n", len(runs), what)
				return err
			})
		}
	},
}
