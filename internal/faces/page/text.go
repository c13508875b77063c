package page

import (
	"io"
	"strings"
)

// WriteText prints a page for a terminal.
func WriteText(w io.Writer, p *Page, l Layout) error {
	t := &text{Layout: l, w: w}
	t.blocks(p.Blocks)
	return t.err
}

// A text writes lines to w and keeps the first error.
type text struct {
	Layout
	w      io.Writer
	err    error
	indent int    // of the item that is written
	begun  bool   // a line is written
	head   string // the title of a section that waits for its table
}

func (t *text) line(s string) {
	t.begun = true
	if t.err == nil {
		_, t.err = io.WriteString(t.w, strings.TrimRight(s, " ")+"\n")
	}
}

func (t *text) blocks(list []Block) {
	for _, b := range list {
		t.block(b)
	}
}

func (t *text) block(b Block) {
	switch b := b.(type) {
	case Section:
		t.section(b)
	case Prose:
		t.prose(b)
	case Item:
		t.item(b)
	case Fold:
		if b.Open || t.Unfold {
			t.blocks(b.Blocks)
		}
	case Gap:
		t.line("")
	case Table:
		t.table(b)
	case Breakdown:
		t.breakdown(b)
	case Spark:
		t.spark(b)
	case Meters:
		t.meters(b)
	case Bars:
		t.bars(b)
	case Figure:
		for _, l := range b.Drawing.Lines(t.Layout) {
			t.line(l)
		}
	case Code:
		for _, l := range b.Lines {
			t.codeLine(t.indent+b.Indent, l)
		}
	case Listing:
		for _, l := range b.lines(t.Layout, t.Columns()) {
			t.line(l)
		}
	case Commands:
		for _, l := range b.Lines {
			t.line(strings.Repeat(" ", t.indent+b.Indent) + b.Prompt + t.Clean(l))
		}
	case Example:
		t.example(b)
	case Fields:
		t.fields(b)
	case SourceLine:
		t.sourceLine(b)
	case Next:
		t.next(b)
	}
}

func (t *text) section(s Section) {
	if t.begun {
		t.line("")
	}
	if s.InHead {
		t.head = t.Clean(s.Title.String())
		t.blocks(s.Blocks)
		return
	}
	margin := strings.Repeat(" ", 2*max(s.Level-1, 0))
	for _, l := range t.lines(t.inline(s.Title), t.Columns()-len(margin), s.OneLine) {
		t.line(margin + t.Paint(Bold, l))
	}
	t.blocks(s.Blocks)
}

// lines is a text in lines of at most width columns, or shortened to one.
func (t *text) lines(s string, width int, one bool) []string {
	if one {
		return []string{t.Fit(s, width)}
	}
	return Wrap(s, width)
}

// limit is the columns that a span of a sentence gets; 0: all it needs.
func (t *text) limit(k Kind) int {
	switch w := t.Columns(); k {
	case Name:
		return max(24, w/2)
	case Short:
		return max(16, (w-20)/2)
	case Long:
		return max(24, w-24)
	case Path:
		return w
	}
	return 0
}

// span is a span of a sentence as it is shown.
func (t *text) span(s Span) string {
	if s.Kind == Icon {
		return ""
	}
	out := t.Clean(s.Text)
	n := s.Max
	if n == 0 {
		n = t.limit(s.Kind)
	}
	if n > 0 {
		out = t.Fit(out, n)
	}
	return out
}

// inline is a text as it is shown in a sentence, without styles.
func (t *text) inline(x Text) string {
	var b strings.Builder
	for _, s := range x {
		b.WriteString(t.span(s))
	}
	return b.String()
}

// cell is a text as it is shown in a table, whole.
func (t *text) cell(x Text) string {
	if len(x) == 1 && x[0].Kind != Icon {
		return t.Clean(x[0].Text)
	}
	var b strings.Builder
	for _, s := range x {
		if s.Kind != Icon {
			b.WriteString(t.Clean(s.Text))
		}
	}
	return b.String()
}

// styled is lines of an inline text with its strong spans painted.
func (t *text) styled(x Text, lines []string) []string {
	strong := false
	for _, s := range x {
		strong = strong || s.Kind == Strong
	}
	if !t.Color || !strong {
		return lines
	}
	var source []rune
	var bold []bool
	for _, s := range x {
		for _, r := range t.span(s) {
			source, bold = append(source, r), append(bold, s.Kind == Strong)
		}
	}
	at := 0
	for i, l := range lines {
		var out, run strings.Builder
		on := false
		flush := func() {
			if on {
				out.WriteString(t.Paint(Bold, run.String()))
			} else {
				out.WriteString(run.String())
			}
			run.Reset()
		}
		for _, r := range l {
			for r != ' ' && at < len(source) && source[at] != r {
				at++
			}
			if r != ' ' && at < len(source) {
				if bold[at] != on {
					flush()
					on = bold[at]
				}
				at++
			}
			run.WriteRune(r)
		}
		flush()
		lines[i] = out.String()
	}
	return lines
}

func (t *text) prose(p Prose) {
	if p.Text.Empty() {
		return
	}
	margin, lead := strings.Repeat(" ", t.indent+p.Indent), t.Clean(p.Lead)
	rest := len(margin) + Shown(lead)
	room := t.Columns() - rest
	if p.Hang > 0 {
		rest = len(margin) + p.Hang
		room = min(room, t.Columns()-rest)
	}
	lines := t.styled(p.Text, t.lines(t.inline(p.Text), room, p.OneLine))
	signs := strings.TrimRight(lead, " ")
	for i, l := range lines {
		start := margin + t.Paint(p.LeadStyle, signs) + lead[len(signs):]
		if i > 0 {
			start = strings.Repeat(" ", rest)
		}
		t.line(start + t.Paint(p.Style, l))
	}
}

func (t *text) item(x Item) {
	mark := x.Mark + " "
	for i, l := range Wrap(t.inline(x.Title), t.Columns()-t.indent-len(mark)-2) {
		start := strings.Repeat(" ", t.indent+2)
		if i > 0 {
			start, l = start+strings.Repeat(" ", len(mark)), t.Paint(Bold, l)
		} else {
			l = t.Paint(Bold, mark+l)
		}
		t.line(start + l)
	}
	before := t.indent
	t.indent += 2 + len(mark)
	t.blocks(x.Body)
	t.indent = before
}

// fieldLabel is the columns of the names of fields.
const fieldLabel = 12

func (t *text) fields(f Fields) {
	for _, x := range f.List {
		if x.Value.Empty() {
			continue
		}
		lead := "  " + Pad(t.Clean(x.Name)+" ", fieldLabel, false)
		rest := fieldLabel + 2
		for i, l := range Wrap(t.Fit(t.cell(x.Value), 4*t.Columns()), t.Columns()-max(Shown(lead), rest)) {
			if i > 0 {
				lead = strings.Repeat(" ", rest)
			}
			t.line(lead + l)
		}
	}
}

// minText is the least room that the text of a source line gets beside its place.
const minText = 24

// sourceLine writes where something is: share, file and line, and the line itself.
func (t *text) sourceLine(x SourceLine) {
	indent := t.indent + x.Indent
	blanks := strings.Repeat(" ", indent)
	head, note, code := t.Clean(x.Where), t.Clean(x.Note), t.Clean(x.Code)
	if x.Share != "" {
		head = Pad(x.Share, 5, true) + " %  " + head
	}
	below := ""
	if note != "" && indent+Shown(head)+2+Shown(note) <= t.Columns() {
		head += "  " + note
	} else if note != "" {
		below = blanks + "  " + t.Paint(Dim, t.Fit("("+note+")", t.Columns()-indent-2))
	}
	line := blanks + t.Fit(head, t.Columns()-indent)
	if room := t.Columns() - indent - Shown(head) - 2; code != "" && room >= minText {
		t.line(line + "  " + t.Paint(Cyan, t.Fit(code, room)))
	} else {
		t.line(line)
		if code != "" {
			t.line(blanks + "  " + t.Paint(Cyan, t.Fit(code, t.Columns()-indent-2)))
		}
	}
	if below != "" {
		t.line(below)
	}
}

func (t *text) next(n Next) {
	if len(n.List) == 0 {
		return
	}
	t.section(Section{Title: T("Next"), Level: 1})
	for _, a := range n.List {
		for i, l := range commandLines(t.Clean(a.Command), t.Columns()-6) {
			t.line("  " + strings.Repeat("  ", min(i, 1)) + l)
		}
		t.prose(Prose{Indent: 6, Text: T(a.Why)})
	}
}
