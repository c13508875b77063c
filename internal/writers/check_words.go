package writers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/gate"
	"lacuna/internal/unit"
)

// verdictWords is a verdict as people read it.
func verdictWords(v string) string { return strings.ReplaceAll(v, "_", " ") }

// amountWords is a value of a measure with its unit.
func amountWords(x float64, symbol string) string {
	switch symbol {
	case "ms", "us":
		return about(x) + " " + symbol
	case "bytes":
		if math.Abs(x) < 1<<62 {
			return unit.FormatBytes(int64(x))
		}
	case "share":
		return short(100*x) + " %"
	case "%":
		return short(x) + " %"
	case "count":
		return short(x)
	}
	return strings.TrimSpace(about(x) + " " + Printable(symbol))
}

// isBudget says whether a row is held against an absolute amount.
func isBudget(m *gate.Row) bool { return m.Kind != "change" }

// limitWords is what a row may do.
func limitWords(m *gate.Row) string {
	if !isBudget(m) {
		return strings.Replace(m.Limit, ",", " and ", 1)
	}
	if strings.HasSuffix(m.Kind, "max") {
		return "at most " + m.Limit
	}
	return "at least " + m.Limit
}

// changeWords is by how much a row changed, with its interval.
func changeWords(m *gate.Row) (change, interval string) {
	if m.Before == nil && !isBudget(m) {
		return "", ""
	}
	if isBudget(m) && m.RunsAfter == 0 {
		return "", ""
	}
	change = "from none"
	if m.ChangePct != nil {
		change = signed(*m.ChangePct)
	}
	if m.LowPct != nil && m.HighPct != nil && math.Abs(*m.LowPct) < 1e4 && math.Abs(*m.HighPct) < 1e4 {
		interval = signed(*m.LowPct) + " to " + signed(*m.HighPct)
	}
	return change, interval
}

// rowWords is a verdict in a sentence: numbers, rule, and how to judge otherwise.
func rowWords(m *gate.Row) string {
	change, interval := changeWords(m)
	if interval != "" {
		interval = " (95 % interval " + interval + ")"
	}
	var s strings.Builder
	switch {
	case change == "":
	case isBudget(m):
		fmt.Fprintf(&s, "%s, %s %% of the budget %s%s: ", amountWords(m.After, m.Unit), change, m.Limit, interval)
	default:
		if m.ChangePct != nil {
			change += " %"
		}
		fmt.Fprintf(&s, "%s, before %s: %s%s: ", amountWords(m.After, m.Unit), amountWords(*m.Before, m.Unit), change, interval)
	}
	s.WriteString(m.Why)
	if m.Why == "" {
		s.WriteString(outcomeWords(m))
	}
	fmt.Fprintf(&s, ". Rule: %s, %s; another: %s", Printable(m.Rule), limitWords(m), Printable(m.Override))
	return s.String()
}

// outcomeWords is what the numbers come to.
func outcomeWords(m *gate.Row) string {
	switch m.Verdict {
	case gate.Pass:
		if isBudget(m) {
			return "within the budget"
		}
		return "no change for the worse beyond the limit"
	case gate.Improvement:
		return "better, by more than the limit"
	case gate.Regression:
		if isBudget(m) {
			return "beyond the budget"
		}
		return "worse, by more than the limit"
	}
	text := "it cannot be told"
	switch {
	case m.RunsNeeded > 0 && isBudget(m):
		text += fmt.Sprintf("; about %d runs would tell", m.RunsNeeded)
	case m.RunsNeeded > 0:
		text += fmt.Sprintf("; about %d runs a side would tell", m.RunsNeeded)
	case m.OfSteps || m.RunsBefore <= 1 && m.RunsAfter <= 1:
		text += " from single runs; give several"
	default:
		text += " with any number of runs that anybody makes; a wider limit could be"
	}
	switch m.Policy {
	case "pass":
		text += " (taken as a pass)"
	case "fail":
		text += " (taken as a failure)"
	}
	return text
}

// headWords is the verdict on everything in a line.
func headWords(r *gate.Result) string {
	count := make(map[string]int)
	for i := range r.Measures {
		count[r.Measures[i].Verdict]++
	}
	var parts []string
	for _, v := range []string{gate.Regression, gate.NotComparable, gate.Inconclusive, gate.Improvement, gate.Pass} {
		if n := count[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verdictWords(v)))
		}
	}
	text := verdictWords(r.Verdict)
	if len(parts) > 0 {
		text += ": of " + numbered(len(r.Measures), "verdict") + " " + strings.Join(parts, ", ")
	}
	return text
}

// numbered is a number of things.
func numbered(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// checkSide is the runs of a side in a line.
func checkSide(s gate.Side, what string) string {
	text := numbered(len(s.Runs), "run")
	switch {
	case what != "":
		text += " of " + what
	case len(s.Runs) > 2:
		text += ": " + s.Runs[0] + " to " + s.Runs[len(s.Runs)-1]
	default:
		text += ": " + strings.Join(s.Runs, ", ")
	}
	if s.GPU != "" {
		text += ", " + s.GPU
	}
	return text
}

// plotWidth is how many runs of a side a plot shows.
const plotWidth = 20

// plot draws each run of both sides between the least and the largest, "" of fewer than three.
func plot(m *gate.Row) string {
	before, after := m.Each[0], m.Each[1]
	if len(before)+len(after) < 3 {
		return ""
	}
	all := slices.Concat(before, after)
	low, high := slices.Min(all), slices.Max(all)
	side := func(v []float64) string {
		var s strings.Builder
		for _, x := range v[max(0, len(v)-plotWidth):] {
			k := 0
			if high > low {
				k = int((x - low) / (high - low) * float64(len(sparkBlocks)-1))
			}
			s.WriteString(sparkBlocks[min(max(k, 0), len(sparkBlocks)-1)])
		}
		return s.String()
	}
	if len(before) == 0 {
		return side(after)
	}
	return side(before) + "│" + side(after)
}
