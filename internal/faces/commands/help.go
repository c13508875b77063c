package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"
)

var helpCommand = Command{
	Name:  "help",
	Args:  "[COMMAND [SUBCOMMAND]]",
	Title: "Show the help of a command, as text, Markdown or a man page",
	Examples: []string{
		"lacuna help report",
		"lacuna help history add",
		"lacuna help report --format man -o lacuna-report.1",
	},
	Complete: map[string]func() []string{"format": helpFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		format := flags.String("format", "text", "output `FORMAT`: text, markdown or man")
		return func(_ context.Context, env *Env, args []string) error {
			if err := oneOf("--format", *format, helpFormats()); err != nil {
				return err
			}
			if len(args) == 0 {
				return env.writeManual(*format, env.rootManual(*format))
			}
			t, err := env.lookup(args)
			if err != nil {
				return err
			}
			return env.writeManual(*format, t.manual(*format))
		}
	},
}

func helpFormats() []string { return []string{"text", "markdown", "man"} }

// writeManual prints a page of the manual. What programs read stays as it is.
func (e *Env) writeManual(format, text string) error {
	if format == "text" {
		return e.writeHelp(text)
	}
	return e.write(func(w io.Writer) error { return writeText(w, text) })
}
