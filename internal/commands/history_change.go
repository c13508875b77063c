package commands

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"lacuna/internal/history"
)

// acknowledge says that from a commit or run on measures are as they should be.
func (c *historyCall) acknowledge(ctx context.Context, env *Env, args []string) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := s.Find(ctx, args[0])
	if err != nil {
		return err
	}
	globs := args[1:]
	if len(globs) == 0 {
		globs = []string{"*"}
	}
	// A commit may have runs in several series; in each, the first of them begins the level.
	chosen, err := s.Series(ctx, c.filter())
	if err != nil {
		return err
	}
	var done []string
	for _, x := range chosen {
		for _, r := range found {
			if r.Series != x.ID {
				continue
			}
			for _, g := range globs {
				if err := s.Acknowledge(ctx, r, g, *c.note); err != nil {
					return err
				}
			}
			done = append(done, x.String())
			break
		}
	}
	if len(done) == 0 {
		return errCall("history acknowledge %s: no run of %s is of it", args[0], c.filter())
	}
	return env.write(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "from %s on %s is as it should be: %s\n", commitOr(found[0]), strings.Join(globs, ", "), strings.Join(done, "; "))
		return err
	})
}

// commitOr is a run's commit, shortened, else its key.
func commitOr(r history.RunInfo) string {
	if r.Commit != "" {
		return r.Commit[:min(12, len(r.Commit))]
	}
	return "run " + r.Key[:8]
}

func (c *historyCall) reject(ctx context.Context, env *Env, args []string) error {
	s, err := c.open(ctx)
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
	if err := s.Reject(ctx, runs, !*c.undo); err != nil {
		return err
	}
	what := "left out from now on"
	if *c.undo {
		what = "counted again"
	}
	return env.write(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d run(s) %s\n", len(runs), what)
		return err
	})
}

func (c *historyCall) prune(ctx context.Context, env *Env, _ []string) error {
	if (*c.before == "") == (*c.keep == 0) {
		return errCall("history prune: want --keep N or --before DATE, one of them")
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
		stay = fmt.Sprintf("; %d stay, from which on a level was acknowledged", left)
	}
	return env.write(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d run(s) %s%s\n", n, said, stay)
		return err
	})
}
