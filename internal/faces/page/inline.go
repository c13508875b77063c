package page

import (
	"fmt"
	"slices"
	"strings"
)

// A Text is what a sentence is made of.
type Text []Span

// A Span is a piece of a text of one kind.
type Span struct {
	Kind Kind
	Text string
	Max  int     // columns that text and Markdown show of it; 0: as its kind has
	At   []Place // where in the captures it can be seen
}

// Kind is what a span is.
type Kind uint8

// The kinds of spans.
const (
	Plain  Kind = iota
	Number      // a figure with its unit
	Name        // out of a capture; a sentence of the text form shortens it to half a line
	Short       // a name of which two stand in a line
	Long        // a name that has almost a line of its own
	Path        // a file; has a line of its own
	Word        // a word of ours that is typed as it is: a rule, a flag, a command; never shortened
	Strong      // what must not be overlooked
	Icon        // a sign, with the blank after it, that Markdown and HTML show; text has words alone

	deeper // what sets a part of the row above apart, in tables of Markdown and HTML
)

// inside is the name of a row that is a part of the row above.
func inside(name Text) Text { return Join(Of(deeper, " "), name) }

// A Place is where in a capture something can be seen. What does not apply is nil or "".
type Place struct {
	Input   int     `json:"input"`
	Device  *uint32 `json:"device,omitempty"`
	Stream  *uint32 `json:"stream,omitempty"`
	Thread  *int64  `json:"thread,omitempty"`
	StartNs *int64  `json:"start_ns,omitempty"`
	EndNs   *int64  `json:"end_ns,omitempty"`
	Step    *int    `json:"step,omitempty"`
	Kernel  string  `json:"kernel,omitempty"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line,omitempty"`
}

// Of makes a text of one kind.
func Of(kind Kind, s string) Text { return Text{{Kind: kind, Text: s}} }

// T is plain text.
func T(s string) Text { return Of(Plain, s) }

// Excerpt is words out of a file of which so many columns are enough.
func Excerpt(s string, columns int) Text { return Text{{Text: s, Max: columns}} }

// Num is a figure with its unit.
func Num(s string) Text { return Of(Number, s) }

// Named is a name out of a capture.
func Named(s string) Text { return Of(Name, s) }

// Sayf is Sprintf for texts: %s takes a Text as it is, and whatever else a verb takes becomes plain text. As in
// Sprintf, a value too few or too many is shown in the text, after "%!".
func Sayf(format string, args ...any) Text {
	var out Text
	next := 0
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			out = out.plain(format)
			break
		}
		out = out.plain(format[:at])
		verb := verbOf(format[at:])
		format = format[at+len(verb):]
		switch {
		case verb == "%%":
			out = out.plain("%")
		case next >= len(args):
			out = out.plain("%!" + verb[len(verb)-1:] + "(MISSING)")
		default:
			if t, ok := args[next].(Text); ok {
				for _, s := range t {
					out = out.add(s)
				}
			} else {
				out = out.plain(fmt.Sprintf(verb, args[next]))
			}
			next++
		}
	}
	if next < len(args) {
		out = out.plain("%!(EXTRA)")
	}
	return out
}

// verbOf is the verb that s begins with, with its flags.
func verbOf(s string) string {
	for i := 1; i < len(s); i++ {
		if c := s[i]; c == '%' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return s[:i+1]
		}
	}
	return s
}

func (t Text) plain(s string) Text { return t.add(Span{Text: s}) }

// add appends a span, unless it is empty; plain text goes on with plain text.
func (t Text) add(s Span) Text {
	if s.Text == "" {
		return t
	}
	if n := len(t); n > 0 && goesOn(s) && goesOn(t[n-1]) {
		t[n-1].Text += s.Text
		return t
	}
	return append(t, s)
}

// goesOn says whether a span is plain text that may be one with its neighbour.
func goesOn(s Span) bool { return s.Kind == Plain && s.Max == 0 && len(s.At) == 0 }

// Seen is a text with where in the captures it can be seen.
func Seen(t Text, at ...Place) Text {
	out := slices.Clone(t)
	for i := range out {
		out[i].At = at
	}
	return out
}

// Join is texts one after the other.
func Join(texts ...Text) (out Text) {
	for _, t := range texts {
		for _, s := range t {
			out = out.add(s)
		}
	}
	return out
}

// List is texts with something between them.
func List(texts []Text, between string) (out Text) {
	for i, t := range texts {
		if i > 0 {
			out = out.plain(between)
		}
		out = Join(out, t)
	}
	return out
}

// String is the text without its kinds.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Empty says whether there is nothing to read.
func (t Text) Empty() bool { return t.String() == "" }

// Sentence begins a text with a capital letter and ends it with a full stop. Names keep their first letter.
func Sentence(t Text) Text {
	s := t.String()
	if s == "" {
		return t
	}
	out := append(Text(nil), t...)
	if first := &out[0]; first.Kind == Plain && first.Text != "" && first.Text[0] >= 'a' && first.Text[0] <= 'z' {
		first.Text = strings.ToUpper(first.Text[:1]) + first.Text[1:]
	}
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		out = out.plain(".")
	}
	return out
}

// Row is cells of plain text.
func Row(cells ...string) []Text {
	out := make([]Text, len(cells))
	for i, c := range cells {
		out[i] = T(c)
	}
	return out
}
