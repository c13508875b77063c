package page

import (
	"slices"
	"strings"
)

// columnGap is the blanks between columns.
const columnGap = 2

// minFlex is the least room for a column that gives way, if it needs as much, before others are dropped.
const minFlex = 24

// leastFlex is the least room that it gets at all.
const leastFlex = 4

// A grid is the cells of a table as they are shown, and the room that each column gets.
type grid struct {
	columns []Column
	heads   []string
	rows    [][]string
	keep    []int // the columns shown
	widths  []int
	fixed   map[int]bool // columns of times and IDs, which mean nothing once they are cut
	left    []int        // the others
	dropped []string     // their heads
}

func (t *text) table(x Table) {
	if x.Sentences {
		t.sentences(x)
		return
	}
	g := t.gridOf(x)
	if x.Wide {
		g.shrink(t.Columns())
	} else {
		g.drop(t.Columns())
	}
	g.distinguish(t.Layout)
	margin := 0
	if !x.Wide {
		margin = 2
	}
	t.line(t.Paint(Bold, g.line(t, g.heads, 0, margin)))
	for _, row := range g.rows {
		t.line(g.line(t, row, margin, margin))
	}
	if !x.Wide {
		t.under(x)
		return
	}
	if len(g.rows) == 0 {
		t.line(t.Paint(Dim, noRows))
	}
	if x.More != "" {
		t.aside(x.More)
	}
	if len(g.dropped) > 0 {
		t.aside("not shown at this width: " + t.Clean(strings.Join(g.dropped, ", ")) +
			"; use a wider --width, or --format csv")
	}
	for _, n := range x.Notes {
		t.aside(t.cell(n))
	}
}

// What sentences of a table get.
const (
	leastSentence = 30 // columns, where another column can give way
	leastBeside   = 8  // columns beside the others; with less, sentences go under them
)

// sentences writes a table whose last column is sentences.
func (t *text) sentences(x Table) {
	g := t.gridOf(x)
	last := len(g.columns) - 1
	room := t.Columns() - leastSentence - columnGap // for what gives way
	for i, c := range g.columns[:last] {
		if room -= columnGap; !c.Flex {
			room -= g.widths[i]
		}
	}
	for i, c := range g.columns[:last] {
		if c.Flex {
			g.widths[i] = max(Shown(g.heads[i]), min(g.widths[i], room))
		}
	}
	write := func(cells []string) {
		gap := strings.Repeat(" ", columnGap)
		lead := gap
		for i, c := range g.columns[:last] {
			lead += Pad(t.Fit(cells[i], g.widths[i]), g.widths[i], c.Right) + gap
		}
		if Shown(lead)+leastBeside > t.Columns() {
			t.line(lead)
			t.prose(Prose{Indent: 2 * columnGap, Text: T(cells[last])})
			return
		}
		t.prose(Prose{Lead: lead, Text: T(cells[last])})
	}
	write(g.heads)
	for _, row := range g.rows {
		write(row)
	}
	t.under(x)
}

// under writes what is said under a table that is not wide.
func (t *text) under(x Table) {
	t.prose(Prose{Indent: 2, Text: T(x.More)})
	for _, n := range x.Notes {
		t.prose(Prose{Indent: 2, Text: n})
	}
}

// aside writes a remark under a table.
func (t *text) aside(s string) {
	for _, l := range Wrap(s, min(t.Columns(), 100)) {
		t.line(t.Paint(Dim, l))
	}
}

func (t *text) gridOf(x Table) *grid {
	g := &grid{columns: slices.Clone(x.Columns), widths: make([]int, len(x.Columns))}
	for i, c := range g.columns {
		head := t.Clean(c.Head)
		if i == 0 && t.head != "" {
			head, t.head = t.head, ""
		}
		g.heads = append(g.heads, head)
		if !c.Extra {
			g.keep = append(g.keep, i)
		}
		g.widths[i] = Shown(head)
	}
	for _, row := range x.Rows {
		cells := make([]string, len(g.columns))
		for i := range cells {
			if i < len(row) {
				cells[i] = t.cell(row[i])
			}
			if most := g.columns[i].Most; most > 0 {
				cells[i] = t.Fit(cells[i], most)
			}
			g.widths[i] = max(g.widths[i], Shown(cells[i]))
		}
		g.rows = append(g.rows, cells)
	}
	return g
}

// line is a row, its first column between from and margin further in than the others' gap.
func (g *grid) line(t *text, cells []string, from, margin int) string {
	var b strings.Builder
	for k, i := range g.keep {
		room := g.widths[i]
		switch {
		case k > 0:
			b.WriteString(strings.Repeat(" ", columnGap))
		case g.columns[i].Right:
			b.WriteString(strings.Repeat(" ", margin))
		default: // a heading on the left begins at the margin, its rows are indented
			b.WriteString(strings.Repeat(" ", from))
			room += margin - from
		}
		b.WriteString(Pad(t.Fit(cells[i], room), room, g.columns[i].Right))
	}
	return t.Fit(strings.TrimRight(b.String(), " "), t.Columns())
}

// drop leaves columns out, by their own order, until those that give way have room, and gives these what is left.
func (g *grid) drop(width int) {
	least := 0
	for i, c := range g.columns {
		if c.Flex {
			least = min(minFlex, g.widths[i])
		}
	}
	room := func() int { // what is left for the flexible column
		left := width - 2 + columnGap
		for _, i := range g.keep {
			left -= columnGap
			if !g.columns[i].Flex {
				left -= g.widths[i]
			}
		}
		return left
	}
	for room() < least {
		at := -1
		for k, i := range g.keep {
			if g.columns[i].Drop > 0 && (at < 0 || g.columns[i].Drop > g.columns[g.keep[at]].Drop) {
				at = k
			}
		}
		if at < 0 {
			break
		}
		g.keep = slices.Delete(g.keep, at, at+1)
	}
	for room() < min(leastFlex, least) { // too narrow even then: numbers go, the last first
		at := g.lastNumber()
		if at < 0 {
			break // line cuts
		}
		g.keep = slices.Delete(g.keep, at, at+1)
	}
	left := max(room(), leastFlex)
	for i, c := range g.columns {
		if c.Flex {
			g.widths[i] = min(g.widths[i], left)
		}
	}
}

// leastText is the width below which a column of text is not shortened while columns of numbers can go:
// a third of the page, since names that end after a few letters tell nothing.
func leastText(width int) int { return max(24, width/3) }

// shrink makes the columns fit into width. First texts are shortened, the widest first, down to leastText; then columns
// go by their own order, then texts are shortened for those that have none; then columns of numbers go, the last first;
// then texts are shortened as far as it takes.
func (g *grid) shrink(width int) {
	least := leastText(width)
	ordered := slices.ContainsFunc(g.columns, func(c Column) bool { return c.Drop > 0 })
	for over := g.total() - width; over > 0; over = g.total() - width {
		if at := g.widest(least); at >= 0 {
			g.widths[at] -= min(over, g.widths[at]-max(least, g.secondWidest(at)))
			continue
		}
		if at := g.lessWanted(); at >= 0 {
			g.dropAt(at)
			continue
		}
		if ordered && least > leastWanted { // the columns that are wanted most are left: names give way
			least = leastWanted
			continue
		}
		if at := g.lastNumber(); at >= 0 {
			g.dropAt(at)
			continue
		}
		switch {
		case least > leastFlex:
			g.markFixed()
			least = leastFlex
		case g.fixed != nil: // times and IDs give way as well
			g.fixed, least = nil, 1
		default:
			return // more columns of text than the page has room for: line cuts
		}
	}
}

// leastWanted is the least width of a text beside numbers that are wanted more.
const leastWanted = 12

// lessWanted is the position in keep of the column that goes first by its own order, or -1.
func (g *grid) lessWanted() int {
	at := -1
	for k, i := range g.keep {
		if d := g.columns[i].Drop; d > 0 && (at < 0 || d > g.columns[g.keep[at]].Drop) {
			at = k
		}
	}
	return at
}

// dropAt leaves the column at a position in keep out, and says so.
func (g *grid) dropAt(at int) {
	i := g.keep[at]
	g.keep = slices.Delete(g.keep, at, at+1)
	g.left = append(g.left, i)
	slices.Sort(g.left)
	g.dropped = g.dropped[:0]
	for _, i := range g.left {
		g.dropped = append(g.dropped, g.columns[i].short())
	}
}

// maxFixed is the widest time or ID that is not shortened: a date and a time to the second.
const maxFixed = 19

// markFixed finds the columns of times and IDs.
func (g *grid) markFixed() {
	g.fixed = make(map[int]bool)
	for _, i := range g.keep {
		fixed := len(g.rows) > 0 && g.widths[i] <= maxFixed
		for _, row := range g.rows {
			fixed = fixed && strings.Trim(row[i], "0123456789abcdef-: ") == ""
		}
		g.fixed[i] = fixed
	}
}

func (g *grid) total() int {
	n := columnGap * (len(g.keep) - 1)
	for _, i := range g.keep {
		n += g.widths[i]
	}
	return n
}

// widest is the widest column of text that is over least, or -1.
func (g *grid) widest(least int) int {
	at := -1
	for _, i := range g.keep {
		if !g.columns[i].Right && !g.fixed[i] && g.widths[i] > least && (at < 0 || g.widths[i] > g.widths[at]) {
			at = i
		}
	}
	return at
}

// secondWidest is the width of the widest column of text apart from one; columns as wide as that one
// give way a step at a time.
func (g *grid) secondWidest(but int) int {
	n := 0
	for _, i := range g.keep {
		if i != but && !g.columns[i].Right && !g.fixed[i] {
			n = max(n, g.widths[i])
		}
	}
	return min(n, g.widths[but]-1)
}

// lastNumber is the position in keep of the last column of numbers, or -1; the first one stays.
func (g *grid) lastNumber() int {
	at, numbers := -1, 0
	for k, i := range g.keep {
		if g.columns[i].Right {
			at = k
			numbers++
		}
	}
	if numbers < 2 {
		return -1
	}
	return at
}
