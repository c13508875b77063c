package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/answer/report"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
)

var infoCommand = Command{
	Name:  "info",
	Args:  "INPUT...",
	Title: "Show what a capture holds, what made it and what it lacks",
	Examples: []string{
		"lacuna info trace.json.gz",
		"lacuna info run.sqlite --format json",
	},
	Complete: map[string]func() []string{"format": infoFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		format := flags.String("format", "text", "output `FORMAT`: text or json (a list if there are several inputs)")
		return func(ctx context.Context, env *Env, args []string) error {
			if err := oneOf("--format", *format, infoFormats()); err != nil {
				return err
			}
			args, err := inputFiles("info", args)
			if err != nil {
				return err
			}
			layout := env.layout()
			return env.write(func(w io.Writer) error {
				var list []*report.Contents
				for i, path := range args {
					// one file's memory at a time
					contents, err := env.openJob([]string{path}, engine.StepOptions{}, engine.AllRanks).Contents(ctx)
					if err != nil {
						return err
					}
					c := contents[0]
					if *format == "json" {
						list = append(list, c)
						continue
					}
					if i > 0 {
						if _, err := io.WriteString(w, "\n"); err != nil {
							return err
						}
					}
					if err := page.WriteText(w, pages.Contents(c), layout); err != nil {
						return err
					}
				}
				if *format == "json" {
					return writers.ContentsJSON(w, list)
				}
				return nil
			})
		}
	},
}

func infoFormats() []string { return []string{"text", "json"} }
