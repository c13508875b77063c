package commands

import (
	"context"
	"io"

	"github.com/spf13/pflag"
)

var completionCommand = Command{
	Name:  "completion",
	Args:  "SHELL",
	Title: "Print a shell completion script",
	Doc: `
SHELL is bash, zsh, fish or powershell. The script completes commands, flags,
tables and changes. To load it in every new shell, write it to:

  bash   ~/.local/share/bash-completion/completions/lacuna
  zsh    "${fpath[1]}/_lacuna"
  fish   ~/.config/fish/completions/lacuna.fish`,
	Examples: []string{
		"lacuna completion bash -o lacuna.bash",
		"lacuna completion fish",
	},
	Complete: map[string]func() []string{"": shells},
	Setup: func(*pflag.FlagSet) Run {
		return func(_ context.Context, env *Env, args []string) error {
			if len(args) != 1 {
				return errCall("completion: want one SHELL: bash, zsh, fish or powershell")
			}
			if err := oneOf("completion", args[0], shells()); err != nil {
				return err
			}
			return env.write(func(w io.Writer) error {
				switch args[0] {
				case "bash":
					return env.root.GenBashCompletionV2(w, true)
				case "zsh":
					return env.root.GenZshCompletion(w)
				case "fish":
					return env.root.GenFishCompletion(w, true)
				}
				return env.root.GenPowerShellCompletionWithDesc(w)
			})
		}
	},
}

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }
