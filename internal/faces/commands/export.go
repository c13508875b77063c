package commands

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/exporters"
)

var exportCommand = Command{
	Name:  "export",
	Args:  "INPUT",
	Title: "Convert a capture to text lines, or to JSON for Perfetto",
	Doc:   exportDoc(),
	Examples: []string{
		"lacuna export run.sqlite --to chrome -o timeline.json.gz",
		"lacuna export trace.json.gz --to text",
	},
	Complete: map[string]func() []string{"to": exporters.Names},
	Setup: func(flags *pflag.FlagSet) Run {
		to := flags.String("to", "", "output `FORMAT`: "+strings.Join(exporters.Names(), " or "))
		return func(ctx context.Context, env *Env, args []string) error {
			if *to == "" {
				return errCall("export: no format given; try --to %s", strings.Join(exporters.Names(), " or --to "))
			}
			if err := oneOf("--to", *to, exporters.Names()); err != nil {
				return err
			}
			args, err := inputFiles("export", args)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				return errCall("export: want one INPUT, got %d", len(args))
			}
			traces, err := env.openJob(args, engine.StepOptions{}, engine.AllRanks).Timeline(ctx)
			if err != nil {
				return err
			}
			return env.write(func(w io.Writer) error { return exporters.Find(*to).Write(w, traces[0]) })
		}
	},
}

// exportDoc is every form in a line.
func exportDoc() string {
	width := 0
	for _, e := range exporters.All {
		width = max(width, len(e.Name))
	}
	var b strings.Builder
	for _, e := range exporters.All {
		fmt.Fprintf(&b, "\n%-*s  %s", width, e.Name, e.Title)
	}
	return b.String()
}
