package writers

import (
	"fmt"
	"strings"

	"lacuna/internal/model"
)

// name makes a name safe and short enough to stand in a sentence.
func (p *printer) name(s string) string { return p.fit(p.clean(s), max(24, p.width()/2)) }

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// maxInputs is how many files of a job are named.
const maxInputs = 4

// maxFindings is how many findings are shown with evidence and fix.
const maxFindings = 3

// maxAbstained is how many groups of abstentions are shown.
const maxAbstained = 4

// An Advice is a command that is worth running next, and what it shows.
type Advice struct{ Command, Why string }

func (p *printer) next(advice []Advice) {
	if len(advice) == 0 {
		return
	}
	p.heading("Next")
	for _, a := range advice {
		p.command(a.Command)
		p.prose("      ", 6, a.Why)
	}
}

// command writes a command that can be copied into a shell: lines that go on end in a backslash.
func (p *printer) command(text string) {
	lines := p.wrap(p.clean(text), p.width()-6)
	for i, l := range lines {
		if i < len(lines)-1 {
			l += ` \`
		}
		if i > 0 {
			l = "  " + l
		}
		p.line("  " + l)
	}
}

// example writes a text in which indented lines are code; not whole: no more than what ends with the first code.
func (p *printer) example(indent int, text string, whole bool) {
	blanks := strings.Repeat(" ", indent)
	for _, b := range blocksOf(text) {
		if !b.code {
			p.prose(blanks, indent, p.clean(strings.Join(b.lines, " ")))
			continue
		}
		for _, l := range b.lines {
			p.codeLine(indent+2, l)
		}
		if !whole {
			return
		}
	}
}

// codeLine writes a line of code. Of one that is too long the comment goes above it, and what is still too long
// goes on in the next line, further in.
func (p *printer) codeLine(indent int, l string) {
	l = p.clean(strings.ReplaceAll(l, "\t", "    "))
	own := len(l) - len(strings.TrimLeft(l, " "))
	if indent+own > p.width()/2 { // a narrow page has no room for it
		own = 0
	}
	l = strings.TrimLeft(l, " ")
	indent += own
	room := p.width() - indent
	if code, comment := cutComment(l); shown(l) > room && comment != "" {
		if l = code + "  " + comment; shown(l) > room {
			mark, words, _ := strings.Cut(comment, " ")
			for _, piece := range p.wrap(words, room-len(mark)-1) {
				p.code(indent, mark+" "+piece)
			}
			l = code
		}
	}
	if shown(l) <= room {
		p.code(indent, l)
		return
	}
	for i, piece := range p.wrap(l, room-2) {
		p.code(indent+2*min(i, 1), piece)
	}
}

// code writes a line of code that fits.
func (p *printer) code(indent int, l string) {
	p.line(strings.Repeat(" ", indent) + p.paint(cyan, l))
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

// A block is a paragraph, or lines of code.
type block struct {
	code  bool
	lines []string
}

// blocksOf divides a text into paragraphs and code, whose lines are indented by four blanks.
func blocksOf(text string) (out []block) {
	const indent = "    "
	fresh := true
	for _, l := range strings.Split(strings.Trim(text, "\n"), "\n") {
		code := strings.HasPrefix(l, indent)
		if strings.TrimSpace(l) == "" {
			fresh = true
			continue
		}
		if n := len(out); n == 0 || out[n-1].code != code || fresh && !code {
			out = append(out, block{code: code})
		} else if fresh && code {
			out[n-1].lines = append(out[n-1].lines, "")
		}
		fresh = false
		last := &out[len(out)-1]
		if code {
			l = strings.TrimPrefix(l, indent)
		} else {
			l = strings.TrimSpace(l)
		}
		last.lines = append(last.lines, l)
	}
	return out
}

// confidenceWords is how sure a rule is, in a word or two.
func confidenceWords(confidence float64) string {
	switch {
	case confidence >= 0.85:
		return "almost certain"
	case confidence >= 0.65:
		return "likely"
	case confidence >= 0.4:
		return "possible"
	}
	return "a guess"
}

// lossWords says what a loss means. Codes of one reader only are shown as they are.
func lossWords(code string) string {
	switch model.LossCode(code) {
	case model.LossTruncated:
		return "the file ends too early; what came before was read"
	case model.LossBadEvent:
		return "events that could not be understood were left out"
	case model.LossBadTime:
		return "events without a usable time were left out"
	case model.LossNegative:
		return "events that end before they start count as instants"
	case model.LossZeroTime:
		return "GPU work whose times the profiler did not collect was left out"
	case model.LossUnknownEvent:
		return "events of a kind that lacuna does not know were left out"
	case model.LossWidth:
		return "values that are out of range were left out"
	case model.LossUnclosed:
		return "ranges that never ended are kept as open"
	case model.LossDuplicateCorr:
		return "calls share a correlation ID with an earlier one; work is credited to the first"
	case model.LossUnreadableTable:
		return "a part of the file is damaged and was left out"
	case model.LossDropped:
		return "the profiler itself says that it dropped records"
	case model.LossForeignDevice:
		return "work of devices that are no known GPU was left out"
	}
	return strings.ReplaceAll(code, "-", " ")
}

// sparkBlocks are eight heights.
var sparkBlocks = [...]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

type markdown struct{ printer }

// text escapes what Markdown or HTML would take for its own.
func (m *markdown) text(s string) string {
	var b strings.Builder
	for _, r := range m.clean(s) {
		switch {
		case strings.ContainsRune("&<>|*_`[]~#@\\$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxMarkdownName is the longest name in a table.
const maxMarkdownName = 100

// code is a name as code, whatever is in it.
func (m *markdown) code(s string) string {
	return "<code>" + m.text(m.fit(m.clean(s), maxMarkdownName)) + "</code>"
}

// fold writes a table that opens on a click, if it has rows.
func (m *markdown) fold(title string, heads []string, align string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	m.line("")
	m.line("<details><summary>" + title + "</summary>")
	m.line("")
	m.table(heads, align, rows)
	m.line("")
	m.line("</details>")
}

// table writes cells that are escaped already. align has a letter for each column: l or r.
func (m *markdown) table(heads []string, align string, rows [][]string) {
	m.line("| " + strings.Join(heads, " | ") + " |")
	rule := "|"
	for _, a := range align {
		if a == 'r' {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	m.line(rule)
	for _, row := range rows {
		m.line("| " + strings.Join(row, " | ") + " |")
	}
}
