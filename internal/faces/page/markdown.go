package page

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes a page for a pull request or an issue: the answer, and what is folded on a click.
func WriteMarkdown(w io.Writer, p *Page) error {
	m := &markdown{w: w}
	if !p.Title.Empty() {
		m.line("### " + m.inline(p.Title))
		m.last = paragraph
	}
	m.blocks(p.Blocks)
	return m.err
}

// A markdown writes lines to w and keeps the first error.
type markdown struct {
	Layout
	w      io.Writer
	err    error
	indent string // of the list item that is written
	last   lineKind
	base   int // the indent of the list that is written
}

// lineKind is what was written last: lines of a list stand together, all else is set apart by an empty line.
type lineKind int

const (
	nothing lineKind = iota
	paragraph
	listLine
)

func (m *markdown) line(s string) {
	if m.err == nil {
		_, m.err = io.WriteString(m.w, strings.TrimRight(m.indent+s, " ")+"\n")
	}
}

// begin sets what follows apart from what was written.
func (m *markdown) begin(kind lineKind) {
	if m.last != nothing && (kind == paragraph || m.last == paragraph) {
		m.line("")
	}
	m.last = kind
}

func (m *markdown) paragraph(s string) {
	m.begin(paragraph)
	m.line(s)
}

func (m *markdown) blocks(list []Block) {
	for _, b := range list {
		m.block(b)
	}
}

func (m *markdown) block(b Block) {
	switch b := b.(type) {
	case Section:
		m.section(b)
	case Prose:
		m.prose(b)
	case Item:
		m.item(b)
	case Fold:
		m.fold(m.text(b.Title), b.Open, b.Blocks)
	case Table:
		m.table(b)
	case Breakdown:
		m.breakdown(b)
	case Spark:
		m.spark(b)
	case Meters:
		m.meters(b)
	case Bars:
		m.bars(b)
	case Figure:
		if !b.Elsewhere {
			m.pre(b.Drawing.Lines(Layout{}))
		}
	case Code:
		m.pre(b.Lines)
	case Listing:
		m.pre(b.lines(Layout{}, maxCleanBytes))
	case Commands:
		m.pre(b.Lines)
	case Example:
		m.example(b)
	case Fields:
		m.fields(b)
	case SourceLine:
		m.sourceLine(b)
	case Next:
		m.next(b)
	}
}

func (m *markdown) section(s Section) {
	if len(s.Blocks) == 0 {
		return
	}
	if s.Fold {
		m.fold(m.inline(s.Title), false, s.Blocks)
		return
	}
	m.paragraph(strings.Repeat("#", 3+s.Level) + " " + m.inline(s.Title))
	m.blocks(s.Blocks)
}

// fold writes blocks that open on a click.
func (m *markdown) fold(summary string, open bool, list []Block) {
	if len(list) == 0 {
		return
	}
	m.paragraph("<details" + openAttribute(open) + "><summary>" + summary + "</summary>")
	m.blocks(list)
	m.paragraph("</details>")
}

// Text escapes what Markdown or HTML would take for its own.
func (m *markdown) text(s string) string {
	var b strings.Builder
	for _, r := range m.Clean(s) {
		switch {
		case strings.ContainsRune("&<>|*_`[]~#@\\$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxMarkdownName is the longest name.
const maxMarkdownName = 100

// MarkdownName is a span as Markdown shows it, before it is escaped: names are shortened.
func MarkdownName(s Span) string {
	if s.Kind == Name || s.Kind == Short || s.Kind == Long || s.Kind == Path {
		return Layout{}.Fit(Layout{}.Clean(s.Text), maxMarkdownName)
	}
	return s.Text
}

// code is a name as code, whatever is in it.
func (m *markdown) code(s string) string { return "<code>" + m.text(s) + "</code>" }

// inline is a text with names as code.
func (m *markdown) inline(x Text) string {
	var b strings.Builder
	for _, s := range x {
		switch {
		case s.Text == "":
		case s.Kind == Name || s.Kind == Short || s.Kind == Long || s.Kind == Path:
			b.WriteString(m.code(MarkdownName(s)))
		case s.Kind == deeper:
			b.WriteString("&emsp;")
		case s.Max > 0:
			b.WriteString(m.text(m.Fit(m.Clean(s.Text), s.Max)))
		case s.Kind == Word:
			b.WriteString(m.code(s.Text))
		case s.Kind == Strong:
			b.WriteString("**" + m.text(strings.TrimSpace(s.Text)) + "**" + blankAfter(s.Text))
		default:
			b.WriteString(m.text(s.Text))
		}
	}
	return b.String()
}

// blankAfter is the blank that a text ends with.
func blankAfter(s string) string {
	if strings.HasSuffix(s, " ") {
		return " "
	}
	return ""
}

func (m *markdown) prose(p Prose) {
	if p.Text.Empty() || p.Elsewhere {
		return
	}
	s := m.inline(p.Text)
	if p.Style == Bold || p.Style == Alarm {
		s = "**" + s + "**"
	}
	lead := strings.TrimSpace(p.Lead)
	level := p.List
	switch {
	case p.Quote && lead == "-":
	case lead == "-" || lead == "*" || lead == "●":
		if m.last != listLine {
			m.base = p.Indent
		}
		level = max(level, 1+(p.Indent-m.base)/2, 1)
	case lead != "":
		m.begin(listLine)
		m.line("- **" + m.text(lead) + "** " + s)
		return
	}
	if level > 0 {
		m.begin(listLine)
		m.line(strings.Repeat("  ", level-1) + "- " + s)
		return
	}
	switch {
	case p.Quote:
		s = "> " + s
	case p.Small:
		s = "<sub>" + s + "</sub>"
	}
	m.paragraph(s)
}

func (m *markdown) item(x Item) {
	title := "**" + m.inline(x.Title) + "** "
	mark := x.Mark
	if mark != "-" {
		mark += "."
	}
	m.paragraph(mark + " " + strings.TrimSpace(title))
	before := m.indent
	m.indent += "   " // the lines of a list item
	m.blocks(x.Body)
	m.indent = before
	m.last = paragraph
}

func (m *markdown) table(x Table) {
	shown, folded := x.parts()
	m.rows(shown)
	if len(folded.Rows) > 0 {
		m.fold(m.text(x.FoldTitle), false, []Block{folded})
	}
	if len(x.Rows) == 0 && !x.Wide {
		return
	}
	if len(x.Rows) == 0 {
		m.paragraph(m.text(noRows))
	}
	if x.More != "" {
		m.paragraph("<sub>" + m.inline(Sentence(T(x.More))) + "</sub>")
	}
	for _, n := range x.Notes {
		m.paragraph("<sub>" + m.inline(n) + "</sub>")
	}
}

// rows writes a table without its remarks.
func (m *markdown) rows(x Table) {
	if len(x.Rows) == 0 {
		return
	}
	var heads []string
	rule := "|"
	for _, c := range x.Columns {
		heads = append(heads, m.text(c.name()))
		if c.Right {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	m.begin(paragraph)
	m.line("| " + strings.Join(heads, " | ") + " |")
	m.line(rule)
	for _, row := range x.Rows {
		cells := make([]string, len(x.Columns))
		for i := range cells {
			if i < len(row) {
				cells[i] = m.inline(row[i])
			}
		}
		m.line("| " + strings.Join(cells, " | ") + " |")
	}
}

func (m *markdown) breakdown(b Breakdown) {
	m.paragraph("`" + Layout{}.stacked(b.Parts, 60) + "`")
	var rows [][]Text
	for _, p := range b.Parts {
		name := p.Name
		if p.Block != "" {
			name = Join(T(p.Block+" "), name)
		} else if p.Inner {
			name = inside(name)
		} else if p.Deeper {
			name = inside(inside(name))
		}
		rows = append(rows, []Text{name, T(p.Figure), T(p.Share)})
	}
	rows = append(rows, []Text{Of(Strong, b.Total.Name.String()), Of(Strong, b.Total.Figure), T(b.Total.Share)})
	m.table(Table{Columns: []Column{{Head: "part"}, {Head: "ms per step", Right: true},
		{Head: "% of " + b.Of, Right: true}}, Rows: rows})
}

func (m *markdown) spark(s Spark) {
	m.paragraph("`" + Heights(s.Values, 60) + "` " + m.inline(s.Text))
}

func (m *markdown) meters(x Meters) {
	var rows [][]Text
	noted := false
	for _, r := range x.Rows {
		name := r.Name
		if r.Inner {
			name = inside(name)
		}
		rows = append(rows, []Text{name, T(r.Figure + " %"), T(Layout{}.meter(r.Share, 20, "")), r.Note})
		noted = noted || !r.Note.Empty()
	}
	columns := []Column{{Head: ""}, {Head: "share", Right: true}, {Head: ""}, {Head: ""}}
	if !noted {
		columns = columns[:3]
	}
	m.table(Table{Columns: columns, Rows: rows})
}

func (m *markdown) bars(x Bars) {
	largest := 0.0
	for _, r := range x.Rows {
		largest = max(largest, r.Value)
	}
	var rows [][]Text
	for _, r := range x.Rows {
		n := 0
		if largest > 0 {
			n = int(20*max(r.Value, 0)/largest + 0.5)
		}
		rows = append(rows, []Text{r.Name, T(r.Figure), T(strings.Repeat("█", n))})
	}
	m.table(Table{Columns: []Column{{Head: ""}, {Head: x.Unit, Right: true}, {Head: ""}}, Rows: rows})
}

// pre writes lines as they are.
func (m *markdown) pre(lines []string) {
	if len(lines) == 0 {
		return
	}
	m.paragraph("<pre>")
	for _, l := range lines {
		if l == "" {
			l = " " // an empty line would end the HTML
		}
		m.line(m.text(l))
	}
	m.line("</pre>")
}

func (m *markdown) example(e Example) {
	lead := e.Lead
	for _, b := range partsOf(e.Text) {
		if b.code {
			m.pre(b.lines)
			continue
		}
		m.paragraph(m.text(lead + strings.Join(b.lines, " ")))
		lead = ""
	}
}

func (m *markdown) fields(f Fields) {
	for _, x := range f.List {
		if !x.Value.Empty() {
			m.begin(listLine)
			m.line("- " + m.text(x.Name) + ": " + m.inline(x.Value))
		}
	}
}

func (m *markdown) sourceLine(x SourceLine) {
	s := "- "
	if x.Share != "" {
		s += m.text(x.Share) + " % "
	}
	s += m.code(x.Where)
	if x.Note != "" {
		s += " " + m.text(x.Note)
	}
	if x.Code != "" {
		s += " " + m.code(x.Code)
	}
	m.begin(listLine)
	m.line(s)
}

func (m *markdown) next(n Next) {
	if len(n.List) == 0 {
		return
	}
	m.paragraph("#### Next")
	for _, a := range n.List {
		m.begin(listLine)
		m.line("- " + m.code(a.Command) + ": " + m.text(a.Why))
	}
}
