package main

import (
	"fmt"
	"math"
	"strings"
)

// ms is an estimate with its bounds: three digits.
func (e Estimate) String() string {
	return fmt.Sprintf("%s [%s, %s]", digits(e.Ms), digits(e.LowMs), digits(e.HighMs))
}

func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func inside(yes bool) string {
	if yes {
		return "in"
	}
	return "**out**"
}

// predictions is what fixes were said to make of a step, beside what they made.
func (s *Set) predictions(b *strings.Builder) {
	if len(s.Predictions) == 0 {
		return
	}
	b.WriteString("\n### The step after a fix\n\nUnder the same tool: the step after as a share of the step " +
		"before. Without: ms. Noise: half of what lies between the\nfastest and the slowest timing of the fixed " +
		"program.\n\n")
	var rows [][]string
	for _, p := range s.Predictions {
		row := []string{p.Case + " " + p.Variant.Name + " → " + p.Fixed.Name, "`" + strings.Join(p.Changes, " ") + "`",
			p.Format}
		if p.WhyNot != "" {
			rows = append(rows, append(row, "not predicted: "+p.WhyNot, "", "", "", "", "", "", ""))
			continue
		}
		row = append(row, fmt.Sprintf("%+.2f", p.SelfPct))
		if truth := p.UnderTruth(); truth > 0 {
			row = append(row, p.Under.String()+" / "+digits(truth), signed(ErrorOf(p.Under.Ms, truth)),
				inside(p.Under.Holds(truth)))
		} else {
			row = append(row, p.Under.String(), "-", "-")
		}
		if truth := p.FreeTruth(); truth > 0 {
			row = append(row, p.Free.String()+" / "+digits(truth), signed(ErrorOf(p.Free.Ms, truth)),
				inside(p.Free.Holds(truth)),
				p.gainCell(), share(p.Fixed.Noise()))
		} else {
			row = append(row, p.Free.String(), "-", "-", "-", "-")
		}
		rows = append(rows, row)
	}
	table(b, []string{"case", "change", "format", "self-error %", "under the tool: predicted / measured", "error", "",
		"without: predicted / measured", "error", "", "gain: predicted / true", "noise"}, "lllrrrlrrlrr", rows)
}

// gainCell is the gain as predicted and as it was, with its error.
func (p *Prediction) gainCell() string {
	if p.Variant.StepMs() == 0 {
		return "-"
	}
	truth := p.GainTruth()
	cell := digits(p.FreeGain.Ms) + " / " + digits(truth)
	switch {
	case p.vain():
		cell += " **(false promise)**"
	case truth > 0:
		cell += " (" + signed(ErrorOf(p.FreeGain.Ms, truth)) + ")"
	}
	return cell
}

// controls is fixes made once more.
func (s *Set) controls(b *strings.Builder) {
	var rows [][]string
	for _, c := range s.Captures {
		if c.Again == nil {
			continue
		}
		said := c.Again.WhyNot
		if said == "" {
			said = "gain " + c.Again.Gain.String() + " ms of " + digits(c.Now.Ms)
		}
		if c.vain() {
			said += " **(false promise)**"
		}
		rows = append(rows, []string{c.Case + " " + c.Variant.Name, c.Format, "`" +
			strings.Join(c.Again.Changes, " ") + "`", said})
	}
	if len(rows) > 0 {
		b.WriteString("Applied to the program that has it already, a change must find nothing, or gain nothing.\n\n")
		table(b, []string{"case", "format", "change", "said"}, "llll", rows)
	}
}

// captures is each capture replayed unchanged, and its step without the profiler.
func (s *Set) captures(b *strings.Builder) {
	var rows [][]string
	for _, c := range s.Captures {
		row := []string{c.Case + " " + c.Variant.Name, c.Format}
		if c.Steps > 1 {
			row[0] += fmt.Sprintf(" (a rhythm of %d steps)", c.Steps)
		}
		if c.Why != "" {
			rows = append(rows, append(row, "not judged: "+c.Why, "", "", "", ""))
			continue
		}
		row = append(row, fmt.Sprintf("%+.2f", c.SelfPct), digits(c.perStep(c.Report.Steps.MeanMs, 0, 0).Ms),
			c.Now.String())
		switch truth := c.StepMs(); {
		case truth == 0:
			row = append(row, "-", "-")
		case c.drained():
			row = append(row, digits(truth), drainedWhy)
		default:
			row = append(row, digits(truth), signed(ErrorOf(c.Now.Ms, truth))+" "+inside(c.Now.Holds(truth)))
		}
		rows = append(rows, row)
	}
	table(b, []string{"case", "format", "self-error %", "measured ms", "without the profiler, ms", "true ms", "error"},
		"llrrrrl", rows)
}

// verdicts is what was found in each capture beside what was planted.
func (s *Set) verdicts(b *strings.Builder) {
	var rows [][]string
	for _, c := range s.Captures {
		if c.Rule == "" {
			continue
		}
		v := judge(c)
		want := c.Rule
		if !v.Base {
			want = "no " + c.Rule
			if isLimit(c.Rule) {
				want = "nothing worth fixing"
			}
		}
		said := "right"
		switch {
		case v.Out != "":
			said = "not judged: " + v.Out
		case !v.Right:
			said = "**" + v.Why + "**"
		}
		found := strings.Join(v.Found, ", ")
		if found == "" {
			found = "nothing"
		}
		rows = append(rows, []string{c.Case + " " + c.Variant.Name, c.Format, want, found, said})
	}
	if len(rows) > 0 {
		table(b, []string{"case", "format", "planted", "found, in this order", "verdict"}, "lllll", rows)
	}
}
