package pages

import (
	"fmt"
	"math"
	"slices"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// WhatIf is what changes would make of a step: the answer first, then what it rests on.
func WhatIf(in report.Input, x *report.WhatIf) *page.Page {
	p := &page.Page{Title: page.T("What a step would take")}
	p.Add(inputs([]report.Input{in})...)
	p.Add(page.Gap{}, page.Prose{Text: measuredWords(x)})
	if applied(x) {
		u := x.Unprofiled
		p.Add(page.Gap{}, page.Prose{Text: predictedWords(x), Style: page.Bold}, page.Gap{},
			page.Bars{Unit: "ms", Rows: []page.Bar{
				{Name: page.T("now"), Value: u.NowMs, Figure: unit.About(u.NowMs), Style: page.Cyan},
				{Name: page.T("then"), Value: u.PredictedMs, Figure: unit.About(u.PredictedMs),
					Style: page.Green},
			}})
	}
	for _, line := range rateLines(x) {
		p.Add(page.Gap{}, page.Prose{Text: line})
	}
	for _, c := range x.Changes {
		if !c.Applied {
			p.Add(page.Gap{}, page.Prose{Hang: 2, Quote: true,
				Text: page.Sayf("Not made: %s %s.", page.Of(page.Word, c.Change), c.WhyNot)})
		}
	}
	if rows := pathBars(x.CriticalPathMs); len(rows) > 1 { // else the sentence above has said it
		p.Add(page.Section{Title: page.T("Critical path of the step then"), Level: 1,
			Blocks: []page.Block{page.Bars{Rows: rows, Unit: "ms"}}})
	}
	if all := assumptions(x); len(all) > 0 {
		p.Add(page.Section{Title: page.T("This assumes"), Level: 1, Fold: true, Blocks: listed(all)})
	}
	p.Add(page.Section{Title: page.T("Accuracy"), Level: 1, Fold: true, Blocks: listed(surenessWords(x))})
	return p
}

// applied says whether a change was made.
func applied(x *report.WhatIf) bool {
	return slices.ContainsFunc(x.Changes, func(c report.AppliedChange) bool { return c.Applied })
}

// measuredWords is the step as it is now, in a sentence or two.
func measuredWords(x *report.WhatIf) page.Text {
	u := x.Unprofiled
	now := page.Num(unit.About(x.MeasuredStepMs) + " ms")
	if u.Tool == "" {
		return page.Sayf("A step takes %s.", now)
	}
	return page.Sayf("A step takes %s under %s. Without the profiler: %s.", now, u.Tool,
		freeWords(u.NowMs, u.NowLowMs, u.NowHighMs))
}

// predictedWords is the step with the changes, in a sentence.
func predictedWords(x *report.WhatIf) page.Text {
	u := x.Unprofiled
	var names []page.Text
	for _, c := range x.Changes {
		if c.Applied {
			names = append(names, page.Named(c.Change))
		}
	}
	s := page.Sayf("With %s: %s (%s), %s", listOf(names), page.Num(unit.About(u.PredictedMs)+" ms"),
		unit.Bounds(u.PredictedMs, u.LowMs, u.HighMs), gainWords(u))
	if bound := longestOf(x.CriticalPathMs); bound != "" {
		then := "; then bound by "
		if u.GainLowMs <= 0 {
			then = "; bound by " // as before
		}
		s = page.Join(s, page.T(then), pathWords(bound))
	}
	return page.Join(s, page.T("."))
}

// listOf is texts as "a, b and c".
func listOf(texts []page.Text) page.Text {
	if len(texts) < 2 {
		return page.List(texts, "")
	}
	return page.Join(page.List(texts[:len(texts)-1], ", "), page.T(" and "), texts[len(texts)-1])
}

// leastGain is the share of a step below which a gain is negligible.
const leastGain = 0.005

// gainWords is how much shorter a step becomes.
func gainWords(u report.Unprofiled) string {
	switch ratio := u.NowMs / u.PredictedMs; {
	case u.GainLowMs <= 0 && u.GainHighMs >= 0:
		return fmt.Sprintf("no clear gain (%s to %s ms)", unit.About(u.GainLowMs), unit.About(u.GainHighMs))
	case math.Abs(u.GainMs) < leastGain*u.NowMs:
		return fmt.Sprintf("a negligible gain (%s ms, %s %%)", unit.About(u.GainMs), unit.Percent(u.GainMs/u.NowMs))
	case u.GainMs < 0:
		return fmt.Sprintf("%s ms longer", unit.About(-u.GainMs))
	case ratio >= 9.95:
		return fmt.Sprintf("%.0f times as fast", ratio)
	case ratio >= 1.95:
		return fmt.Sprintf("%.1f times as fast", ratio)
	}
	return fmt.Sprintf("%s ms (%s %%) less", unit.About(u.GainMs), unit.Percent(u.GainMs/u.NowMs))
}

// What of a critical path is shown one by one.
const (
	maxPathRows  = 7
	minPathShare = 0.005
)

// pathBars is a critical path's causes, longest first; small ones are one row.
func pathBars(path map[string]float64) (rows []page.Bar) {
	keys := pathKeys(path)
	total := 0.0
	for _, k := range keys {
		total += path[k]
	}
	rest, n := 0.0, 0
	for i, k := range keys {
		if i >= maxPathRows || path[k] < minPathShare*total {
			rest += path[k]
			n++
			continue
		}
		rows = append(rows, page.Bar{Name: pathWords(k), Value: path[k]})
	}
	if n > 0 {
		rows = append(rows, page.Bar{Name: page.T("the rest"), Value: rest})
	}
	largest := 0.0
	for _, r := range rows {
		largest = max(largest, r.Value)
	}
	for i := range rows {
		rows[i].Figure = unit.Fixed(rows[i].Value, unit.AboutDigits(largest))
	}
	return rows
}

// pathKeys is the causes of a path, longest first; ties by name.
func pathKeys(path map[string]float64) []string {
	var keys []string
	for k, ms := range path {
		if ms > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return byLength(path[a], path[b], a, b) })
	return keys
}

// longestOf is the cause that takes most of a path, "" if it is empty.
func longestOf(path map[string]float64) string {
	if keys := pathKeys(path); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// assumptions is what the changes assume, each once.
func assumptions(x *report.WhatIf) (out []page.Text) {
	var seen []string
	for _, c := range x.Changes {
		for _, a := range c.Assumes {
			if !slices.Contains(seen, a) {
				seen = append(seen, a)
				out = append(out, page.Sentence(page.T(a)))
			}
		}
	}
	return out
}

// surenessWords is what the prediction rests on, in sentences.
func surenessWords(x *report.WhatIf) []page.Text {
	steps := fmt.Sprintf("%d steps", x.Steps)
	if x.Steps == 1 {
		steps = "a single step"
	}
	out := []page.Text{page.Sayf("Replayed unchanged, a step takes %s: %s of what was measured over %s.",
		page.Num(unit.About(x.ReplayedStepMs)+" ms"), selfErrorWords(x.SelfErrorPct), steps)}
	if applied(x) {
		out = append(out, page.Sayf("A new capture with the same profiler should show %s (%s).",
			page.Num(unit.About(x.PredictedMs)+" ms"), unit.Bounds(x.PredictedMs, x.LowMs, x.HighMs)))
	}
	for _, n := range x.Notes {
		out = append(out, page.Sentence(page.T(n)))
	}
	return out
}

// selfErrorWords is how far a replay is off.
func selfErrorWords(pct float64) string {
	if math.Abs(pct) < 0.05 {
		return "within 0.1 %"
	}
	return fmt.Sprintf("%+.1f %%", pct)
}
