package writers

import (
	"io"
	"math"
	"strings"

	"lacuna/internal/tables"
)

// TableText prints tables for people: at most limit rows each (0: all), each column on a scale of its
// own, and no line wider than the page. A page of width 0 has no edge: output into a pipe.
func TableText(w io.Writer, sheets []Sheet, page Page, limit int) error {
	p := &printer{Page: page, w: w}
	if p.Width == 0 {
		p.Width = math.MaxInt32
	}
	for i, s := range sheets {
		if i > 0 {
			p.line("")
		}
		p.sheet(s, limit)
	}
	return p.err
}

// gap is the blanks between columns.
const gap = 2

// minText is the width below which a column of text is not shortened while columns of numbers can go:
// a third of the page, since names that end after a few letters tell nothing.
func minText(width int) int { return max(24, width/3) }

func (p *printer) sheet(s Sheet, limit int) {
	p.line(p.paint(bold, p.fit(s.Table.Name+": "+s.Table.Title, p.width())))
	if s.Input != "" {
		p.line(p.paint(dim, p.fit(p.clean(s.Input), p.width())))
	}
	l := p.layout(s, limit)
	p.line(p.paint(bold, l.line(p, l.heads)))
	for _, row := range l.cells {
		p.line(l.line(p, row))
	}
	if len(l.cells) == 0 {
		p.line(p.paint(dim, "(no rows)"))
	}
	if more := s.moreRows(limit); more != "" {
		p.aside(more)
	}
	if len(l.dropped) > 0 {
		p.aside("not shown at this width: " + strings.Join(l.dropped, ", ") + "; a wider --width or --format csv has them")
	}
	for _, note := range s.Rows.Notes {
		p.aside(sentence(p.clean(note)))
	}
}

// aside writes a remark under a table.
func (p *printer) aside(text string) {
	for _, l := range p.wrap(text, min(p.width(), 100)) {
		p.line(p.paint(dim, l))
	}
}

// A tableLayout is cells as text and the room that each column gets.
type tableLayout struct {
	heads   []string
	cells   [][]string
	right   []bool
	widths  []int
	keep    []int    // the columns shown
	dropped []string // names of the others
}

func (p *printer) layout(s Sheet, limit int) *tableLayout {
	columns, rows := s.Rows.Columns, s.shownRows(limit)
	scales := scalesOf(columns, rows)
	l := &tableLayout{cells: make([][]string, len(rows))}
	for i, c := range columns {
		l.heads = append(l.heads, p.clean(p.localUnit(scales[i].Header(c.Name))))
		l.right = append(l.right, c.Unit.IsNumber())
		l.widths = append(l.widths, shown(l.heads[i]))
		l.keep = append(l.keep, i)
	}
	for n, row := range rows {
		l.cells[n] = make([]string, len(columns))
		for i := range columns {
			text := p.clean(people(scales[i], row[i]))
			l.cells[n][i] = text
			l.widths[i] = max(l.widths[i], shown(text))
		}
	}
	l.shrink(p.width(), columns)
	return l
}

// localUnit writes µ as u where the locale has none.
func (p Page) localUnit(head string) string {
	if p.ASCII {
		return strings.ReplaceAll(head, "µ", "u")
	}
	return head
}

// shrink makes the columns fit into width. First texts are shortened, the widest first, down to
// minText; then columns of numbers go, the last first; then texts are shortened as far as it takes.
func (l *tableLayout) shrink(width int, columns []tables.Column) {
	least := minText(width)
	for over := l.total() - width; over > 0; over = l.total() - width {
		if at := l.widest(least); at >= 0 {
			l.widths[at] -= min(over, l.widths[at]-max(least, l.secondWidest(at)))
			continue
		}
		if at := l.lastNumber(); at >= 0 {
			l.dropped = append([]string{columns[l.keep[at]].Name}, l.dropped...)
			l.keep = append(l.keep[:at:at], l.keep[at+1:]...)
			continue
		}
		if least == 1 {
			break // more columns of text than the page has room for: line cuts
		}
		least = 1
	}
}

func (l *tableLayout) total() int {
	n := gap * (len(l.keep) - 1)
	for _, i := range l.keep {
		n += l.widths[i]
	}
	return n
}

// widest is the widest column of text that is over least, or -1.
func (l *tableLayout) widest(least int) int {
	at := -1
	for _, i := range l.keep {
		if !l.right[i] && l.widths[i] > least && (at < 0 || l.widths[i] > l.widths[at]) {
			at = i
		}
	}
	return at
}

// secondWidest is the width of the widest column of text apart from one; columns as wide as that one
// give way a step at a time.
func (l *tableLayout) secondWidest(but int) int {
	n := 0
	for _, i := range l.keep {
		if i != but && !l.right[i] {
			n = max(n, l.widths[i])
		}
	}
	return min(n, l.widths[but]-1)
}

// lastNumber is the position in keep of the last column of numbers, or -1; the first one stays.
func (l *tableLayout) lastNumber() int {
	at, numbers := -1, 0
	for k, i := range l.keep {
		if l.right[i] {
			at = k
			numbers++
		}
	}
	if numbers < 2 {
		return -1
	}
	return at
}

func (l *tableLayout) line(p *printer, cells []string) string {
	var b strings.Builder
	for k, i := range l.keep {
		if k > 0 {
			b.WriteString("  ")
		}
		b.WriteString(pad(p.fit(cells[i], l.widths[i]), l.widths[i], l.right[i]))
	}
	return p.fit(strings.TrimRight(b.String(), " "), p.width())
}
