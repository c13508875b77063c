package pages

import (
	"html/template"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/history"
)

// Size of one measure's plot in pixels, and of the margins around its plane.
const (
	courseWidth, courseHeight = 960, 320
	courseLeft, courseRight   = 84, 28
	courseTop, courseBottom   = 56, 48
)

// A coursePoint is a run.
type coursePoint struct{ X, Y, Low, High, Title, Class string }

// A courseLine is a level, a drift, or the place of a change.
type courseLine struct{ X1, Y1, X2, Y2, Class, Title string }

// A courseChart is one measure.
type courseChart struct {
	Top, Left, Right, Plane, Bottom int
	Title, Sub                      string
	Y, X                            []svgTick
	Points                          []coursePoint
	Lines                           []courseLine
}

// historySVG draws the measures one above the other. Every text passes through the template's escapes; colours of text
// follow
// the reader's scheme.
var historySVG = template.Must(template.New("history").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>{{.Title}}</title>
<style>
.ink { fill: #222 } .faint { fill: #666 } .grid { stroke: #999; stroke-opacity: .25 } .spread { stroke: #0072b2; stroke-opacity: .35 } .run { fill: #0072b2 } .off { fill: none; stroke: #e69f00; stroke-width: 2 } .level { stroke: #333; stroke-width: 2 } .worse { stroke: #d55e00; stroke-width: 2; stroke-dasharray: 4 3 } .better { stroke: #009e73; stroke-width: 2; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { .ink { fill: #eee } .faint { fill: #aaa } .paper { fill: #1e1e1e } .level { stroke: #ddd } .run { fill: #56b4e9 } .spread { stroke: #56b4e9 } }
</style>
<rect class="paper" width="{{.Width}}" height="{{.Height}}" fill="#fff"/>
{{range .Charts}}{{$c := .}}<g transform="translate(0 {{.Top}})">
<text class="ink" x="{{.Left}}" y="22" font-size="15" font-weight="bold">{{.Title}}</text>
<text class="faint" x="{{.Left}}" y="40">{{.Sub}}</text>
{{range .Y}}<line class="grid" x1="{{$c.Left}}" x2="{{$c.Right}}" y1="{{.At}}" y2="{{.At}}"/><text class="faint" x="{{$c.Left}}" y="{{.At}}" dx="-8" dy="4" text-anchor="end">{{.Label}}</text>
{{end}}{{range .X}}<text class="faint" x="{{.At}}" y="{{$c.Bottom}}" dy="18" text-anchor="middle">{{.Label}}</text>
{{end}}{{range .Lines}}<line class="{{.Class}}" x1="{{.X1}}" y1="{{.Y1}}" x2="{{.X2}}" y2="{{.Y2}}">{{if .Title}}<title>{{.Title}}</title>{{end}}</line>
{{end}}{{range .Points}}<g><title>{{.Title}}</title><line class="spread" x1="{{.X}}" x2="{{.X}}" y1="{{.Low}}" y2="{{.High}}"/><circle class="{{.Class}}" cx="{{.X}}" cy="{{.Y}}" r="3"/></g>
{{end}}</g>
{{end}}</svg>
`))

// mostDrawn bounds how many runs of a measure are drawn: of more, as many at even distances.
const mostDrawn = 2000

// HistorySVG draws measures over runs: a point a run with its 10th to 90th percentile, levels, changes, single runs
// that are off.
func HistorySVG(runs *history.Runs, courses []*history.Course) string {
	return coursePlot{runs, courses}.SVG()
}

// SVG draws the measures one above the other.
func (x coursePlot) SVG() string {
	runs, courses := x.runs, x.courses
	drawing := struct {
		Width, Height int
		Title         string
		Charts        []courseChart
	}{courseWidth, courseHeight * len(courses), runs.Series.String(), nil}
	for i, c := range courses {
		chart := courseChart{Top: i * courseHeight, Left: courseLeft, Right: courseWidth - courseRight,
			Plane: courseTop, Bottom: courseHeight - courseBottom,
			Title: page.Printable(c.Measure.Name + " (" + c.Measure.Unit + ")"),
			Sub:   page.Printable(runs.Series.String())}
		if len(c.Points) > 0 {
			chart.draw(runs, c)
		}
		drawing.Charts = append(drawing.Charts, chart)
	}
	var out strings.Builder
	_ = historySVG.Execute(&out, drawing) // the template is fixed, and a Builder does not fail
	return out.String()
}

func (g *courseChart) draw(runs *history.Runs, c *history.Course) {
	low, high := rangeOf(c.Points)
	if low == high {
		low, high = low-max(1, low*0.05), high+max(1, high*0.05)
	}
	margin := (high - low) * 0.06
	low, high = low-margin, high+margin
	n := len(c.Points)
	x := func(i float64) string {
		return px(courseLeft + (i+0.5)/float64(n)*(courseWidth-courseLeft-courseRight))
	}
	y := func(v float64) string {
		v = min(max(v, low), high)
		return px(courseHeight - courseBottom - (v-low)/(high-low)*(courseHeight-courseTop-courseBottom))
	}
	ticks := niceTicks(low, high, 5)
	for _, t := range ticks {
		g.Y = append(g.Y, svgTick{y(t), tickText(t, ticks)})
	}
	most := min(n, 7)
	for k := range most {
		i := k * (n - 1) / max(1, most-1)
		g.X = append(g.X, svgTick{x(float64(i)), commitWords(*runs.Run(c.Points[i].Run))})
	}
	off := make(map[int]bool)
	for _, i := range c.Off {
		off[i] = true
	}
	drawn := min(n, mostDrawn)
	for k := range drawn {
		i := k * n / drawn
		p := c.Points[i]
		r := runs.Run(p.Run)
		class := "run"
		if off[i] {
			class = "off"
		}
		g.Points = append(g.Points, coursePoint{x(float64(i)), y(p.Median), y(p.P10), y(p.P90),
			page.Printable(commitWords(*r) + ", " + when(p.At) + ": " + unit.About(p.Median) + " " + c.Measure.Unit +
				", run " + r.Key[:8]), class})
	}
	g.lines(runs, c, x, y)
}

// lines draws the levels between changes, and the changes.
func (g *courseChart) lines(runs *history.Runs, c *history.Course, x func(float64) string, y func(float64) string) {
	start := -0.5
	for i := range c.Moved {
		m := &c.Moved[i]
		index, first, last := m.Index()
		class := "better"
		if m.Worse {
			class = "worse"
		}
		title := page.Printable(courseMove(runs, c, m, i).String())
		at := float64(index) - 0.5
		if m.Drift {
			g.Lines = append(g.Lines, courseLine{x(start), y(m.Before), x(float64(first)), y(m.Before), "level", ""},
				courseLine{x(float64(first)), y(m.Before), x(float64(last)), y(m.After), class, title})
			start = float64(last)
		} else {
			g.Lines = append(g.Lines, courseLine{x(start), y(m.Before), x(at), y(m.Before), "level", ""},
				courseLine{x(at), px(courseTop), x(at), px(courseHeight - courseBottom), class, title})
			start = at
		}
		if i == len(c.Moved)-1 {
			g.Lines = append(g.Lines, courseLine{x(start), y(m.After), x(float64(len(c.Points)) - 0.5), y(m.After),
				"level", ""})
		}
	}
}
