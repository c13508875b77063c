package writers

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lacuna/internal/history"
	"lacuna/internal/unit"
)

// plotRows is the height of a plot on a terminal, in lines.
const plotRows = 12

// HistoryPlot draws measures over runs on a terminal: a column is a run or several, which are its median.
func HistoryPlot(w io.Writer, runs *history.Runs, courses []*history.Course, page Page) error {
	p := &printer{Page: page, w: w}
	for i, c := range courses {
		if i > 0 {
			p.line("")
		}
		p.course(runs, c)
	}
	return p.err
}

func (p *printer) course(runs *history.Runs, c *history.Course) {
	p.line(p.paint(bold, p.fit(p.clean(c.Measure.Name)+" ("+p.clean(c.Measure.Unit)+"), "+p.clean(runs.Series.String()), p.width())))
	if len(c.Points) == 0 {
		p.line(p.paint(dim, "(no runs)"))
		return
	}
	low, high := rangeOf(c.Points)
	ticks := niceTicks(low, high, 4)
	label := 0
	for _, t := range ticks {
		label = max(label, shown(tickText(t, ticks)))
	}
	columns := min(len(c.Points), max(8, p.width()-label-3))
	for _, row := range p.cells(c, low, high, columns, ticks, label) {
		p.line(row)
	}
	p.line(strings.Repeat(" ", label+1) + p.pick("└", "+") + strings.Repeat(p.pick("─", "-"), columns))
	p.line(strings.Repeat(" ", label+2) + p.marks(c, columns))
	p.prose("", 0, p.clean(fmt.Sprintf("%s from %s (%s) to %s (%s)", unit.Counted(len(c.Points), "run", "runs"), commitWords(*runs.Run(c.Points[0].Run)), when(c.Points[0].At),
		commitWords(*runs.Run(c.Points[len(c.Points)-1].Run)), when(c.Points[len(c.Points)-1].At))))
	for i := range c.Moved {
		p.prose("  ", 4, p.clean(courseMove(runs, c, &c.Moved[i], i)))
	}
}

// courseMove is a change in a line, numbered as in the plot.
func courseMove(runs *history.Runs, c *history.Course, x *history.Moved, i int) string {
	index, first, last := x.Index()
	at := "at " + commitWords(*runs.Run(c.Points[index].Run))
	if x.Drift {
		at = "from " + commitWords(*runs.Run(c.Points[first].Run)) + " to " + commitWords(*runs.Run(c.Points[last].Run))
	}
	word := "better"
	if x.Worse {
		word = "worse"
	}
	return fmt.Sprintf("%s: %s %s, %s to %s %s (%s %%), %s", moveMark(i), kindWord(x.Drift), at, unit.About(x.Before), unit.About(x.After), c.Measure.Unit, unit.Signed(100*x.Change), word)
}

// moveMark numbers a change.
func moveMark(i int) string {
	const marks = "123456789abcdefghijklmnopqrstuvwxyz"
	if i < len(marks) {
		return marks[i : i+1]
	}
	return "*"
}

// cells is the plane of a plot with its axis, from the top.
func (p *printer) cells(c *history.Course, low, high float64, columns int, ticks []float64, label int) []string {
	plane := make([][]string, plotRows)
	for y := range plane {
		plane[y] = slices.Repeat([]string{" "}, columns)
	}
	rowOf := func(v float64) int {
		if high == low {
			return plotRows / 2
		}
		return plotRows - 1 - int(math.Round((v-low)/(high-low)*float64(plotRows-1)))
	}
	off := make(map[int]bool)
	for _, i := range c.Off {
		off[i] = true
	}
	for x := range columns {
		from, to := x*len(c.Points)/columns, (x+1)*len(c.Points)/columns
		var v []float64
		for i := from; i < to; i++ {
			v = append(v, c.Points[i].Median)
			if off[i] {
				plane[rowOf(c.Points[i].Median)][x] = p.paint(magenta, p.pick("○", "o"))
			}
		}
		slices.Sort(v)
		if y := rowOf(v[len(v)/2]); plane[y][x] == " " {
			plane[y][x] = p.pick("•", "*")
		}
	}
	out := make([]string, plotRows)
	for y := range plane {
		text := ""
		for _, t := range ticks {
			if rowOf(t) == y {
				text = tickText(t, ticks)
			}
		}
		out[y] = pad(text, label, true) + " " + p.pick("│", "|") + strings.Join(plane[y], "")
	}
	return out
}

// marks is the line under a plot with the numbers of the changes where they are.
func (p *printer) marks(c *history.Course, columns int) string {
	out := slices.Repeat([]string{" "}, columns)
	for i := range c.Moved {
		index, first, last := c.Moved[i].Index()
		if c.Moved[i].Drift {
			for x := first * columns / len(c.Points); x <= min(last*columns/len(c.Points), columns-1); x++ {
				if out[x] == " " {
					out[x] = p.pick("╌", "~")
				}
			}
		}
		out[min(index*columns/len(c.Points), columns-1)] = moveMark(i)
	}
	return strings.Join(out, "")
}

// rangeOf is from the least to the greatest value.
func rangeOf(points []history.Point) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, x := range points {
		low, high = min(low, x.Median), max(high, x.Median)
	}
	return low, high
}

// niceTicks is at most about n values from low to high at distances of 1, 2 or 5 times a power of ten (Heckbert 1990).
func niceTicks(low, high float64, n int) (out []float64) {
	if !(high > low) {
		return []float64{low}
	}
	raw := (high - low) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw {
			step = m * power
			break
		}
	}
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step && len(out) < 4*n; i++ {
		out = append(out, i*step)
	}
	return out
}

// tickText is a tick with as many decimals as tell it from its neighbours.
func tickText(t float64, ticks []float64) string {
	if len(ticks) < 2 {
		return unit.About(t)
	}
	digits := max(0, int(-math.Floor(math.Log10(ticks[1]-ticks[0])+1e-9)))
	if a := math.Abs(t); a >= 1e6 {
		return fmt.Sprintf("%.5g", t)
	}
	return unit.Fixed(t, min(digits, 9))
}
