package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
)

var historyBlameCommand = &Command{
	Name:  "blame",
	Args:  "[GLOB...]",
	Title: "Find the commits between which measures shifted",
	Doc: `
A measure can shift, drift, or have a single outlier. For each, blame shows how
much the measure changed, between which commits, and what changed with it.`,
	Examples: []string{
		"lacuna history blame",
		"lacuna history blame step --last 100 --min-effect 2%",
	},
	No:        "no measure shifted",
	NoVerdict: "too few runs to decide",
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyBlameCall{
			historySeries: seriesFlags(flags),
			format:        sheetFormat(flags),
			last:          countFlag(flags, "last", 0, "look at the last `N` runs (default 500; 200 for all measures)"),
			effect:        effectFlag(flags),
		}
		return c.run
	},
}

// A historyBlameCall is the flags of history blame.
type historyBlameCall struct {
	historySeries
	format, effect *string
	last           *int
}

// historyLastOfAll is how many runs are looked at, where every measure is: hundreds of measures within a second.
const historyLastOfAll = 200

func (c *historyBlameCall) run(ctx context.Context, env *Env, args []string) error {
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return err
	}
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	last := *c.last
	switch {
	case last > 0:
	case len(args) == 0:
		last = historyLastOfAll
	default:
		last = historyLast
	}
	b, err := s.Blame(ctx, series, args, last, effect)
	if err != nil {
		return err
	}
	if b.Measures == 0 && len(args) > 0 {
		return unknownMeasure(ctx, s, series, args)
	}
	switch *c.format {
	case "json":
		err = env.write(func(w io.Writer) error { return writers.BlameJSON(w, b) })
	case "csv":
		err = env.write(func(w io.Writer) error { return writers.BlameCSV(w, b) })
	default:
		err = env.show(*c.format, pages.Blame(b), b)
	}
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
