package commands

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"lacuna/internal/faces/page"
)

// A screen is a terminal that an answer is read on.
type screen struct {
	columns, rows int
	page          func(pager string, text []byte) error // runs a pager on a text; nil: runPager
}

// screenOf is the terminal that the answer goes to, if it goes to one.
func (e *Env) screenOf() (screen, bool) {
	if e.output != "" {
		return screen{}, false
	}
	if e.screen != nil {
		return *e.screen, true
	}
	f, ok := terminal(e.Out)
	if !ok {
		return screen{}, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	return screen{columns: columns, rows: rows}, err == nil
}

// writePaged is write for an answer that people read: one that is longer than the terminal goes through a pager.
func (e *Env) writePaged(fn func(w io.Writer) error) error {
	s, ok := e.screenOf()
	pager := pagerOf(os.Getenv)
	if !ok || e.noPager || pager == "" {
		return e.write(fn)
	}
	var text bytes.Buffer
	if err := fn(&text); err != nil {
		return err
	}
	if !s.scrolls(text.String()) {
		_, err := e.Out.Write(text.Bytes())
		return err
	}
	run := s.page
	if run == nil {
		run = e.runPager
	}
	if err := run(pager, text.Bytes()); err != nil { // no such program: the answer is worth more than the pager
		_, err := e.Out.Write(text.Bytes())
		return err
	}
	return nil
}

// scrolls says whether a text has more lines than the terminal, of which one is the next prompt's.
func (s screen) scrolls(text string) bool {
	lines := 0
	for line := range strings.Lines(text) {
		lines++
		if shown := page.Shown(plainLine(line)); s.columns > 0 && shown > s.columns { // a command that is not cut
			lines += (shown - 1) / s.columns
		}
	}
	return s.rows > 0 && lines > s.rows-1
}

// plainLine is a line without its end and without colours, which take no room.
func plainLine(line string) string {
	line = strings.TrimSuffix(line, "\n")
	for {
		before, rest, ok := strings.Cut(line, "\x1b[")
		_, after, end := strings.Cut(rest, "m")
		if !ok || !end {
			return line
		}
		line = before + after
	}
}

// pagerOf is the command of the pager, as git chooses it; "": none.
func pagerOf(getenv func(string) string) string {
	if getenv("TERM") == "dumb" {
		return ""
	}
	for _, name := range []string{"LACUNA_PAGER", "PAGER"} {
		if v, ok := lookup(getenv, name); ok {
			if v == "cat" {
				return ""
			}
			return v
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// lookup is a variable that is set to something; "none" is how it is set to nothing: an empty one is as good as unset
// for many shells.
func lookup(getenv func(string) string, name string) (string, bool) {
	v := strings.TrimSpace(getenv(name))
	if v == "none" {
		return "", true
	}
	return v, v != ""
}

// runPager shows a text with a pager and waits for its end. It leaves out LESS where the user has set it. As in git, F
// ends less where the text fits, R lets colours through, X leaves the text on the screen.
func (e *Env) runPager(pager string, text []byte) error {
	c := exec.Command("sh", "-c", pager)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(text), e.Out, e.Err
	c.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		c.Env = append(c.Env, "LESS=FRX")
	}
	if os.Getenv("LV") == "" {
		c.Env = append(c.Env, "LV=-c")
	}
	// Ctrl-C is the pager's while it runs: it must not end this program before it.
	held := make(chan os.Signal, 1)
	signal.Notify(held, os.Interrupt)
	defer signal.Stop(held)
	err := c.Run()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() != notFound {
		return nil // left early, or by a signal
	}
	return err
}

// notFound is the status of a shell that does not find a program.
const notFound = 127
