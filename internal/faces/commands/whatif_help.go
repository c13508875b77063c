package commands

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/timeline/changes"
)

func changeNames() []string {
	var names []string
	for _, c := range changes.All {
		names = append(names, c.Name)
	}
	return names
}

// changeList is every change: how it is written, and what it does in a line or two.
func changeList() string {
	const least = 18 // columns for the syntax; a longer one gets a line of its own
	var b strings.Builder
	for _, c := range changes.All {
		head := c.Syntax
		if len(head) > least {
			b.WriteString(head + "\n")
			head = ""
		}
		for _, line := range page.Wrap(c.Title, helpWidth-least-2) {
			fmt.Fprintf(&b, "%-*s  %s\n", least, head, line)
			head = ""
		}
	}
	b.WriteString("\nlacuna whatif --help CHANGE shows how it is replayed and what it assumes.\n")
	return b.String()
}

// helpChanges explains changes: how each is replayed, what it takes for granted, when it is not allowed.
func helpChanges(env *Env, names []string) error {
	var b strings.Builder
	for i, name := range names {
		c, err := findChange(name)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(changeHelp(c))
	}
	return env.writeHelp(b.String())
}

func changeHelp(c *changes.Change) string {
	var b strings.Builder
	paragraphs := func(head, text string) {
		for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
			if p == "" {
				continue
			}
			b.WriteString("\n" + strings.Join(page.Wrap(head+p, helpWidth), "\n") + "\n")
			head = ""
		}
	}
	b.WriteString(strings.Join(page.Wrap(c.Syntax+": "+c.Title, helpWidth), "\n") + "\n")
	paragraphs("", c.Doc)
	paragraphs("Assumes: ", c.Assumes)
	paragraphs("Does not apply when: ", c.NotWhen)
	fmt.Fprintf(&b, "\n  lacuna whatif INPUT -x %s\n", pages.ShellWord(c.Example))
	return b.String()
}

// maxCompleteBytes is the largest capture that is read for the completion of a word: nobody waits a second for a Tab.
const maxCompleteBytes = 64 << 20

// completeChange completes -x: names of changes, and behind the colon of one that wants a RANGE the
// names of ranges in the capture that the call names.
func completeChange(ctx context.Context, args []string, word string) []string {
	name, _, colon := strings.Cut(word, ":")
	if !colon {
		var out []string
		for _, c := range changes.All {
			text := c.Name
			if strings.HasPrefix(c.Syntax, c.Name+":") { // an argument must follow
				text += ":"
			}
			out = append(out, text)
		}
		return out
	}
	c, _, err := changes.Find(name)
	if err != nil || !strings.Contains(c.Syntax, "RANGE") && c.Name != "drop-range" || len(args) == 0 {
		return nil
	}
	var out []string
	for _, r := range rangesOf(ctx, args[0]) {
		out = append(out, c.Name+":"+r)
	}
	return out
}

// rangesOf is the names of a capture's ranges that a person wrote, sorted; none if it is too large to be read at once.
func rangesOf(ctx context.Context, path string) []string {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxCompleteBytes {
		return nil
	}
	names, err := engine.Open([]string{path}, engine.Options{Rank: engine.AllRanks}).RangeNames(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(text string) bool {
		return len(text) > 60 ||
			strings.ContainsAny(text, "\n\t")
	})
}

// completer finds the values of a flag that may stand for a word, given the call's other words.
type completer func(ctx context.Context, args []string, word string) []string
