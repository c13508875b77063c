package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxBar is the widest bar: beyond it eyes compare worse, not better.
const maxBar = 120

// breakdown draws the bar, and a row for each part with its value and share.
func (t *text) breakdown(b Breakdown) {
	t.line("")
	t.line("  " + t.stacked(b.Parts, min(t.Columns()-4, maxBar)))
	t.line("")
	rows := append(slices.Clone(b.Parts), b.Total)
	width, label := 0, 0
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = t.inline(r.Name)
		if r.Inner {
			names[i] = "  " + names[i]
		}
		if r.Deeper {
			names[i] = "    " + names[i]
		}
		label, width = max(label, Shown(names[i])), max(width, len(b.Total.Figure))
	}
	const marks, figures = 4, 2 + 3 + 2 + 5 + 2
	label = max(0, min(label, t.Columns()-marks-figures-width))
	for i, r := range rows {
		mark := " "
		if r.Block != "" {
			mark = t.Paint(r.Style, t.Pick(r.Block, r.ASCII))
		}
		t.line(fmt.Sprintf("  %s %s  %*s ms  %5s %%", mark, Pad(t.Fit(names[i], label), label, false), width, r.Figure,
			r.Share))
	}
}

// stacked draws parts over width columns. Every part that is there gets a column at least.
func (l Layout) stacked(parts []Part, width int) string {
	var values []float64
	var drawn []Part
	for _, p := range parts {
		if p.Block != "" {
			values, drawn = append(values, p.Value), append(drawn, p)
		}
	}
	var out strings.Builder
	for i, n := range Shares(values, width) {
		out.WriteString(l.Paint(drawn[i].Style, strings.Repeat(l.Pick(drawn[i].Block, drawn[i].ASCII), n)))
	}
	return out.String()
}

// Shares divides width columns between values: as near to their shares as whole columns go,
// none for nothing, and at least one for anything.
func Shares(values []float64, width int) []int {
	out := make([]int, len(values))
	sum := 0.0
	for _, v := range values {
		sum += max(v, 0)
	}
	if !(sum > 0) || width <= 0 {
		return out
	}
	order := make([]int, 0, len(values)) // by what rounding down takes from each, most first
	rest := make([]float64, len(values))
	left := width
	for i, v := range values {
		if v <= 0 {
			continue
		}
		exact := v / sum * float64(width)
		out[i] = max(1, int(exact))
		rest[i] = exact - float64(out[i])
		left -= out[i]
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if rest[a] > rest[b] {
			return -1
		}
		if rest[a] < rest[b] {
			return 1
		}
		return 0
	})
	for k := 0; left > 0; k = (k + 1) % len(order) {
		out[order[k]]++
		left--
	}
	for left < 0 { // the small parts took their one column from the largest
		largest := 0
		for i := range out {
			if out[i] > out[largest] {
				largest = i
			}
		}
		out[largest]--
		left++
	}
	return out
}

// spark draws a series beside its text. A page without block characters has none.
func (t *text) spark(s Spark) {
	if t.ASCII {
		return
	}
	words := t.cell(s.Text)
	t.line("")
	t.line("  " + Heights(s.Values, t.Columns()-6-Shown(words)) + "  " + words)
}

// heightBlocks are eight heights.
var heightBlocks = [...]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// Heights draws values as heights from zero, at most width of them: of more, each column shows the largest of its
// share.
func Heights(values []float64, width int) string {
	if len(values) == 0 || width <= 0 {
		return ""
	}
	columns := min(len(values), width)
	top := slices.Max(values)
	if !(top > 0) {
		return ""
	}
	var out strings.Builder
	for c := range columns {
		v := slices.Max(values[c*len(values)/columns : max((c+1)*len(values)/columns, c*len(values)/columns+1)])
		out.WriteString(heightBlocks[min(max(int(v/top*float64(len(heightBlocks))), 0), len(heightBlocks)-1)])
	}
	return out.String()
}

// The bar of 0 to 100 %: how wide at most, and how narrow it is made before its label is shortened.
const (
	meterWidth = 40
	minMeter   = 10
)

// meter draws a share of 0 to 1 over width columns: at least one column for anything.
func (l Layout) meter(share float64, width int, style Style) string {
	n := min(max(int(math.Round(share*float64(width))), 0), width)
	if n == 0 && share > 0 {
		n = 1
	}
	return l.Paint(style, strings.Repeat(l.Pick("█", "#"), n)) + strings.Repeat(l.Pick("░", "."), width-n)
}

// meters draws shares below each other.
func (t *text) meters(m Meters) {
	label, notes := 0, 0
	names := make([]string, len(m.Rows))
	for i, r := range m.Rows {
		names[i] = t.cell(r.Name)
		if r.Inner {
			names[i] = "  " + names[i]
		}
		label, notes = max(label, Shown(names[i])), max(notes, Shown(t.cell(r.Note)))
	}
	const figures = 7 // "100.0 %"
	label = min(label, max(12, t.Columns()/2), max(12, t.Columns()-4-2-2-figures-minMeter))
	width := min(meterWidth, t.Columns()-4-label-2-2-figures)
	if room := t.Columns() - 4 - label - 2 - 2 - figures - 2 - notes; room >= 10 {
		width = min(width, room)
	}
	width = max(width, 4)
	for i, r := range m.Rows {
		line := fmt.Sprintf("    %s  %s  %5s %%", Pad(t.Fit(names[i], label), label, false),
			t.meter(r.Share, width, r.Style), r.Figure)
		used := 4 + label + 2 + width + 2 + figures
		if room := t.Columns() - used - 2; !r.Note.Empty() && room >= 8 {
			line += "  " + t.Paint(Dim, t.Fit(t.cell(r.Note), room))
		}
		t.line(line)
	}
}

// maxBars is the widest bar of a list: the numbers beside it say the same.
const maxBars = 50

// bars draws values as a list of bars on one scale.
func (t *text) bars(b Bars) {
	label, largest, figures := 0, 0.0, 0
	names := make([]string, len(b.Rows))
	for i, r := range b.Rows {
		names[i] = t.inline(r.Name)
		label = max(label, Shown(names[i]))
		largest = max(largest, r.Value)
		figures = max(figures, len(r.Figure))
	}
	const least = 6 // columns that a bar gets at least
	unit := 1 + len(b.Unit)
	label = max(0, min(label, max(t.Columns()*2/5, minFlex), t.Columns()-2-2-2-figures-unit-least))
	room := max(1, min(maxBars, t.Columns()-2-label-2-2-figures-unit))
	for i, r := range b.Rows {
		n := 0
		if largest > 0 && r.Value > 0 {
			n = max(1, int(math.Round(r.Value/largest*float64(room))))
		}
		bar := t.Paint(r.Style, strings.Repeat(t.Pick("█", "#"), n)) + strings.Repeat(" ", room-n)
		t.line(fmt.Sprintf("  %s  %s  %*s %s", Pad(t.Fit(names[i], label), label, false), bar, figures, r.Figure,
			b.Unit))
	}
}
