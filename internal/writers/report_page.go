package writers

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// A Page is what a text for people is laid out for.
type Page struct {
	Width int  // columns; no line is longer. 0: 100
	Color bool // the terminal understands ANSI colours
	ASCII bool // the locale cannot show block characters, arrows and the like
}

// minPageWidth is the narrowest page that is laid out; a narrower one is treated as this wide.
const minPageWidth = 36

func (p Page) width() int {
	if p.Width == 0 {
		return 100
	}
	return max(p.Width, minPageWidth)
}

// The styles. Only the eight base colours, bold and dim: they are legible on light and on dark.
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	magenta = "35"
	cyan    = "36"
)

// paint wraps text, which must be laid out already, in a style.
func (p Page) paint(style, text string) string {
	if !p.Color || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// pick is unicode, or ascii where the locale cannot show that.
func (p Page) pick(unicode, ascii string) string {
	if p.ASCII {
		return ascii
	}
	return unicode
}

// localUnit writes µ as u where the locale has none.
func (p Page) localUnit(head string) string {
	if p.ASCII {
		return strings.ReplaceAll(head, "µ", "u")
	}
	return head
}

// maxCleanBytes is how much of a name is looked at: names of 10 MB exist, and nobody reads them here.
const maxCleanBytes = 4096

// clean makes a text that came out of a file safe to show; a very long one loses its middle.
func (p Page) clean(s string) string {
	if len(s) > maxCleanBytes {
		s = s[:maxCleanBytes/2] + p.ellipsis() + s[len(s)-maxCleanBytes/2:]
	}
	return escape(s, p.ASCII)
}

// Printable is s on one line that is safe to show: control, bidirectional and other invisible
// characters and broken UTF-8 are written as escapes.
func Printable(s string) string { return escape(s, false) }

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
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		case ascii && r > 0x7e:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

func (p Page) ellipsis() string { return p.pick("…", "...") }

// wide measures text. Characters of ambiguous width count as narrow in every locale, as terminals draw
// them by default, so that the same input gives the same lines everywhere.
var wide = &runewidth.Condition{StrictEmojiNeutral: true}

// shown is the columns that a clean text takes.
func shown(s string) int { return wide.StringWidth(s) }

// fit shortens a clean text in the middle to at most width columns. What tells kernels apart
// stands at both ends of their names.
func (p Page) fit(s string, width int) string {
	if shown(s) <= width {
		return s
	}
	dots := p.ellipsis()
	room := width - shown(dots)
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

// pad fills a text with blanks to width columns, in front if right.
func pad(s string, width int, right bool) string {
	blanks := strings.Repeat(" ", max(0, width-shown(s)))
	if right {
		return blanks + s
	}
	return s + blanks
}

// wrap breaks a clean text into lines of at most width columns; a word that is longer is cut.
func (p Page) wrap(text string, width int) []string {
	width = max(width, 8)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for shown(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := wide.Truncate(word, width, "")
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case shown(line)+1+shown(word) <= width:
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

// A printer writes lines to w and keeps the first error.
type printer struct {
	Page
	w   io.Writer
	err error
}

func (p *printer) line(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(s, " ")+"\n")
	}
}

// prose writes a text as a paragraph: its first line after first, the others indented by rest columns.
func (p *printer) prose(first string, rest int, text string) {
	for i, l := range p.wrap(text, p.width()-max(shown(first), rest)) {
		if i == 0 {
			p.line(first + l)
			continue
		}
		p.line(strings.Repeat(" ", rest) + l)
	}
}

// heading begins a section.
func (p *printer) heading(text string) {
	p.line("")
	for _, l := range p.wrap(text, p.width()) {
		p.line(p.paint(bold, l))
	}
}

// Wrap breaks a text into lines of at most width columns.
func Wrap(text string, width int) []string { return Page{}.wrap(text, width) }
