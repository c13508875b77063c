package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelreport"
)

// A rooflineFrame is the part of the log-log plane that a chart shows, in decades.
type rooflineFrame struct {
	x0, x1, y0, y1 float64 // log10 of FLOP per byte and of FLOP per second
}

// roofs is the points of a chart that share a precision: the one with the most FLOP.
func roofs(k *kernelreport.Kernel) []kernelreport.Point {
	var best []kernelreport.Point
	for _, name := range precisions(k) {
		var own []kernelreport.Point
		for _, x := range k.Roofline {
			if x.Precision == name && drawable(x) {
				own = append(own, x)
			}
		}
		if len(own) > 0 && (len(best) == 0 || own[0].Flops > best[0].Flops) {
			best = own
		}
	}
	return best
}

// precisions is the precisions of a kernel's points, in their order.
func precisions(k *kernelreport.Kernel) (out []string) {
	for _, x := range k.Roofline {
		if !slices.Contains(out, x.Precision) {
			out = append(out, x.Precision)
		}
	}
	return out
}

// drawable says whether a point has a place on logarithmic axes.
func drawable(x kernelreport.Point) bool {
	for _, v := range []float64{x.Flops, x.Intensity, x.Peak, x.Bandwidth} {
		if !(v > 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// frameOf is the decades that hold the points and the ridges of their roofs, with some air around.
func frameOf(points []kernelreport.Point) rooflineFrame {
	f := rooflineFrame{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, x := range points {
		ridge := x.Peak / x.Bandwidth
		f.x0, f.x1 = min(f.x0, math.Log10(min(x.Intensity, ridge))), max(f.x1, math.Log10(max(x.Intensity, ridge)))
		f.y0, f.y1 = min(f.y0, math.Log10(min(x.Flops, roofAt(x)))), max(f.y1, math.Log10(x.Peak))
	}
	f.x0, f.x1, f.y0, f.y1 = f.x0-0.5, f.x1+0.7, f.y0-0.3, f.y1+0.2
	f.y0 = min(f.y0, f.y1-minDecades)
	f.x0 = min(f.x0, f.x1-minDecades)
	return f
}

// minDecades is the least that an axis spans: on less, slopes look like walls.
const minDecades = 2.5

// roofAt is what a point could reach at its intensity.
func roofAt(x kernelreport.Point) float64 { return min(x.Peak, x.Bandwidth*x.Intensity) }

// Size of the chart in characters, without its labels.
const (
	rooflineWidth  = 64
	rooflineHeight = 13
)

// rooflineChart is the kernel under its roofs, and what the place means.
func rooflineChart(r *kernelreport.Report, k *kernelreport.Kernel) []page.Block {
	points := roofs(k)
	if len(points) == 0 {
		return nil
	}
	out := []page.Block{page.Figure{Alt: "the kernel under the roofs of its device", Drawing: roofline{r, k}}}
	for _, x := range points {
		out = append(out, page.Prose{Indent: 4, Lead: levelMark(x.Level) + " ", Text: page.T(pointWords(x))})
	}
	var others []string
	for _, name := range precisions(k) {
		for _, x := range k.Roofline {
			if x.Precision == name && name != points[0].Precision && x.Flops > 0 {
				others = append(others, fmt.Sprintf("%s: %sFLOP/s, %s %% of its peak", precisionWords(name),
					unit.SI(x.Flops), unit.Percent(x.Flops/x.Peak)))
				break
			}
		}
	}
	if len(others) > 0 {
		out = append(out, page.Prose{Indent: 4, Text: page.Sayf("Besides, %s.", unit.List(others))})
	}
	return folded(fmt.Sprintf("Roofline, %s: FLOP/s over FLOP per byte, both logarithmic",
		precisionWords(points[0].Precision)), out)
}

// A roofline draws a kernel under the roofs of its device.
type roofline struct {
	report *kernelreport.Report
	kernel *kernelreport.Kernel
}

// SVG is the drawing of RooflineSVG, of one kernel.
func (x roofline) SVG() string {
	var out strings.Builder
	if _, err := drawRoofline(&out, x.report, []kernelreport.Kernel{*x.kernel}); err != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// Lines is roofs and points in characters.
func (x roofline) Lines(l page.Layout) []string {
	points := roofs(x.kernel)
	const labels = 8
	w, h := min(rooflineWidth, l.Columns()-4-labels), rooflineHeight
	f := frameOf(points)
	cells := make([][]string, h)
	for y := range cells {
		cells[y] = slices.Repeat([]string{" "}, w)
	}
	row := func(flops float64) int {
		return h - 1 - int(math.Round((math.Log10(flops)-f.y0)/(f.y1-f.y0)*float64(h-1)))
	}
	column := func(intensity float64) int {
		return int(math.Round((math.Log10(intensity) - f.x0) / (f.x1 - f.x0) * float64(w-1)))
	}
	for _, x := range points {
		for c := range w {
			at := math.Pow(10, f.x0+float64(c)/float64(w-1)*(f.x1-f.x0))
			y := row(min(x.Peak, x.Bandwidth*at))
			if y < 0 || y >= h {
				continue
			}
			mark := l.Pick("·", ".")
			if x.Bandwidth*at >= x.Peak {
				mark = l.Pick("─", "-")
			}
			cells[y][c] = mark
		}
	}
	for _, x := range slices.Backward(points) { // the first level is drawn over the others
		if y, c := row(x.Flops), column(x.Intensity); y >= 0 && y < h && c >= 0 && c < w {
			cells[y][c] = l.Paint(page.Bold, levelMark(x.Level))
		}
	}
	var out []string
	for y := range cells {
		label := ""
		if y == row(points[0].Peak) {
			label = unit.SI(points[0].Peak)
		} else if y == row(points[0].Flops) {
			label = unit.SI(points[0].Flops)
		}
		out = append(out, fmt.Sprintf("    %*s%s%s", labels-1, strings.TrimSpace(label), l.Pick("┤", "|"),
			strings.Join(cells[y], "")))
	}
	return append(out, xAxis(l, f, labels, w, column)...)
}

// xAxis labels the decades of intensity.
func xAxis(l page.Layout, f rooflineFrame, labels, w int, column func(float64) int) []string {
	line, text := []string{}, []byte(strings.Repeat(" ", w+labels))
	for range w {
		line = append(line, l.Pick("─", "-"))
	}
	free := 0
	for d := math.Ceil(f.x0); d <= f.x1; d++ {
		c := column(math.Pow(10, d))
		if c < 0 || c >= w {
			continue
		}
		line[c] = l.Pick("┴", "+")
		label := decade(d)
		if at := labels + c - len(label)/2; at >= free && at+len(label) <= len(text) {
			copy(text[at:], label)
			free = at + len(label) + 1
		}
	}
	return []string{"    " + strings.Repeat(" ", labels-1) + l.Pick("└", "+") + strings.Join(line, ""), "    " +
		string(text)}
}

// decade is a power of ten in figures.
func decade(d float64) string {
	if d < -3 || d > 4 {
		return fmt.Sprintf("1e%.0f", d)
	}
	return unit.Fixed(math.Pow(10, d), int(max(0, -d)))
}

// levelMark is a level's letter in the chart.
func levelMark(level string) string {
	switch level {
	case "dram":
		return "D"
	case "l2":
		return "2"
	case "l1":
		return "1"
	}
	return "o"
}

// worthRaising is how much a roof must rise, or efficiency, for it to be shown.
const worthRaising = 1.1

// pointWords is what a point's place means and what would lift it, in a sentence.
func pointWords(x kernelreport.Point) string {
	s := fmt.Sprintf("%s: %sFLOP/s at %s FLOP/byte, %s %% of the roof there", levelWords(x.Level), unit.SI(x.Flops),
		unit.Three(x.Intensity), unit.Percent(x.RoofPct/100))
	if x.Intensity >= x.Ridge {
		return s + fmt.Sprintf("; compute is the roof (%sFLOP/s) above %s FLOP/byte.", unit.SI(x.Peak),
			unit.Three(x.Ridge))
	}
	s += fmt.Sprintf("; bandwidth is the roof (%sB/s) below %s FLOP/byte", unit.SI(x.Bandwidth), unit.Three(x.Ridge))
	if x.ByIntensity >= worthRaising {
		s += fmt.Sprintf(", where the roof is %s times as high", unit.Three(x.ByIntensity))
	}
	return s + "."
}
