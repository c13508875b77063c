package page

import (
	"strconv"
	"strings"
)

// example writes a text in which indented lines are code.
func (t *text) example(e Example) {
	lead := e.Lead
	for _, b := range partsOf(e.Text) {
		if b.code {
			for _, l := range b.lines {
				t.codeLine(t.indent+e.Indent+2, l)
			}
			continue
		}
		t.prose(Prose{Indent: e.Indent, Text: T(lead + strings.Join(b.lines, " "))})
		lead = ""
	}
}

// lines is the listing with lines of at most width columns. The sign of a count's unit stands behind the counts.
func (x Listing) lines(l Layout, width int) []string {
	const room = 8
	head := " "
	for _, c := range x.Counts {
		head += Pad(l.Clean(c), room, true)
	}
	out := []string{l.Paint(Bold, head+Pad("line", room-1, true))}
	for _, line := range x.Lines {
		row, left := " ", room-1
		if line.Here {
			row = l.Pick("▶", ">")
		}
		for _, c := range line.Counts {
			row += Pad(l.Clean(c), left, true)
			left = room
		}
		row += Pad(strconv.Itoa(line.Number), room-1, true) + "  "
		out = append(out, row+l.Paint(Cyan, l.Fit(l.Clean(line.Code), width-Shown(row))))
	}
	return out
}

// Cut divides the text of an example behind its first code.
func Cut(text string) (first, rest string) {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	inCode := false
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, codeIndent):
			inCode = true
		case strings.TrimSpace(l) != "" && inCode:
			return strings.Join(lines[:i], "\n"), strings.Join(lines[i:], "\n")
		}
	}
	return text, ""
}

// codeLine writes a line of code. Of one that is too long the comment goes above it, and what is still too long
// goes on in the next line, further in.
func (t *text) codeLine(indent int, l string) {
	l = t.Clean(strings.ReplaceAll(l, "\t", codeIndent))
	own := len(l) - len(strings.TrimLeft(l, " "))
	if indent+own > t.Columns()/2 { // a narrow page has no room for it
		own = 0
	}
	l = strings.TrimLeft(l, " ")
	indent += own
	room := t.Columns() - indent
	if code, comment := cutComment(l); Shown(l) > room && comment != "" {
		if l = code + "  " + comment; Shown(l) > room {
			mark, words, _ := strings.Cut(comment, " ")
			for _, piece := range Wrap(words, room-len(mark)-1) {
				t.code(indent, mark+" "+piece)
			}
			l = code
		}
	}
	if Shown(l) <= room {
		t.code(indent, l)
		return
	}
	for i, piece := range Wrap(l, room-2) {
		t.code(indent+2*min(i, 1), piece)
	}
}

// code writes a line of code that fits.
func (t *text) code(indent int, l string) {
	t.line(strings.Repeat(" ", indent) + t.Paint(Cyan, l))
}

// cutComment divides a line of code from the comment behind it.
func cutComment(l string) (code, comment string) {
	for _, mark := range []string{"  # ", "  // "} {
		if i := strings.Index(l, mark); i > 0 {
			return strings.TrimRight(l[:i], " "), strings.TrimLeft(l[i:], " ")
		}
	}
	return l, ""
}

// codeIndent is what lines of code begin with in a text.
const codeIndent = "    "

// An examplePart is a paragraph, or lines of code.
type examplePart struct {
	code  bool
	lines []string
}

// partsOf divides a text into paragraphs and code.
func partsOf(text string) (out []examplePart) {
	fresh := true
	for _, l := range strings.Split(strings.Trim(text, "\n"), "\n") {
		code := strings.HasPrefix(l, codeIndent)
		if strings.TrimSpace(l) == "" {
			fresh = true
			continue
		}
		if n := len(out); n == 0 || out[n-1].code != code || fresh && !code {
			out = append(out, examplePart{code: code})
		} else if fresh && code {
			out[n-1].lines = append(out[n-1].lines, "")
		}
		fresh = false
		last := &out[len(out)-1]
		if code {
			l = strings.TrimPrefix(l, codeIndent)
		} else {
			l = strings.TrimSpace(l)
		}
		last.lines = append(last.lines, l)
	}
	return out
}

// commandLines breaks a command between its words into lines of at most width columns, which end in a backslash where
// they go on: so they can be copied into a shell. A word is never broken, however long: half a path is another path.
func commandLines(command string, width int) (lines []string) {
	line := ""
	for _, word := range shellWords(command) {
		switch {
		case line == "":
			line = word
		case Shown(line)+1+Shown(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line+` \`), word
		}
	}
	return append(lines, line)
}

// shellWords divides a command at its blanks, but for those in quotes.
func shellWords(command string) (words []string) {
	quoted, word := false, ""
	for _, r := range command {
		switch {
		case r == '\'':
			quoted = !quoted
			word += "'"
		case r == ' ' && !quoted:
			if word != "" {
				words, word = append(words, word), ""
			}
		default:
			word += string(r)
		}
	}
	if word != "" {
		words = append(words, word)
	}
	return words
}
