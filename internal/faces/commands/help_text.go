package commands

import (
	"fmt"
	"io"
	"lacuna/internal/faces/page"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the columns that help text is laid out for.
const helpWidth = 80

// exitText is the exit statuses in a line or two.
func exitText(c *Command) string {
	text := "Exit status: 0 done"
	if c.No != "" {
		text += ", 1 " + c.No
	}
	text += ", 2 wrong call or input"
	if c.NoVerdict != "" {
		text += ", 3 " + c.NoVerdict
	}
	return strings.Join(page.Wrap(text+".", helpWidth), "\n") + "\n"
}

// rootHelp is the help of the program itself.
func rootHelp(env *Env) string {
	var b strings.Builder
	b.WriteString("lacuna reads GPU profiles and shows where a step's time goes.\n\nUsage: lacuna COMMAND [flags] " +
		"...\n\n")
	b.WriteString("  lacuna demo                      try it on a small real capture, built in\n")
	b.WriteString("  lacuna report trace.json.gz      analyse your own capture\n")
	b.WriteString("  lacuna kernel gemm.ncu-rep       why a kernel is slow\n")
	b.WriteString("  lacuna diff before/ after/       compare: what changed, and is it real\n")
	b.WriteString("  lacuna stats run.sqlite --list   list all tables\n\nCommands:\n")
	for _, c := range env.shelf {
		fmt.Fprintf(&b, "  %-12s%s\n", c.Name, c.Title)
	}
	b.WriteString("\nINPUT is a PyTorch profiler trace (*.json), an Nsight Systems export (*.sqlite)\nor a " +
		"recording of lacuna record (*.lacuna). REPORT is an Nsight Compute report\n(*.ncu-rep). Files may be " +
		"compressed (.gz, .zst); - is stdin.\n")
	b.WriteString("\nFlags of every command:\n" + flagUsages(env.root.PersistentFlags()))
	b.WriteString("\nlacuna COMMAND --help has the details.\n\nExit status: 0 done, 1 the answer is no, 2 wrong " +
		"call or input, 3 no verdict.\n")
	return b.String()
}

// helpText is the help of a command.
func helpText(t topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n\n%s.\n", strings.Join(t.usage(), "\n       "), t.Title)
	if len(t.Examples) > 0 {
		b.WriteString("\n")
	}
	for _, e := range t.Examples {
		b.WriteString("  " + e + "\n")
	}
	if doc := t.doc(); doc != "" {
		b.WriteString("\n" + doc + "\n")
	}
	if len(t.subs) > 0 {
		b.WriteString("\nSubcommands:\n")
		for _, s := range t.subs {
			fmt.Fprintf(&b, "  %-13s%s\n", s.Name, s.Title)
		}
		fmt.Fprintf(&b, "\nlacuna %s SUBCOMMAND --help has its flags and examples.\n", t.path)
	}
	if t.own.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + flagUsages(t.own))
	}
	b.WriteString("\nFlags of every command:\n" + flagUsages(t.common))
	b.WriteString("\n" + exitText(t.Command))
	return b.String()
}

func flagUsages(flags *pflag.FlagSet) string { return flags.FlagUsagesWrapped(helpWidth) }

// ownFlags is the flags that only cmd takes.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	own.SortFlags = false
	cmd.LocalNonPersistentFlags().VisitAll(own.AddFlag)
	return own
}

// help answers --help.
func (e *Env) help(cmd *cobra.Command, words []string) error {
	out := *e
	out.output = "" // help never goes into a file that a half-written call names
	e = &out
	if !cmd.HasParent() {
		return e.writeHelp(rootHelp(e))
	}
	t, err := e.lookup(strings.Fields(pathOf(cmd)))
	switch {
	case err != nil:
		return err
	case t.Help != nil && len(words) > 0:
		return t.Help(e, words)
	}
	return e.writeHelp(helpText(t))
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// writeHelp prints text of ours for people, in the characters that the terminal has.
func (e *Env) writeHelp(text string) error {
	layout := e.layout()
	var b strings.Builder
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		b.WriteString(layout.Clean(whole) + line[len(whole):])
	}
	return e.writePaged(func(w io.Writer) error { return writeText(w, b.String()) })
}
