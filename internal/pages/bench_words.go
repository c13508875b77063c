package pages

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"lacuna/internal/compare"
	"lacuna/internal/kernelname"
	"lacuna/internal/page"
	"lacuna/internal/unit"
)

// benchChangeWords is a verdict in a sentence.
func benchChangeWords(c *compare.Change) page.Text {
	text := page.Sayf("%s is %s, before %s", benchSubject(c.Name), page.Num(unit.FormatMeasure(c.After, c.Unit)),
		page.Num(unit.FormatMeasure(c.Before, c.Unit)))
	if c.ChangePct != nil {
		text = page.Sayf("%s: %s%s", text, page.Num(unit.Signed(*c.ChangePct)+" %"), benchRange(c))
	}
	switch c.Verdict {
	case "undecided":
		return page.Sayf("%s. Undecided%s.", text, benchNeeded(c.RunsNeeded))
	case "same":
		return page.Sayf("%s. No change of %s %% or more.", text, unit.Short(c.LimitPct))
	}
	return page.Sayf("%s. It is %s.", text, c.Verdict)
}

// benchChangeCells is a change as cells: name, before, after, change, interval, verdict. A share changes by points.
func benchChangeCells(c *compare.Change) []page.Text {
	change, bounds := "from none", ""
	points := 0.0 // of one per cent of before
	switch c.Unit {
	case "share":
		points = c.Before
	case "%":
		points = c.Before / 100
	}
	switch {
	case points > 0 && c.ChangePct != nil:
		change = unit.Signed(points**c.ChangePct) + " points"
		if c.LowPct != nil && c.HighPct != nil && math.Abs(*c.HighPct) < 1e6 {
			high := points * *c.HighPct
			if c.Unit == "share" {
				high = min(high, 100*(1-c.Before)) // a share has all there is at most
			}
			bounds = unit.Signed(points**c.LowPct) + " to " + unit.Signed(high)
		}
	case c.ChangePct != nil:
		change = unit.Signed(*c.ChangePct) + " %"
		bounds = strings.Trim(benchRange(c), " ()")
	case c.After == 0:
		change = "0"
	}
	return append([]page.Text{page.Named(benchMeasureWords(c.Name))},
		page.Row(unit.FormatMeasure(c.Before, c.Unit), unit.FormatMeasure(c.After, c.Unit), change, bounds,
			benchVerdict(c))...)
}

// benchMeasureWords is a measure as people read it: of a kernel report, the kernel and the metric.
func benchMeasureWords(name string) string {
	rest, ok := strings.CutPrefix(name, "kernel:")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at <= 0 || rest[at-1] == ':' {
		return name
	}
	kernel, metric := rest[:at], rest[at+1:]
	if _, after, renamed := strings.Cut(kernel, " -> "); renamed {
		kernel = after // as it is called now
	}
	return kernelname.Base(kernel) + ": " + cmp.Or(benchMetricWords[metric], metric)
}

// benchMetricWords is the metrics of a kernel whose names are no words.
var benchMetricWords = map[string]string{"dram_bytes": "DRAM bytes", "occupancy_theoretical": "theoretical occupancy",
	"occupancy": "achieved occupancy", "sm": "compute, of peak", "memory": "memory, of peak"}

// benchVerdict is the verdict on a row.
func benchVerdict(c *compare.Change) string {
	if c.Verdict == "undecided" && c.RunsNeeded > 0 {
		return fmt.Sprintf("undecided, %d runs", c.RunsNeeded)
	}
	return c.Verdict
}

func benchNeeded(runs int) string {
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("; about %d runs a side would tell", runs)
}

// benchRange is the interval of a change in parentheses, "" if it is not known.
func benchRange(c *compare.Change) string {
	if c.LowPct == nil || c.HighPct == nil || math.Abs(*c.LowPct) > 1e4 || math.Abs(*c.HighPct) > 1e4 {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", unit.Signed(*c.LowPct), unit.Signed(*c.HighPct))
}
