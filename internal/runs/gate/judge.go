package gate

import (
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
	"lacuna/internal/runs/measure"
)

// judgeAll answers every question. Measures of one family share their false alarms.
func (c *check) judgeAll(r *Result) {
	family := make(map[string]int)
	for _, q := range c.questions {
		family[q.rule.Family]++
	}
	for i := range c.questions {
		q := &c.questions[i]
		row := Row{Name: q.name, Kind: "budget: " + q.kind, Unit: q.like.Unit, Better: c.better(q).String(),
			Family: family[q.rule.Family], Rule: q.rule.From, Line: q.rule.Line,
			Policy: q.rule.Inconclusive, Each: [2]Each{each(q.before), each(q.after)}}
		switch q.kind {
		case "change":
			row.Kind = "change"
			c.change(q, &row)
			if !r.Comparable && !c.opt.Force && row.Verdict != NotComparable {
				row.Verdict, row.RunsNeeded, row.Why = NotComparable, 0, "the two sides are not comparable"
			}
		default:
			c.budget(q, &row)
		}
		r.Measures = append(r.Measures, row)
	}
}

func (c *check) better(q *question) measure.Better {
	if q.rule.Better != nil {
		return *q.rule.Better
	}
	return q.like.Better
}

func each(runs [][]float64) Each {
	out := Each{}
	for _, v := range runs {
		out = append(out, median(v))
	}
	return out
}

// change judges a measure against what it was.
func (c *check) change(q *question, row *Row) {
	share := DefaultChange
	if q.rule.Change != nil {
		share = *q.rule.Change
	}
	floor := floorOf(q.base(), q.like.Unit, share, c.stepMs())
	if q.rule.Floor != nil {
		floor, _ = q.rule.Floor.In(q.like.Unit)
	}
	row.Limit = limitText(share, floor, q.like.Unit)
	row.Override = "--limit " + quote(q.name+"="+row.Limit)
	if len(q.before) == 0 || len(q.after) == 0 {
		row.Verdict, row.Why = NotComparable, "it was not measured before"
		switch {
		case len(q.names) == 0:
			row.Why = "no matching measure is on both sides"
		case len(q.after) == 0:
			row.Why = "it was not measured in the new runs"
		}
		return
	}
	e := stat.Compare(stat.Question{Before: q.before, After: q.after, MinEffect: share, MinAbsolute: floor,
		Family: row.Family,
		Noise:  q.rule.noise(q.base(), q.of, c.before, c.after)})
	fill(row, e)
	row.Before, row.LimitPct = &e.Before, pct(e.Limit)
	row.Verdict, row.RunsNeeded = gateVerdict(e, c.better(q))
	c.slower(q, row, e)
}

// gateVerdict is what a gate makes of an effect. It asks less than a comparison: that a measure did not get worse by
// the limit or more is a pass, whether or not it got better.
func gateVerdict(e stat.Effect, better measure.Better) (verdict Verdict, runsNeeded int) {
	worse, improved, bound := stat.Higher, stat.Lower, e.High
	if better == measure.Higher {
		worse, improved, bound = stat.Lower, stat.Higher, -e.Low
	}
	switch {
	case e.Verdict == stat.Same:
		return Pass, 0
	case e.Verdict == worse || better == measure.Neither && e.Verdict != stat.Undecided:
		return Regression, 0
	case e.Verdict == improved:
		return Improvement, 0
	case better != measure.Neither && bound <= e.Limit:
		return Pass, 0
	}
	return Inconclusive, e.RunsNeeded
}

// budgetRuns makes a budget a side that does not scatter, whatever is known of the measure's noise.
const budgetRuns = 1000

// budget judges new runs against an absolute amount: by the interval, so that a median on the right side of it by
// luck is no pass.
func (c *check) budget(q *question, row *Row) {
	amount, op := q.rule.Max, "<="
	if q.kind == "min" {
		amount, op = q.rule.Min, ">="
	}
	row.Limit = amount.String()
	row.Override = "--budget " + quote(q.name+op+row.Limit)
	if len(q.after) == 0 {
		row.Verdict, row.Why = NotComparable, "it was not measured in the new runs"
		return
	}
	x, _ := amount.In(q.like.Unit)
	e := stat.Compare(stat.Question{Before: slices.Repeat([][]float64{{x}}, budgetRuns), After: q.after,
		Family: row.Family, Noise: q.rule.noise(q.base(), q.of, c.after, c.after)})
	e.Warnings = slices.DeleteFunc(e.Warnings, func(w string) bool { return strings.HasPrefix(w, "before has") })
	fill(row, e)
	row.RunsBefore = 0
	over, under := stat.Higher, e.High <= 0
	if q.kind == "min" {
		over, under = stat.Lower, e.Low >= 0
	}
	switch {
	case under:
		row.Verdict = Pass
	case e.Verdict == over:
		row.Verdict = Regression
	default:
		row.Verdict, row.RunsNeeded = Inconclusive, e.RunsNeeded
	}
}

func fill(row *Row, e stat.Effect) {
	row.After, row.ChangePct, row.LowPct, row.HighPct = e.After, pct(e.Change), pct(e.Low), pct(e.High)
	row.RunsBefore, row.RunsAfter, row.OfSteps, row.Warnings = e.RunsBefore, e.RunsAfter, e.OfSteps, e.Warnings
}

// pct is a share as a percentage; nil: it is not known.
func pct(share float64) *float64 {
	if math.IsInf(share, 0) || math.IsNaN(share) {
		return nil
	}
	x := 100 * share
	return &x
}

// quote makes one word of a text for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// stepMs is a step before, the median of its runs; 0: not measured.
func (c *check) stepMs() float64 {
	if v := measure.Samples(c.before, "step"); len(v) > 0 {
		return median(each(v))
	}
	return 0
}

// limitText is a limit as --limit takes it.
func limitText(share, floor float64, symbol string) string {
	text := unit.Quantity{Value: math.Round(share*1e8) / 1e6, Symbol: "%"}.String()
	if floor <= 0 {
		return text
	}
	return text + "," + amountText(floor, symbol)
}

// amountText is an amount of a measure as ParseQuantity reads it. A share is a bare number: "1%" is a share of before.
func amountText(x float64, symbol string) string {
	q := unit.Quantity{Value: x, Symbol: symbol}
	switch {
	case symbol == "ms" && x < 1:
		q = unit.Quantity{Value: math.Round(x*1e9) / 1e6, Symbol: "us"}
	case symbol == "bytes" && x == memoryFloor:
		q = unit.Quantity{Value: 2, Symbol: "MiB"}
	case symbol == "count" || symbol == "share" || symbol == "%":
		q.Symbol = ""
	}
	return q.String()
}
