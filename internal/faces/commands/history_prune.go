package commands

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/runs/history"
)

var historyPruneCommand = &Command{
	Name:  "prune",
	Title: "Remove old runs",
	Examples: []string{
		"lacuna history prune --keep 500 --dry-run",
		"lacuna history prune --before 2025-01-01",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyPruneCall{
			historySeries: seriesFlags(flags),
			before:        flags.String("before", "", "remove runs before `DATE` (2026-11-21)"),
			keep:          countFlag(flags, "keep", 0, "keep only the last `N` runs of each series"),
			dry:           flags.Bool("dry-run", false, "only show how many would be removed"),
		}
		return c.run
	},
}

// A historyPruneCall is the flags of history prune.
type historyPruneCall struct {
	historySeries
	before *string
	keep   *int
	dry    *bool
}

func (c *historyPruneCall) run(ctx context.Context, env *Env, _ []string) error {
	if (*c.before == "") == (*c.keep == 0) {
		return errCall("history prune: want one of --keep N and --before DATE")
	}
	var before int64
	if *c.before != "" {
		at, err := time.Parse("2006-01-02", *c.before)
		if err != nil {
			return errCall("--before %s: want a date such as 2026-11-21", *c.before)
		}
		before = at.Unix()
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	series, err := s.Series(ctx, c.filter())
	if err != nil {
		return err
	}
	var gone []history.RunInfo
	for _, x := range series {
		runs, err := s.Runs(ctx, x.ID, 0)
		if err != nil {
			return err
		}
		for i, r := range runs {
			if before > 0 && r.At < before || *c.keep > 0 && i < len(runs)-*c.keep {
				gone = append(gone, r)
			}
		}
	}
	said := "would be removed"
	n := len(gone)
	if !*c.dry {
		said = "removed"
		if n, err = s.Prune(ctx, gone); err != nil {
			return err
		}
	}
	stay := ""
	if left := len(gone) - n; left > 0 {
		stay = fmt.Sprintf("; %d stay: an acknowledged level starts there", left)
	}
	return env.write(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d run(s) %s%s\n", n, said, stay)
		return err
	})
}
