package pages

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
)

// Size of the roofline in pixels, and of the margins around its plane.
const (
	svgWidth, svgHeight          = 960, 600
	svgLeft, svgRight            = 84, 28
	svgTop, svgBottom            = 64, 64
	svgLegendRow                 = 18
	svgPlaneWidth, svgPlaneTotal = svgWidth - svgLeft - svgRight, svgHeight - svgTop - svgBottom
	// Above the plane stands a row for each kernel, which moves it down.
)

// svgColours tell kernels apart: the Okabe-Ito palette without black and yellow, of which each can be told from
// white and from dark grey, also by those who see fewer colours.
var svgColours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// A svgRoof is a line of the chart: a bandwidth's slope or the top of a precision.
type svgRoof struct {
	X1, Y1, X2, Y2 string
	TX, TY         string
	Angle          string
	Label          string
	Anchor         string
}

// A svgPoint is a kernel at one level of memory.
type svgPoint struct {
	X, Y, R, Colour string
	Level           string // one letter
	Title           string
}

// A svgTick is a line of the grid; Label "" says that it is a minor one.
type svgTick struct{ At, Label string }

// A svgLegend is a kernel's name beside its colour.
type svgLegend struct{ X, Y, Colour, Text string }

// A svgChart is what the template draws.
type svgChart struct {
	Width, Height            int
	Left, Right, Top, Bottom int
	MidX, MidY               int
	Title, Sub               string
	X, Y                     []svgTick
	Roofs                    []svgRoof
	Points                   []svgPoint
	Legend                   []svgLegend
}

// rooflineSVG is the chart. Colours of text and lines follow the reader's scheme; every text passes through the
// template's escapes.
var rooflineSVG = template.Must(template.New("roofline").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>{{.Title}}</title>
<style>
.ink { fill: #222 } .faint { fill: #666 } .grid { stroke: #999; stroke-opacity: .25 } .minor { stroke: #999; stroke-opacity: .12 } .roof { stroke: #555; stroke-width: 1.5; fill: none } .ring { stroke: #fff; stroke-width: 1 } .mark { fill: #fff; font-size: 9px; font-weight: bold }
@media (prefers-color-scheme: dark) { .ink { fill: #eee } .faint { fill: #aaa } .roof { stroke: #bbb } .paper { fill: #1e1e1e } .ring { stroke: #1e1e1e } }
@media (prefers-color-scheme: light) { .paper { fill: #fff } }
</style>
<rect class="paper" width="{{.Width}}" height="{{.Height}}" fill="#fff"/>
<text class="ink" x="{{.Left}}" y="26" font-size="16" font-weight="bold">{{.Title}}</text>
<text class="faint" x="{{.Left}}" y="46">{{.Sub}}</text>
{{range .X}}<line class="{{if .Label}}grid{{else}}minor{{end}}" x1="{{.At}}" x2="{{.At}}" y1="{{$.Top}}" y2="{{$.Bottom}}"/>{{if .Label}}<text class="faint" x="{{.At}}" y="{{$.Bottom}}" dy="18" text-anchor="middle">{{.Label}}</text>{{end}}
{{end}}{{range .Y}}<line class="{{if .Label}}grid{{else}}minor{{end}}" x1="{{$.Left}}" x2="{{$.Right}}" y1="{{.At}}" y2="{{.At}}"/>{{if .Label}}<text class="faint" x="{{$.Left}}" y="{{.At}}" dx="-8" dy="4" text-anchor="end">{{.Label}}</text>{{end}}
{{end}}<text class="ink" x="{{.MidX}}" y="{{.Bottom}}" dy="42" text-anchor="middle">arithmetic intensity, FLOP per byte</text>
<text class="ink" transform="translate(20 {{.MidY}}) rotate(-90)" text-anchor="middle">performance, FLOP/s</text>
{{range .Roofs}}<line class="roof" x1="{{.X1}}" y1="{{.Y1}}" x2="{{.X2}}" y2="{{.Y2}}"/><text class="faint" transform="translate({{.TX}} {{.TY}}) rotate({{.Angle}})" dy="-5" text-anchor="{{.Anchor}}">{{.Label}}</text>
{{end}}{{range .Points}}<g><title>{{.Title}}</title><circle class="ring" cx="{{.X}}" cy="{{.Y}}" r="{{.R}}" fill="{{.Colour}}"/><text class="mark" x="{{.X}}" y="{{.Y}}" dy="3" text-anchor="middle">{{.Level}}</text></g>
{{end}}{{range .Legend}}<circle cx="{{.X}}" cy="{{.Y}}" r="5" fill="{{.Colour}}"/><text class="ink" x="{{.X}}" y="{{.Y}}" dx="12" dy="4">{{.Text}}</text>
{{end}}</svg>
`))

// RooflineSVG draws the kernels of a report under the roofs of their device; false: none has a place there.
func RooflineSVG(w io.Writer, r *kernelreport.Report, top int) (bool, error) {
	if top <= 0 {
		top = len(svgColours)
	}
	return drawRoofline(w, r, firstKernels(r, min(top, len(svgColours))))
}

// drawRoofline draws kernels of a report, at most as many as there are colours.
func drawRoofline(w io.Writer, r *kernelreport.Report, kernels []kernelreport.Kernel) (bool, error) {
	var all []kernelreport.Point
	for i := range kernels {
		all = append(all, roofs(&kernels[i])...)
	}
	if len(all) == 0 {
		return false, nil
	}
	return true, rooflineSVG.Execute(w, chartOf(r, kernels, all))
}

// A svgScale is where decades lie in the plane.
type svgScale struct {
	rooflineFrame
	top float64 // of the plane
}

func (s svgScale) x(v float64) float64 {
	return svgLeft + (math.Log10(v)-s.x0)/(s.x1-s.x0)*svgPlaneWidth
}

func (s svgScale) y(v float64) float64 {
	return s.top + svgPlaneTotal - (math.Log10(v)-s.y0)/(s.y1-s.y0)*svgPlaneTotal
}

func px(v float64) string { return fmt.Sprintf("%.1f", v) }

func chartOf(r *kernelreport.Report, kernels []kernelreport.Kernel, all []kernelreport.Point) svgChart {
	top := svgTop + svgLegendRow*len(kernels)
	s := svgScale{frameOf(all), float64(top)}
	c := svgChart{Width: svgWidth, Height: top + svgPlaneTotal + svgBottom, Left: svgLeft, Right: svgWidth - svgRight,
		Top: top, Bottom: top + svgPlaneTotal,
		MidX: svgLeft + svgPlaneWidth/2, MidY: top + svgPlaneTotal/2, Title: "Roofline", Sub: deviceSays(r.Device),
		X: logTicks(s.x0, s.x1, s.x, ""), Y: logTicks(s.y0, s.y1, s.y, "FLOP/s")}
	if c.Sub == "" && len(r.Inputs) > 0 {
		c.Sub = r.Inputs[0].Path
	}
	c.Roofs = svgRoofs(s, all)
	for i := range kernels {
		k := &kernels[i]
		points := roofs(k)
		if len(points) == 0 {
			continue
		}
		name := page.Layout{}.Fit(page.Printable(kernelname.Profiled(k.Name)), 48)
		for _, x := range slices.Backward(points) {
			c.Points = append(c.Points, svgPoint{px(s.x(x.Intensity)), px(s.y(x.Flops)), "8", svgColours[i],
				levelMark(x.Level), name + ", " + precisionWords(x.Precision) + ", " + pointWords(x)})
		}
		c.Legend = append(c.Legend, svgLegend{px(svgLeft + 5), px(svgTop + float64(svgLegendRow*len(c.Legend))),
			svgColours[i], name + ", " + precisionWords(points[0].Precision)})
	}
	return c
}

// sameRoof is how far roofs of one kind may be apart to be drawn as one, the highest: clocks differ between launches.
const sameRoof = 0.2

// svgRoofs is every bandwidth and every peak that the points are held against, once each.
func svgRoofs(s svgScale, all []kernelreport.Point) (out []svgRoof) {
	highest := 0.0
	for _, x := range all {
		highest = max(highest, x.Peak)
	}
	slopes, peaks := make(map[string][]float64), make(map[string][]float64)
	byHeight := slices.Clone(all)
	slices.SortStableFunc(byHeight, func(a, b kernelreport.Point) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(b.Bandwidth, a.Bandwidth))
	})
	fresh := func(seen map[string][]float64, key string, v float64) bool {
		if slices.ContainsFunc(seen[key], func(have float64) bool { return math.Abs(v/have-1) <= sameRoof }) {
			return false
		}
		seen[key] = append(seen[key], v)
		return true
	}
	for _, x := range byHeight {
		if fresh(slopes, x.Level, x.Bandwidth) {
			out = append(out, slopeOf(s, x, highest))
		}
		if fresh(peaks, x.Precision, x.Peak) {
			out = append(out, topOf(s, x, all))
		}
	}
	return out
}

// topOf is a peak's roof, from the steepest slope of its precision to the right edge.
func topOf(s svgScale, x kernelreport.Point, all []kernelreport.Point) svgRoof {
	from := math.Inf(1)
	for _, y := range all {
		if y.Precision == x.Precision {
			from = min(from, x.Peak/y.Bandwidth)
		}
	}
	y, right := px(s.y(x.Peak)), px(svgWidth-svgRight)
	return svgRoof{px(s.x(from)), y, right, y, px(svgWidth - svgRight - 4), y, "0", precisionWords(x.Precision) + " " +
		unit.SI(x.Peak) + "FLOP/s", "end"}
}

// slopeOf is a bandwidth's roof from the edge of the plane to the peak.
func slopeOf(s svgScale, x kernelreport.Point, peak float64) svgRoof {
	from := max(math.Pow(10, s.x0), math.Pow(10, s.y0)/x.Bandwidth)
	to := peak / x.Bandwidth
	x1, y1, x2, y2 := s.x(from), s.y(from*x.Bandwidth), s.x(to), s.y(peak)
	angle := math.Atan2(y2-y1, x2-x1) * 180 / math.Pi
	return svgRoof{px(x1), px(y1), px(x2), px(y2), px(x1 + (x2-x1)*0.06), px(y1 + (y2-y1)*0.06),
		fmt.Sprintf("%.1f", angle), levelWords(x.Level) + " " + unit.SI(x.Bandwidth) + "B/s", "start"}
}

// logTicks is the decades between two powers of ten with their labels, and 2 to 9 times each without.
func logTicks(from, to float64, at func(v float64) float64, unit string) (out []svgTick) {
	for d := math.Floor(from); d <= to; d++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, d)
			if l := math.Log10(v); l < from || l > to {
				continue
			}
			t := svgTick{At: px(at(v))}
			if m == 1 {
				t.Label = tickWords(v, unit)
			}
			out = append(out, t)
		}
	}
	return out
}

// tickWords is a power of ten as a label.
func tickWords(v float64, unit string) string {
	if unit != "" {
		return strings.TrimSpace(siTick(v))
	}
	return decade(math.Round(math.Log10(v)))
}

// siTick is a power of ten with its prefix and no decimals: "10 T".
func siTick(v float64) string {
	for _, x := range []struct {
		from   float64
		symbol string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= x.from*0.999 {
			return fmt.Sprintf("%.0f %s", v/x.from, x.symbol)
		}
	}
	return fmt.Sprintf("%g", v)
}
