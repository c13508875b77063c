package commands

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/runs/history"
)

var historyAcknowledgeCommand = &Command{
	Name:    "acknowledge",
	Aliases: []string{"accept"},
	Args:    "COMMIT|RUN [GLOB...]",
	Title:   "Accept the levels of measures from a commit on",
	Doc: `
The baselines of the measures start again at that commit. Without GLOB, this
covers all measures. accept is another name of this subcommand.`,
	Examples: []string{
		`lacuna history acknowledge 4f2a91c`,
		`lacuna history acknowledge 4f2a91c step --note "checkpointing is on"`,
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyAcknowledgeCall{historySeries: seriesFlags(flags),
			note: flags.String("note", "", "the reason, as `TEXT`")}
		return c.run
	},
}

// A historyAcknowledgeCall is the flags of history acknowledge.
type historyAcknowledgeCall struct {
	historySeries
	note *string
}

func (c *historyAcknowledgeCall) run(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return errCall("history acknowledge: no COMMIT or RUN given; lacuna history list shows them")
	}
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
		return errCall("history acknowledge %s: no run of %s belongs to it", args[0], c.filter())
	}
	return env.write(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "from %s on %s is as it should be: %s\n", commitOr(found[0]),
			strings.Join(globs, ", "), strings.Join(done, "; "))
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
