package commands

import (
	"context"
	"io"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"

	"github.com/spf13/pflag"
)

var historyPlotCommand = &Command{
	Name:  "plot",
	Args:  "MEASURE|GLOB...",
	Title: "Plot measures over commits, as text or SVG",
	Examples: []string{
		"lacuna history plot step",
		"lacuna history plot step --format svg -o step.svg",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyPlotCall{
			historySeries: seriesFlags(flags),
			format:        choose(flags, "format", "output `FORMAT`: text or svg", "text", "svg"),
			last:          lastFlag(flags, historyLast),
			effect:        effectFlag(flags),
		}
		return c.run
	},
}

// A historyPlotCall is the flags of history plot.
type historyPlotCall struct {
	historySeries
	format, effect *string
	last           *int
}

func (c *historyPlotCall) run(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return errCall("history plot: no MEASURE given; try lacuna history plot step")
	}
	effect, err := parseShare("--min-effect", *c.effect)
	if err != nil {
		return err
	}
	s, series, err := c.series(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	courses, runs, err := s.Courses(ctx, series, args, *c.last, effect)
	if err != nil {
		return err
	}
	if len(courses) == 0 {
		return unknownMeasure(ctx, s, series, args)
	}
	const most = 50
	if len(courses) > most {
		return errCall("history plot: %d measures match, at most %d can be drawn; give fewer", len(courses), most)
	}
	return env.write(func(w io.Writer) error {
		if *c.format == "svg" {
			return writeText(w, pages.HistorySVG(runs, courses))
		}
		return page.WriteText(w, pages.HistoryPlot(runs, courses), env.layout())
	})
}
