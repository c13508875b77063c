package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A topic is a command and its place: what its help, its page and its man page are made from.
type topic struct {
	*Command
	path        string         // what is called: history add
	own, common *pflag.FlagSet // the flags that it alone takes, and those of every command
	subs        []topic
}

// topic is the topic of a command; path is what is called.
func (e *Env) topic(c *Command, path string) topic {
	cmd, _, err := e.root.Find(strings.Fields(path))
	if err != nil || pathOf(cmd) != path {
		panic("commands: " + path + " is not on the shelf")
	}
	t := topic{Command: c, path: path, own: ownFlags(cmd), common: e.root.PersistentFlags()}
	for _, s := range c.Sub {
		t.subs = append(t.subs, e.topic(s, path+" "+s.Name))
	}
	return t
}

// usage is the ways to call the command, each in a line.
func (t topic) usage() (out []string) {
	if t.Setup != nil {
		out = append(out, strings.TrimSpace("lacuna "+t.path+" [flags] "+t.Args))
	}
	if len(t.subs) > 0 {
		out = append(out, "lacuna "+t.path+" SUBCOMMAND [flags] ...")
	}
	return out
}

// pathOf is what is called: history add; of the program itself its name.
func pathOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// lookup is the command that words name: history add.
func (e *Env) lookup(words []string) (topic, error) {
	c := named(e.shelf, words[0])
	if c == nil {
		return topic{}, e.noCommand(words[0])
	}
	path := c.Name
	for _, w := range words[1:] {
		s := named(c.Sub, w)
		if s == nil {
			return topic{}, c.noSub(path, w)
		}
		c, path = s, path+" "+s.Name
	}
	return e.topic(c, path), nil
}

// named is the command of a name among some, or nil.
func named(among []*Command, name string) *Command {
	i := slices.IndexFunc(among, func(c *Command) bool { return c.Name == name || slices.Contains(c.Aliases, name) })
	if i < 0 {
		return nil
	}
	return among[i]
}

// needSub runs a command that is nothing without a subcommand.
func (c *Command) needSub(path string) Run {
	return func(_ context.Context, _ *Env, args []string) error {
		if len(args) == 0 {
			return errCall("%s: want a subcommand: %s", path, strings.Join(c.subNames(), ", "))
		}
		return c.noSub(path, args[0])
	}
}

func (c *Command) subNames() (names []string) {
	for _, s := range c.Sub {
		names = append(names, s.Name)
	}
	return names
}

// noSub says that a command has no such subcommand, and which it has.
func (c *Command) noSub(path, word string) error {
	if len(c.Sub) == 0 {
		return errCall("%s: no subcommand %q; it has none", path, word)
	}
	hint := ""
	if near, ok := nearest(word, c.subNames()); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return errCall("%s: no subcommand %q; subcommands are %s%s", path, word, strings.Join(c.subNames(), ", "), hint)
}

// noFlag says that a command takes no such flag: which it takes, which is most like it, and which of its subcommands,
// or of those beside it, take it.
func noFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	path, names, family := pathOf(cmd), flagNames(cmd), cmd
	flags := "; flags are " + strings.Join(names, " ")
	if err.GetSpecifiedShortnames() != "" {
		return errCall("%s: no flag -%s%s", path, err.GetSpecifiedName(), flags)
	}
	flag := "--" + err.GetSpecifiedName()
	if p := cmd.Parent(); p != nil && p.HasParent() {
		family = p
	}
	if owners := withFlag(family, err.GetSpecifiedName()); len(owners) > 0 {
		return errCall("%s: no flag %s, it is of %s%s", path, flag, strings.Join(owners, ", "), flags)
	}
	near, ok := nearest(flag, names)
	switch {
	case !ok:
		return errCall("%s: no flag %s%s", path, flag, flags)
	case family == cmd:
		return errCall("%s: no flag %s; did you mean %s?", path, flag, near)
	}
	return errCall("%s: no flag %s%s; did you mean %s?", path, flag, flags, near)
}

// withFlag is which of a command and its subcommands take a flag.
func withFlag(cmd *cobra.Command, flag string) (owners []string) {
	if !cmd.HasParent() {
		return nil // the program: half of all commands do
	}
	for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
		if c.Flags().Lookup(flag) != nil {
			owners = append(owners, pathOf(c))
		}
	}
	return owners
}
