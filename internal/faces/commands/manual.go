package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// rootManual is the help of the program in a format of the help command.
func (e *Env) rootManual(format string) string {
	switch format {
	case "markdown":
		return e.indexPage()
	case "man":
		return e.rootManPage()
	}
	return rootHelp(e)
}

// manual is the help of a command in a format of the help command.
func (t topic) manual(format string) string {
	switch format {
	case "markdown":
		return markdownPage(t)
	case "man":
		return manPage(t)
	}
	return helpText(t)
}

// Pages is the generated pages of docs/cli by file name.
func Pages() map[string]string {
	env := &Env{shelf: All}
	tree(env)
	pages := map[string]string{"README.md": env.indexPage()}
	for _, c := range All {
		pages[c.Name+".md"] = markdownPage(env.topic(c, c.Name))
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
	b.WriteString("\nExit status of every command: 0 done, 1 the answer is no, 2 wrong call or input, 3 no verdict.\n")
	return b.String()
}

// block is text as a block of code.
func block(text string) string { return "```\n" + strings.TrimRight(text, "\n") + "\n```\n" }

// markdownPage is the page of a command, with a section for each of its subcommands.
func markdownPage(t topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# lacuna %s\n\n", generated, t.path)
	markdownBody(&b, t, "##")
	b.WriteString("\n## Flags of every command\n\n" + block(flagUsages(t.common)))
	b.WriteString("\n" + exitText(t.Command))
	for _, s := range t.subs {
		fmt.Fprintf(&b, "\n## lacuna %s\n\n", s.path)
		markdownBody(&b, s, "###")
		b.WriteString("\n" + exitText(s.Command))
	}
	return b.String()
}

// markdownBody writes what is a command's own; level is the mark of its headings.
func markdownBody(b *strings.Builder, t topic, level string) {
	b.WriteString(t.Title + ".\n\n" + block(strings.Join(t.usage(), "\n")))
	if len(t.subs) > 0 {
		fmt.Fprintf(b, "\n%s Subcommands\n\n| subcommand | does |\n|---|---|\n", level)
	}
	for _, s := range t.subs {
		fmt.Fprintf(b, "| [`lacuna %s`](#lacuna-%s) | %s |\n", s.path, strings.ReplaceAll(s.path, " ", "-"), s.Title)
	}
	if len(t.Examples) > 0 {
		b.WriteString("\n" + level + " Examples\n\n" + block(strings.Join(t.Examples, "\n")))
	}
	if doc := t.doc(); doc != "" {
		b.WriteString("\n" + level + " What it does\n\n" + indentedAsCode(doc) + "\n")
	}
	if t.own.HasAvailableFlags() {
		b.WriteString("\n" + level + " Flags\n\n" + block(flagUsages(t.own)))
	}
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

// manPage is a page for man(1), with a part for each subcommand.
func manPage(t topic) string {
	var b strings.Builder
	name := "lacuna-" + strings.ReplaceAll(t.path, " ", "-")
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), name, roff(t.Title))
	b.WriteString(".SH SYNOPSIS\n")
	if t.Setup != nil {
		fmt.Fprintf(&b, ".B lacuna %s\n[flags] %s\n", t.path, roff(t.Args))
	}
	if len(t.subs) > 0 {
		fmt.Fprintf(&b, ".PP\n.B lacuna %s\nSUBCOMMAND [flags] ...\n", t.path)
	}
	if doc := t.doc(); doc != "" {
		b.WriteString(".SH DESCRIPTION\n" + roffText(doc))
	}
	if len(t.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n" + verbatim(strings.Join(t.Examples, "\n")))
	}
	if len(t.subs) > 0 {
		b.WriteString(".SH SUBCOMMANDS\n")
	}
	for _, s := range t.subs {
		calls := strings.Join(append(s.usage(), s.Examples...), "\n")
		fmt.Fprintf(&b, ".SS %s\n%s.\n%s", roff(s.Name), roff(s.Title), verbatim(calls))
		if doc := s.doc(); doc != "" {
			b.WriteString(roffText(doc))
		}
		b.WriteString(manFlags(s.own))
	}
	b.WriteString(".SH FLAGS\n" + manFlags(t.own) + manFlags(t.common))
	b.WriteString(".SH EXIT STATUS\n" + roff(strings.TrimPrefix(exitText(t.Command), "Exit status: ")))
	return b.String()
}

func (e *Env) rootManPage() string {
	var b strings.Builder
	b.WriteString(".TH LACUNA 1\n.SH NAME\nlacuna \\- show where the time of a GPU program goes\n.SH SYNOPSIS\n.B " +
		"lacuna\nCOMMAND [flags] ...\n.SH COMMANDS\n")
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
