package pages

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/runs/compare"
)

// changeCells is a change as cells: measure, before, after, change, interval. A share changes by points (pp).
func changeCells(c *compare.Change) []page.Text {
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
		change = unit.Signed(points**c.ChangePct) + " pp"
		if c.LowPct != nil && c.HighPct != nil && math.Abs(*c.HighPct) < 1e6 {
			high := points * *c.HighPct
			if c.Unit == "share" {
				high = min(high, 100*(1-c.Before)) // a share has all there is at most
			}
			bounds = unit.Signed(points**c.LowPct) + " to " + unit.Signed(high)
		}
	case c.ChangePct != nil:
		change = unit.Signed(*c.ChangePct) + " %"
		bounds = strings.Trim(percentRange(c), " ()")
	case c.After == 0:
		change = "0"
	}
	return []page.Text{
		measureWords(c.Name),
		page.T(unit.FormatMeasure(c.Before, c.Unit)),
		page.T(unit.FormatMeasure(c.After, c.Unit)),
		page.Num(change),
		page.T(bounds),
	}
}

// percentRange is the interval of a change in parentheses, "" if it is not known.
func percentRange(c *compare.Change) string {
	if c.LowPct == nil || c.HighPct == nil || math.Abs(*c.LowPct) > 1e4 || math.Abs(*c.HighPct) > 1e4 {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", unit.Signed(*c.LowPct), unit.Signed(*c.HighPct))
}

// neededWords is how many runs would settle what is inconclusive, at the end of a sentence.
func neededWords(runs int) string {
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("; needs about %d runs per side", runs)
}

// measureWords is a measure as people read it: of a kernel report, the kernel and the metric.
func measureWords(name string) page.Text {
	rest, ok := strings.CutPrefix(name, "kernel:")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at <= 0 || rest[at-1] == ':' {
		return page.Named(name)
	}
	kernel, metric := rest[:at], rest[at+1:]
	if _, after, renamed := strings.Cut(kernel, " -> "); renamed {
		kernel = after // as it is called now
	}
	return page.Sayf("%s: %s", page.Named(kernelname.Base(kernel)), cmp.Or(metricWords[metric], metric))
}

// metricWords is the metrics of a kernel whose names are not words.
var metricWords = map[string]string{"dram_bytes": "DRAM bytes", "occupancy_theoretical": "theoretical occupancy",
	"occupancy": "achieved occupancy", "sm": "compute (SOL)", "memory": "memory (SOL)"}
