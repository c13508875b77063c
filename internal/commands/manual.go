package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual is the help of a command, or of the program if c is nil, in a format of the help command.
func (e *Env) manual(c *Command, format string) string {
	if c == nil {
		switch format {
		case "markdown":
			return e.indexPage()
		case "man":
			return e.rootManPage()
		}
		return rootHelp(e)
	}
	own := ownFlags(e.cobra(c))
	switch format {
	case "markdown":
		return markdownPage(c, own, e.root.PersistentFlags())
	case "man":
		return manPage(c, own, e.root.PersistentFlags())
	}
	return helpText(c, own, e.root.PersistentFlags())
}

// cobra is the cobra command that was made of c.
func (e *Env) cobra(c *Command) *cobra.Command {
	for _, x := range e.root.Commands() {
		if x.Name() == c.Name {
			return x
		}
	}
	panic("commands: " + c.Name + " is not on the shelf")
}

// Pages is the generated pages of docs/cli by file name.
func Pages() map[string]string {
	env := &Env{shelf: All}
	tree(env)
	pages := map[string]string{"README.md": env.indexPage()}
	for _, c := range All {
		pages[c.Name+".md"] = env.manual(c, "markdown")
	}
	return pages
}

const generated = "<!-- Generated from the commands by go generate; do not edit. -->\n"

func (e *Env) indexPage() string {
	var b strings.Builder
	b.WriteString(generated + "# The commands of lacuna\n\n| command | does |\n|---|---|\n")
	for _, c := range e.shelf {
		fmt.Fprintf(&b, "| [`lacuna %s`](%s.md) | %s |\n", c.Name, c.Name, c.Title)
	}
	b.WriteString("\nFlags of every command:\n\n" + block(flagUsages(e.root.PersistentFlags())))
	b.WriteString("\nExit status, everywhere: 0 done, 1 the answer is no, 2 wrong call or input, 3 no verdict.\n")
	return b.String()
}

// block is text as a block of code.
func block(text string) string { return "```\n" + strings.TrimRight(text, "\n") + "\n```\n" }

func markdownPage(c *Command, own, common *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# lacuna %s\n\n%s.\n\n", generated, c.Name, c.Title)
	b.WriteString(block(strings.TrimSpace("lacuna " + c.Name + " [flags] " + c.Args)))
	if len(c.Examples) > 0 {
		b.WriteString("\n## Examples\n\n" + block(strings.Join(c.Examples, "\n")))
	}
	if doc := c.doc(); doc != "" {
		b.WriteString("\n## What it does\n\n" + indentedAsCode(doc) + "\n")
	}
	if own.HasAvailableFlags() {
		b.WriteString("\n## Flags\n\n" + block(flagUsages(own)))
	}
	b.WriteString("\n## Flags of every command\n\n" + block(flagUsages(common)))
	b.WriteString("\n" + exitText(c))
	return b.String()
}

// indentedAsCode indents lines that are indented already so that Markdown keeps them as they are.
func indentedAsCode(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// manPage is a page for man(1).
func manPage(c *Command, own, common *pflag.FlagSet) string {
	var b strings.Builder
	name := "lacuna-" + c.Name
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), name, roff(c.Title))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B lacuna %s\n[flags] %s\n", c.Name, roff(c.Args))
	if doc := c.doc(); doc != "" {
		b.WriteString(".SH DESCRIPTION\n" + roffText(doc))
	}
	if len(c.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n" + verbatim(strings.Join(c.Examples, "\n")))
	}
	b.WriteString(".SH FLAGS\n" + manFlags(own) + manFlags(common))
	b.WriteString(".SH EXIT STATUS\n" + roff(strings.TrimPrefix(exitText(c), "Exit status: ")))
	return b.String()
}

func (e *Env) rootManPage() string {
	var b strings.Builder
	b.WriteString(".TH LACUNA 1\n.SH NAME\nlacuna \\- say where the time of a GPU program goes\n.SH SYNOPSIS\n.B lacuna\nCOMMAND [flags] ...\n.SH COMMANDS\n")
	for _, c := range e.shelf {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", c.Name, roff(c.Title))
	}
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n" + manFlags(e.root.PersistentFlags()))
	b.WriteString(".SH EXIT STATUS\n0 done, 1 the answer is no, 2 wrong call or input, 3 no verdict.\n")
	return b.String()
}

func manFlags(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(usage))
	})
	return b.String()
}

// roff escapes what troff would take for its own.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// roffText turns paragraphs into troff; lines that are indented stay as they are.
func roffText(doc string) string {
	var b strings.Builder
	for _, paragraph := range strings.Split(doc, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			b.WriteString(verbatim(paragraph))
			continue
		}
		b.WriteString(".PP\n")
		for _, line := range strings.Split(paragraph, "\n") {
			b.WriteString(roff(line) + "\n")
		}
	}
	return b.String()
}

func verbatim(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = roff(l)
	}
	return ".nf\n" + strings.Join(lines, "\n") + "\n.fi\n"
}
