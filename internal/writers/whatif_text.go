package writers

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lacuna/internal/facts"
	"lacuna/internal/report"
)

// WhatIfJSON writes an answer by the JSON contract.
func WhatIfJSON(w io.Writer, x *report.WhatIf) error { return writeJSON(w, x) }

// WhatIfText prints what changes would make of a step: the answer first, then what it rests on.
func WhatIfText(w io.Writer, in report.Input, x *report.WhatIf, page Page) error {
	p := &printer{Page: page, w: w}
	p.inputs([]report.Input{in})
	p.line("")
	p.prose("", 0, p.clean(measuredWords(x)))
	if slices.ContainsFunc(x.Changes, func(c report.AppliedChange) bool { return c.Applied }) {
		p.line("")
		for _, l := range p.wrap(p.clean(predictedWords(x, p.name)), p.width()) {
			p.line(p.paint(bold, l))
		}
		p.line("")
		p.beforeAfter(x)
	}
	p.notMade(x)
	p.path(x)
	p.assumptions(x)
	p.sureness(x)
	return p.err
}

// aboutDigits is how many decimals an estimate in ms has: three digits are more than it is known to.
func aboutDigits(ms float64) int {
	switch a := math.Abs(ms); {
	case a >= 99.95:
		return 0
	case a >= 9.995:
		return 1
	case a >= 0.9995:
		return 2
	case a >= 0.09995 || a == 0:
		return 3
	}
	return 4
}

// about is an estimate in ms.
func about(ms float64) string { return fixed(ms, aboutDigits(ms)) }

// bounds is the range of an estimate in parentheses, as exact as the estimate itself.
func bounds(ms, low, high float64) string {
	d := aboutDigits(ms)
	return "(" + fixed(low, d) + " to " + fixed(high, d) + ")"
}

// vague is the width of a range, as a share of the estimate, from which on the estimate is no answer: the bounds are.
const vague = 0.5

// freeWords is what something takes without the profiler, with the verb.
func freeWords(ms, low, high float64) string {
	if high-low <= vague*ms {
		return fmt.Sprintf("likely takes %s ms %s", about(ms), bounds(ms, low, high))
	}
	d := aboutDigits(ms)
	return fmt.Sprintf("takes %s to %s ms (this capture cannot tell better; time it without the profiler)", fixed(low, d), fixed(high, d))
}

// measuredWords is the step as it is now, in a sentence or two.
func measuredWords(x *report.WhatIf) string {
	u := x.Unprofiled
	if u.Tool == "" {
		return fmt.Sprintf("A step was measured at %s ms.", about(x.MeasuredStepMs))
	}
	return fmt.Sprintf("A step was measured at %s ms under %s; without the profiler it %s.",
		about(x.MeasuredStepMs), u.Tool, freeWords(u.NowMs, u.NowLowMs, u.NowHighMs))
}

// predictedWords is the step with the changes, in a sentence.
func predictedWords(x *report.WhatIf, show shower) string {
	u := x.Unprofiled
	var names []string
	for _, c := range x.Changes {
		if c.Applied {
			names = append(names, show(c.Change))
		}
	}
	s := fmt.Sprintf("With %s: %s ms %s, %s", list(names), about(u.PredictedMs), bounds(u.PredictedMs, u.LowMs, u.HighMs), gainWords(u))
	if bound := longestOf(x.CriticalPathMs); bound != "" {
		then := "; then bound by "
		if u.GainLowMs <= 0 {
			then = "; bound by " // as before
		}
		s += then + pathWords(bound, show)
	}
	return s + "."
}

// leastGain is the share of a step below which a gain is none to anybody.
const leastGain = 0.005

// gainWords is how much shorter a step becomes.
func gainWords(u report.Unprofiled) string {
	switch ratio := u.NowMs / u.PredictedMs; {
	case u.GainLowMs <= 0 && u.GainHighMs >= 0:
		return fmt.Sprintf("no gain that can be told from none (%s to %s ms)", about(u.GainLowMs), about(u.GainHighMs))
	case math.Abs(u.GainMs) < leastGain*u.NowMs:
		return fmt.Sprintf("no gain worth the name (%s ms, %s %%)", about(u.GainMs), percent(u.GainMs/u.NowMs))
	case u.GainMs < 0:
		return fmt.Sprintf("%s ms longer", about(-u.GainMs))
	case ratio >= 9.95:
		return fmt.Sprintf("%.0f times as fast", ratio)
	case ratio >= 1.95:
		return fmt.Sprintf("%.1f times as fast", ratio)
	}
	return fmt.Sprintf("%s ms (%s %%) less", about(u.GainMs), percent(u.GainMs/u.NowMs))
}

// beforeAfter draws the step now and then on one scale.
func (p *printer) beforeAfter(x *report.WhatIf) {
	u := x.Unprofiled
	p.bars([]barRow{{"now", u.NowMs, cyan}, {"then", u.PredictedMs, green}})
}

// A barRow is a value with its name.
type barRow struct {
	name  string
	ms    float64
	style string
}

// maxPathBar is the widest bar of a list: the numbers beside it say the same.
const maxPathBar = 50

// bars draws values in ms as a list of bars on one scale.
func (p *printer) bars(rows []barRow) {
	label, largest := 0, 0.0
	for _, r := range rows {
		label = max(label, shown(r.name))
		largest = max(largest, r.ms)
	}
	figures := len(about(largest))
	const least = 6 // columns that a bar gets at least
	label = min(label, max(p.width()*2/5, minFlex), p.width()-2-2-2-figures-3-least)
	room := min(maxPathBar, p.width()-2-label-2-2-figures-3)
	for _, r := range rows {
		n := 0
		if largest > 0 && r.ms > 0 {
			n = max(1, int(math.Round(r.ms/largest*float64(room))))
		}
		bar := p.paint(r.style, strings.Repeat(p.pick("█", "#"), n)) + strings.Repeat(" ", room-n)
		p.line(fmt.Sprintf("  %s  %s  %*s ms", pad(p.fit(r.name, label), label, false), bar, figures, fixed(r.ms, aboutDigits(largest))))
	}
}

func (p *printer) notMade(x *report.WhatIf) {
	for _, c := range x.Changes {
		if !c.Applied {
			p.line("")
			p.prose("", 2, p.clean("Not made: "+c.Change+" "+c.WhyNot+"."))
		}
	}
}

// What of a critical path is shown one by one.
const (
	maxPathRows  = 7
	minPathShare = 0.005
)

// pathRows is a critical path's causes, longest first; small ones are one row.
func pathRows(path map[string]float64, show shower) []barRow {
	keys := pathKeys(path)
	total := 0.0
	for _, k := range keys {
		total += path[k]
	}
	var rows []barRow
	rest, n := 0.0, 0
	for i, k := range keys {
		if i >= maxPathRows || path[k] < minPathShare*total {
			rest += path[k]
			n++
			continue
		}
		rows = append(rows, barRow{pathWords(k, show), path[k], ""})
	}
	if n > 0 {
		rows = append(rows, barRow{"the rest", rest, ""})
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
	slices.SortFunc(keys, func(a, b string) int {
		if path[a] != path[b] {
			if path[a] > path[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}

// longestOf is the cause that takes most of a path, "" if it is empty.
func longestOf(path map[string]float64) string {
	if keys := pathKeys(path); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

func (p *printer) path(x *report.WhatIf) {
	rows := pathRows(x.CriticalPathMs, p.name)
	if len(rows) < 2 {
		return // the sentence above has said it
	}
	p.heading("What a step is then made of, along its critical path")
	p.bars(rows)
}

func (p *printer) assumptions(x *report.WhatIf) {
	var all []string
	for _, c := range x.Changes {
		for _, a := range c.Assumes {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	p.heading("This assumes")
	for _, a := range all {
		p.prose("  - ", 4, sentence(p.clean(a)))
	}
}

func (p *printer) sureness(x *report.WhatIf) {
	p.heading("How sure is it?")
	for _, s := range surenessWords(x) {
		p.prose("  - ", 4, p.clean(s))
	}
}

// surenessWords is what the prediction rests on, in sentences.
func surenessWords(x *report.WhatIf) []string {
	steps := fmt.Sprintf("%d steps", x.Steps)
	if x.Steps == 1 {
		steps = "a single step"
	}
	out := []string{fmt.Sprintf("Replayed unchanged, a step comes out at %s ms, %s of what was measured over %s.", about(x.ReplayedStepMs), selfErrorWords(x.SelfErrorPct), steps)}
	for _, c := range x.Changes {
		if c.Applied {
			out = append(out, fmt.Sprintf("A new capture with the same profiler should show %s ms %s.", about(x.PredictedMs), bounds(x.PredictedMs, x.LowMs, x.HighMs)))
			break
		}
	}
	for _, n := range x.Notes {
		out = append(out, sentence(n))
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

// pathWords names a cause of a critical path.
func pathWords(key string, show shower) string {
	switch key {
	case "compute":
		return "kernels"
	case "comm":
		return "communication"
	case "copy":
		return "copies"
	case "launch latency":
		return "latency from launch to kernel"
	case "stream gap":
		return "pauses between kernels"
	case "sync return":
		return "returns of synchronising calls"
	case "queue full":
		return "a full launch queue"
	case "workers":
		return "the background workers"
	}
	return facts.ParseCause(key).Part(show)
}
