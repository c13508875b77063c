package commands

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"lacuna/internal/faces/page"
)

// An Env is what a command sees of the world outside, and the flags that all commands share.
type Env struct {
	In       io.Reader
	Out, Err io.Writer

	output string
	color  string
	width  int
	quiet  bool

	noPager bool
	screen  *screen // what a test takes for the terminal

	shelf []*Command // every command there is
	root  *cobra.Command
	asked error // what answering --help came to
}

// commonFlags declares the flags that all commands share.
func (e *Env) commonFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&e.output, "output", "o", "",
		"write the result to `FILE` instead of stdout; .gz and .zst are compressed")
	flags.StringVar(&e.color, "color", "auto", "use colours: `WHEN` is auto, always or never")
	flags.IntVar(&e.width, "width", 0, "lay out text for `N` columns (default: the terminal's, else 100)")
	flags.BoolVar(&e.noPager, "no-pager", false,
		"do not use a pager (LACUNA_PAGER, PAGER, else less) for text longer than the terminal")
	flags.BoolVarP(&e.quiet, "quiet", "q", false, "print only errors to stderr: no progress, no remarks")
}

// checkFlags refuses values that no command takes, and to write over one of the inputs.
func (e *Env) checkFlags(inputs []string) error {
	switch e.color {
	case "auto", "always", "never":
	default:
		return errCall("--color %s: want auto, always or never", e.color)
	}
	if e.width < 0 || e.width > 10_000 {
		return errCall("--width %d: want 0 to 10000 columns", e.width)
	}
	out, err := os.Stat(e.output)
	if e.output == "" || err != nil || !out.Mode().IsRegular() {
		return nil
	}
	for _, path := range inputs {
		if in, err := os.Stat(path); err == nil && os.SameFile(in, out) {
			return errCall("-o %s: is also an input; name another file", e.output)
		}
	}
	return nil
}

// tell writes a line to stderr.
func (e *Env) tell(format string, args ...any) {
	fmt.Fprintf(e.Err, "lacuna: %s\n", page.Printable(fmt.Sprintf(format, args...)))
}

// remark tells what is worth knowing but no error, unless -q.
func (e *Env) remark(format string, args ...any) {
	if !e.quiet {
		e.tell(format, args...)
	}
}

// terminal is the file behind w if that is a terminal.
func terminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// layout is what text on stdout is laid out for.
func (e *Env) layout() page.Layout {
	p := page.Layout{Width: e.width, ASCII: asciiOnly(os.Getenv)}
	s, isTerminal := e.screenOf()
	if p.Width == 0 {
		p.Width, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	if p.Width <= 0 && isTerminal {
		p.Width = s.columns
	}
	switch e.color {
	case "always":
		p.Color = true
	case "auto":
		p.Color = isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return p
}

// asciiOnly says whether the locale names a character set other than UTF-8. No locale at all, as in
// most containers, says nothing about the terminal, and terminals speak UTF-8.
func asciiOnly(getenv func(string) string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}
