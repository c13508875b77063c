package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/runs/gate"
)

// CheckVerdict is a verdict of check as people read it.
func CheckVerdict(v gate.Verdict) string { return verdictWords(v) }

// checkSigns are what GitHub and GitLab show of a verdict of check.
var checkSigns = map[gate.Verdict]string{gate.Pass: "✅ ", gate.Improvement: "✅ ", gate.Regression: "❌ ",
	gate.Inconclusive: "❔ ", gate.NotComparable: "⚠️ "}

// checkStyles is how verdicts of check are painted.
var checkStyles = map[gate.Verdict]page.Style{gate.Regression: page.Red, gate.Pass: page.Green,
	gate.Improvement:  page.Green,
	gate.Inconclusive: page.Magenta, gate.NotComparable: page.Magenta}

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

// changeWords is by how much a row changed, with its interval; of a budget nothing.
func changeWords(m *gate.Row) (change, interval string) {
	if m.Before == nil {
		return "", ""
	}
	change = "from none"
	if m.ChangePct != nil {
		change = unit.Signed(*m.ChangePct)
	}
	if m.LowPct != nil && m.HighPct != nil && math.Abs(*m.LowPct) < 1e4 && math.Abs(*m.HighPct) < 1e4 {
		interval = unit.Signed(*m.LowPct) + " to " + unit.Signed(*m.HighPct)
	}
	return change, interval
}

// numbersWords is what was measured, in the words of a sentence; none if nothing was.
func numbersWords(m *gate.Row) page.Text {
	change, interval := changeWords(m)
	switch {
	case isBudget(m) && m.RunsAfter > 0:
		bounds := ""
		if m.LowPct != nil && m.HighPct != nil && m.ChangePct != nil && *m.ChangePct != -100 {
			of := m.After / (1 + *m.ChangePct/100) // the budget in the measure's unit
			bounds = fmt.Sprintf(" (95 %% interval %s to %s)", unit.FormatMeasure(of*(1+*m.LowPct/100), m.Unit),
				unit.FormatMeasure(of*(1+*m.HighPct/100), m.Unit))
		}
		return page.Sayf("%s%s: ", page.Num(unit.FormatMeasure(m.After, m.Unit)), bounds)
	case change == "":
		return nil
	}
	if m.ChangePct != nil {
		change += " %"
	}
	if interval != "" {
		interval = " (95 % interval " + interval + ")"
	}
	return page.Sayf("%s (was %s), %s%s: ", page.Num(unit.FormatMeasure(m.After, m.Unit)),
		page.Num(unit.FormatMeasure(*m.Before, m.Unit)), page.Num(change), interval)
}

// RowWords is a verdict in a sentence: numbers, rule, and how to judge otherwise.
func RowWords(m *gate.Row) page.Text {
	why := m.Why
	if why == "" {
		why = outcomeWords(m)
	}
	return page.Sayf("%s%s. Rule: %s, %s; to change it: %s", numbersWords(m), why, m.Rule, limitWords(m),
		page.Of(page.Word, m.Override))
}

// outcomeWords is what the numbers come to.
func outcomeWords(m *gate.Row) string {
	switch m.Verdict {
	case gate.Pass:
		if isBudget(m) {
			return "within the budget"
		}
		return "not worse by more than the limit"
	case gate.Improvement:
		return "better, by more than the limit"
	case gate.Regression:
		if isBudget(m) {
			return "over the budget"
		}
		return "worse, by more than the limit"
	}
	text := "inconclusive"
	switch {
	case m.RunsNeeded > 0 && isBudget(m):
		text += fmt.Sprintf("; needs about %d runs", m.RunsNeeded)
	case m.RunsNeeded > 0:
		text += fmt.Sprintf("; needs about %d runs per side", m.RunsNeeded)
	case m.OfSteps || m.RunsBefore <= 1 && m.RunsAfter <= 1:
		text += ": single runs; give several"
	default:
		text += "; needs more than 1000 runs, fewer with a wider limit"
	}
	switch m.Policy {
	case "pass":
		text += " (counts as a pass)"
	case "fail":
		text += " (counts as a failure)"
	}
	return text
}

// headNames is how many measures the first line names.
const headNames = 3

// CheckHead is the verdict on everything in a line: of what did not pass, the measures.
func CheckHead(r *gate.Result) page.Text {
	var named, better []page.Text
	for i := range r.Measures {
		m := &r.Measures[i]
		text := page.Of(page.Word, checkName(m.Name))
		if change, _ := changeWords(m); m.ChangePct != nil && change != "" && m.Verdict != gate.NotComparable {
			text = page.Sayf("%s %s", text, page.Num(change+" %"))
		}
		switch m.Verdict {
		case r.Verdict:
			named = append(named, text)
		case gate.Improvement:
			better = append(better, text)
		}
	}
	text := page.T(CheckVerdict(r.Verdict) + ": ")
	if r.Verdict == gate.Pass {
		text = page.Join(text, page.T(unit.Plural(len(r.Measures), "verdict")))
	} else {
		text = page.Sayf("%s%s (%d of %s)", text, headList(named), len(named), unit.Plural(len(r.Measures), "verdict"))
	}
	if len(better) > 0 {
		text = page.Sayf("%s; better: %s", text, headList(better))
	}
	return text
}

// headList is the first of a list.
func headList(names []page.Text) page.Text {
	text := page.List(names[:min(headNames, len(names))], ", ")
	if more := len(names) - headNames; more > 0 {
		text = page.Sayf("%s and %d more", text, more)
	}
	return text
}

// checkName is a measure's name in a list: kernels without arguments.
func checkName(name string) string {
	kernel, ok := strings.CutPrefix(name, "kernel:")
	if !ok || strings.HasPrefix(kernel, "*") {
		return name
	}
	of := "" // ":duration", ":p90"
	if at := strings.LastIndexByte(kernel, ':'); at > 0 && kernel[at-1] != ':' &&
		strings.IndexFunc(kernel[at+1:], notOfWord) < 0 {
		kernel, of = kernel[:at], kernel[at:]
	}
	return "kernel:" + kernelname.Short(kernel) + of
}

// notOfWord says whether a character is not of a measure's own name.
func notOfWord(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// checkRemarks is the warnings, and the first of what only one side has.
func checkRemarks(r *gate.Result) []string {
	const most = 5
	out := slices.Concat(r.Warnings, r.Unmatched[:min(most, len(r.Unmatched))])
	if more := len(r.Unmatched) - most; more > 0 {
		out = append(out, fmt.Sprintf("%d more measures are only on one side, so not judged", more))
	}
	return out
}

// checkSide is the runs of a side in a line.
func checkSide(s gate.Side, what string) string {
	text := unit.Plural(len(s.Runs), "run")
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

// plotRuns draws the last runs of both sides, at most width of each, between the least and the largest; "" of fewer
// than three.
func plotRuns(m *gate.Row, width int) string {
	before, after := m.Each[0], m.Each[1]
	if len(before)+len(after) < 3 {
		return ""
	}
	all, runBlocks := slices.Concat(before, after), []rune("▁▂▃▄▅▆▇█")
	low, high := slices.Min(all), slices.Max(all)
	side := func(v []float64) string {
		var s strings.Builder
		for _, x := range v[max(0, len(v)-width):] {
			k := 0
			if high > low {
				k = int((x - low) / (high - low) * float64(len(runBlocks)-1))
			}
			s.WriteRune(runBlocks[min(max(k, 0), len(runBlocks)-1)])
		}
		return s.String()
	}
	if len(before) == 0 {
		return side(after)
	}
	return side(before) + "│" + side(after)
}
