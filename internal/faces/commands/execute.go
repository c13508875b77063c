package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute parses args and runs the command that they name.
func execute(ctx context.Context, env *Env, args []string) error {
	root := tree(env)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return env.asked
}

// tree hangs the shelf's commands under the program's name.
func tree(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:               "lacuna",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	env.root = root
	env.commonFlags(root.PersistentFlags())
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *version:
			return env.write(printVersion)
		case len(args) > 0:
			return env.noCommand(args[0])
		}
		return env.writeHelp(rootHelp(env))
	}
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"}) // ours is on the shelf
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { env.asked = env.help(cmd, cmd.Flags().Args()) })
	for _, c := range env.shelf {
		root.AddCommand(env.hang(c, c.Name))
	}
	root.SetFlagErrorFunc(flagError)
	return root
}

// hang makes a cobra command of one of the shelf's, with its subcommands; path is what is called: history add.
func (e *Env) hang(c *Command, path string) *cobra.Command {
	x := &cobra.Command{Use: c.Name + " " + c.Args, Aliases: c.Aliases, Short: c.Title, DisableFlagsInUseLine: true}
	x.Flags().BoolP("help", "h", false, "print this help")
	_ = x.Flags().MarkHidden("help")
	run := c.needSub(path)
	if c.Setup != nil {
		run = c.Setup(x.Flags())
	}
	for _, s := range c.Sub {
		x.AddCommand(e.hang(s, path+" "+s.Name))
	}
	x.Args = cobra.ArbitraryArgs
	if c.Args == "" {
		x.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errCall("%s takes no argument, got %q; lacuna %s --help", path, args[0], path)
			}
			return nil
		}
	}
	switch {
	case c.Args == "" || c.Setup == nil:
		x.ValidArgsFunction = cobra.NoFileCompletions
	case len(c.Sub) > 0: // files beside the subcommands
		x.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	x.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.checkFlags(args); err != nil {
			return err
		}
		return run(cmd.Context(), e, args)
	}
	for flag, find := range c.CompleteWith {
		complete := func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return find(cmd.Context(), args, word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		if err := x.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(fmt.Sprintf("commands: %s completes --%s: %v", path, flag, err)) // a mistake in the command
		}
	}
	for flag, values := range c.Complete {
		complete := cobra.FixedCompletions(values(), cobra.ShellCompDirectiveNoFileComp)
		if flag == "" {
			x.ValidArgsFunction = complete
		} else if err := x.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(fmt.Sprintf("commands: %s completes --%s: %v", path, flag, err)) // a mistake in the command
		}
	}
	completeChoices(x)
	return x
}

func (e *Env) noCommand(name string) error {
	var names []string
	for _, c := range e.shelf {
		names = append(names, c.Name)
	}
	hint := ""
	if near, ok := nearest(name, names); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return errCall("no command %q; commands are %s%s", name, strings.Join(names, ", "), hint)
}

// flagError says in terms of flags what is wrong with one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	path := pathOf(cmd)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		return noFlag(cmd, unknown)
	case errors.As(err, &empty):
		value, _ := pflag.UnquoteUsage(empty.GetFlag())
		return errCall("%s: --%s needs a value: --%s %s", path, empty.GetFlag().Name, empty.GetFlag().Name, value)
	case errors.As(err, &bad):
		if c, ok := bad.GetFlag().Value.(*choice); ok {
			return oneOf("--"+bad.GetFlag().Name, bad.GetValue(), c.words)
		}
		return errCall("%s: --%s %s: want %s", path, bad.GetFlag().Name, bad.GetValue(),
			wanted(bad.GetFlag().Value.Type()))
	}
	return errCall("%s: %w", path, err)
}

// wanted is a flag's type in words.
func wanted(kind string) string {
	switch kind {
	case "int", "uint64":
		return "a whole number"
	case "count":
		return "a whole number from 1"
	case "intSlice":
		return "whole numbers, with commas"
	case "duration":
		return "a time with its unit, such as 500ms, 30s or 5m"
	case "bool":
		return "true or false"
	}
	return kind
}

// flagNames is every flag that cmd takes, sorted.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	slices.Sort(names)
	return slices.Compact(names)
}

// nearest is the name that is most like s, if one is like it at all.
func nearest(s string, names []string) (string, bool) {
	best, at := len(s)/2+1, ""
	for _, n := range names {
		if d := editDistance(strings.ToLower(s), n); d < best {
			best, at = d, n
		}
		if len(s) >= 3 && strings.HasPrefix(n, s) && at == "" {
			at = n
		}
	}
	return at, at != "" && len(s) < 64
}

// editDistance is the number of bytes to insert, delete or change to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
