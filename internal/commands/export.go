package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/engine"
	"lacuna/internal/evtext"
	"lacuna/internal/writers"
)

var exportCommand = Command{
	Name:  "export",
	Args:  "INPUT",
	Title: "Convert a capture: text lines, or JSON for Perfetto",
	Doc: `
chrome  JSON of trace events: open it in ui.perfetto.dev or chrome://tracing
text    one line an event, every column: for grep, diff and bug reports`,
	Examples: []string{
		"lacuna export run.sqlite --to chrome -o timeline.json.gz",
		"lacuna export trace.json.gz --to text",
	},
	Complete: map[string]func() []string{"to": exportFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		to := flags.String("to", "", "`FORMAT` is text or chrome")
		return func(ctx context.Context, env *Env, args []string) error {
			if *to == "" {
				return errCall("export: say what to make: --to chrome or --to text")
			}
			if err := oneOf("--to", *to, exportFormats()); err != nil {
				return err
			}
			if err := needInputs("export", args); err != nil {
				return err
			}
			if len(args) > 1 {
				return errCall("export: want one INPUT, got %d", len(args))
			}
			traces, err := env.openJob(args, engine.StepOptions{}, engine.AllRanks).Timeline(ctx)
			if err != nil {
				return err
			}
			return env.write(func(w io.Writer) error {
				if *to == "text" {
					return evtext.Write(w, traces[0])
				}
				return writers.Chrome(w, traces[0])
			})
		}
	},
}

func exportFormats() []string { return []string{"text", "chrome"} }
