package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// A Layout is what the text form is laid out for.
type Layout struct {
	Width  int  // columns; no line is longer, but for commands to copy. 0: 100
	Color  bool // the terminal understands ANSI colours
	ASCII  bool // the locale cannot show block characters, arrows and the like
	Unfold bool // folds are open
}

// minWidth is the narrowest page that is laid out; a narrower one is treated as this wide.
const minWidth = 36

// NoEdge is a width that nothing is cut or left out for: tables into a pipe.
const NoEdge = math.MaxInt32

// Columns is the width that lines are laid out for.
func (l Layout) Columns() int {
	if l.Width == 0 {
		return 100
	}
	return max(l.Width, minWidth)
}

// A Style is how a text stands out: an ANSI code.
type Style string

// The styles. Only the eight base colours, bold and dim: they are legible on light and on dark.
const (
	Bold    Style = "1"
	Dim     Style = "2"
	Red     Style = "31"
	Green   Style = "32"
	Magenta Style = "35"
	Cyan    Style = "36"
	Alarm   Style = "1;31" // bold and red: forbids to take what follows at its word
)

// Paint wraps text, which must be laid out already, in a style.
func (l Layout) Paint(style Style, text string) string {
	if !l.Color || text == "" || style == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Pick is unicode, or ascii where the locale cannot show that.
func (l Layout) Pick(unicode, ascii string) string {
	if l.ASCII {
		return ascii
	}
	return unicode
}

// maxCleanBytes is how much of a text is looked at: names of 10 MB exist, and nobody reads them here.
const maxCleanBytes = 4096

// Clean makes a text that came out of a file safe to show on one line; a very long one loses its middle.
func (l Layout) Clean(s string) string {
	if len(s) > maxCleanBytes {
		s = s[:maxCleanBytes/2] + l.ellipsis() + s[len(s)-maxCleanBytes/2:]
	}
	return escape(s, l.ASCII)
}

// Printable is s on one line that is safe to show: control, bidirectional and other invisible
// characters and broken UTF-8 are written as escapes.
func Printable(s string) string { return escape(s, false) }

// inASCII is how the characters that our own texts use are written where only ASCII can be shown.
var inASCII = map[rune]string{'µ': "u", 'μ': "u", '…': "...", '→': "->", '×': "x", '°': "", '–': "-", '≥': ">=",
	'≤': "<=", '·': ".", '●': "*", '±': "+/-", '²': "^2"}

// escape is Printable, for a terminal that only shows ASCII if ascii.
func escape(s string, ascii bool) string {
	safe := true
	for i := 0; i < len(s) && safe; i++ {
		safe = s[i] >= ' ' && s[i] < 0x7f
	}
	if safe {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		plain, known := inASCII[r]
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		case ascii && known:
			b.WriteString(plain)
		case ascii && r > 0x7e:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

func (l Layout) ellipsis() string { return l.Pick("…", "...") }

// wide measures text. Characters of ambiguous width count as narrow in every locale, as terminals draw
// them by default, so that the same input gives the same lines everywhere.
var wide = &runewidth.Condition{StrictEmojiNeutral: true}

// Shown is the columns that a clean text takes.
func Shown(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > 0x7e {
			return wide.StringWidth(s)
		}
	}
	return len(s)
}

// Fit shortens a clean text in the middle to at most width columns. What tells kernels apart
// stands at both ends of their names.
func (l Layout) Fit(s string, width int) string {
	if Shown(s) <= width {
		return s
	}
	dots := l.ellipsis()
	room := width - Shown(dots)
	if room < 2 {
		return wide.Truncate(s, max(width, 0), "")
	}
	tail := room * 2 / 5
	head := wide.Truncate(s, room-tail, "")
	return head + dots + lastColumns(s, tail)
}

// lastColumns is the end of s that fits into width columns.
func lastColumns(s string, width int) string {
	start := len(s)
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if width -= wide.RuneWidth(r); width < 0 {
			break
		}
		start -= n
	}
	return s[start:]
}

// Pad fills a text with blanks to width columns, in front if right.
func Pad(s string, width int, right bool) string {
	blanks := strings.Repeat(" ", max(0, width-Shown(s)))
	if right {
		return blanks + s
	}
	return s + blanks
}

// Wrap breaks a clean text into lines of at most width columns; a word that is longer is cut.
func Wrap(text string, width int) []string {
	width = max(width, 8)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for Shown(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := wide.Truncate(word, width, "")
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case Shown(line)+1+Shown(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
