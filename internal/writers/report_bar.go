package writers

import (
	"slices"
	"strings"

	"lacuna/internal/report"
)

// A part is one part of a step's budget.
type part struct {
	name  string
	ms    float64
	block string // how it looks in the bar
	ascii string
	style string
}

// parts is a budget's parts in the order in which an instant is counted.
func parts(b report.Budget) []part {
	return []part{
		{"compute", b.Compute, "█", "#", green},
		{"exposed communication", b.CommExposed, "▓", "%", magenta},
		{"copy", b.Copy, "▒", "=", cyan},
		{"idle", b.Idle, "░", ".", red},
	}
}

func (p Page) mark(x part) string { return p.pick(x.block, x.ascii) }

// bar draws a budget over width columns. Every part that is there gets a column at least.
func (p Page) bar(b report.Budget, width int) string {
	list := parts(b)
	values := make([]float64, len(list))
	for i, x := range list {
		values[i] = x.ms
	}
	var out strings.Builder
	for i, n := range shares(values, width) {
		out.WriteString(p.paint(list[i].style, strings.Repeat(p.mark(list[i]), n)))
	}
	return out.String()
}

// shares divides width columns between values: as near to their shares as whole columns go,
// none for nothing, and at least one for anything.
func shares(values []float64, width int) []int {
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

// sparkBlocks are eight heights.
var sparkBlocks = [...]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// spark draws values as heights from zero, at most width of them: of more, each column shows the largest of its share.
func spark(values []float64, width int) string {
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
		out.WriteString(sparkBlocks[min(max(int(v/top*float64(len(sparkBlocks))), 0), len(sparkBlocks)-1)])
	}
	return out.String()
}
