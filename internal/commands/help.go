package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"
)

var helpCommand = Command{
	Name:  "help",
	Args:  "[COMMAND]",
	Title: "Explain a command; also as a man page",
	Examples: []string{
		"lacuna help report",
		"lacuna help report --format man -o lacuna-report.1",
	},
	Complete: map[string]func() []string{"format": helpFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		format := flags.String("format", "text", "`FORMAT` is text, markdown or man")
		return func(_ context.Context, env *Env, args []string) error {
			if err := oneOf("--format", *format, helpFormats()); err != nil {
				return err
			}
			if len(args) > 1 {
				return errCall("help: want one COMMAND, got %d", len(args))
			}
			var c *Command
			if len(args) == 1 {
				if c = env.find(args[0]); c == nil {
					return env.noCommand(args[0])
				}
			}
			return env.write(func(w io.Writer) error { return writeText(w, env.manual(c, *format)) })
		}
	},
}

func helpFormats() []string { return []string{"text", "markdown", "man"} }
