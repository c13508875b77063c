package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/history"
)

// plotRows is the height of a plot on a terminal, in lines.
const plotRows = 12

// HistoryPlot is measures over runs, a plot each.
func HistoryPlot(runs *history.Runs, courses []*history.Course) *page.Page {
	p := &page.Page{Title: page.T("Measures over runs")}
	for i, c := range courses {
		if i > 0 {
			p.Add(page.Gap{})
		}
		p.Add(course(runs, c)...)
	}
	return p
}

// course is a measure over runs: its plot, and its changes in words.
func course(runs *history.Runs, c *history.Course) []page.Block {
	out := []page.Block{page.Prose{OneLine: true, Style: page.Bold,
		Text: page.Sayf("%s (%s), %s", page.Of(page.Word, c.Measure.Name), c.Measure.Unit, runs.Series.String())}}
	n := len(c.Points)
	if n == 0 {
		return append(out, page.Prose{Style: page.Dim, Text: page.T("(no runs)")})
	}
	out = append(out, page.Figure{Alt: c.Measure.Name + " over runs", Drawing: coursePlot{runs, []*history.Course{c}}},
		page.Prose{Text: page.Sayf("%s from %s (%s) to %s (%s)", unit.Counted(n, "run", "runs"),
			commitWords(*runs.Run(c.Points[0].Run)), when(c.Points[0].At),
			commitWords(*runs.Run(c.Points[n-1].Run)), when(c.Points[n-1].At))})
	for i := range c.Moved {
		out = append(out, page.Prose{Indent: 2, Hang: 2, Text: courseMove(runs, c, &c.Moved[i], i)})
	}
	return out
}

// A coursePlot draws measures over runs. In text a column is a run or several, which are its median.
type coursePlot struct {
	runs    *history.Runs
	courses []*history.Course
}

func (x coursePlot) Lines(l page.Layout) (out []string) {
	for _, c := range x.courses {
		out = append(out, courseLines(c, l)...)
	}
	return out
}

func courseLines(c *history.Course, l page.Layout) []string {
	low, high := rangeOf(c.Points)
	ticks := niceTicks(low, high, 4)
	label := 0
	for _, t := range ticks {
		label = max(label, page.Shown(tickText(t, ticks)))
	}
	columns := min(len(c.Points), max(8, l.Columns()-label-3))
	out := courseCells(c, l, low, high, columns, ticks, label)
	return append(out, strings.Repeat(" ", label+1)+l.Pick("└", "+")+strings.Repeat(l.Pick("─", "-"), columns),
		strings.Repeat(" ", label+2)+courseMarks(c, l, columns))
}

// moveMark numbers a change.
func moveMark(i int) string {
	const marks = "123456789abcdefghijklmnopqrstuvwxyz"
	if i < len(marks) {
		return marks[i : i+1]
	}
	return "*"
}

// courseCells is the plane of a plot with its axis, from the top.
func courseCells(c *history.Course, l page.Layout, low, high float64, columns int, ticks []float64,
	label int) []string {
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
				plane[rowOf(c.Points[i].Median)][x] = l.Paint(page.Magenta, l.Pick("○", "o"))
			}
		}
		slices.Sort(v)
		if y := rowOf(v[len(v)/2]); plane[y][x] == " " {
			plane[y][x] = l.Pick("•", "*")
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
		out[y] = page.Pad(text, label, true) + " " + l.Pick("│", "|") + strings.Join(plane[y], "")
	}
	return out
}

// courseMarks is the line under a plot with the numbers of the changes where they are.
func courseMarks(c *history.Course, l page.Layout, columns int) string {
	out := slices.Repeat([]string{" "}, columns)
	for i := range c.Moved {
		index, first, last := c.Moved[i].Index()
		if c.Moved[i].Drift {
			for x := first * columns / len(c.Points); x <= min(last*columns/len(c.Points), columns-1); x++ {
				if out[x] == " " {
					out[x] = l.Pick("╌", "~")
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
