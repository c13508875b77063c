package commands

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A choice is a flag's value that is one of some words. Others are refused when flags are parsed, and the shell
// completes them.
type choice struct {
	word  string
	words []string
}

// choose declares a flag whose value is one of some words, by default the first. It returns where the value will be.
func choose(flags *pflag.FlagSet, name, usage string, words ...string) *string {
	c := &choice{words[0], words}
	flags.Var(c, name, usage)
	return &c.word
}

func (c *choice) String() string { return c.word }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("none of %v", c.words) // flagError says it
	}
	c.word = word
	return nil
}

// completeChoices lets the shell complete a command's choices.
func completeChoices(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok {
			complete := cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp)
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a flag that is registered already only
		}
	})
}

// A count is a flag's value that is a number from 1.
type count int

// countFlag declares a flag whose value is a number from 1; 0, as the default, says that it was not given.
func countFlag(flags *pflag.FlagSet, name string, usual int, usage string) *int {
	n := usual
	flags.Var((*count)(&n), name, usage)
	return &n
}

func (c *count) String() string { return strconv.Itoa(int(*c)) }
func (c *count) Type() string   { return "count" }

func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("no number from 1") // flagError says it
	}
	*c = count(n)
	return nil
}
