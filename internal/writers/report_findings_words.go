package writers

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/facts"
	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// savesWords is what repairing a finding buys, in a sentence. place is its position among those with a price.
func savesWords(r *report.Report, f *report.Finding, place int) string {
	s := fmt.Sprintf("saves about %s ms of %s %s", unit.About(f.RecoverableMs), unit.About(unprofiledStep(r)), unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs))
	switch {
	case place > 0 && f.AfterOthersMs <= 0.05*f.RecoverableMs:
		s += " alone; nothing more after those above"
	case place > 0:
		s += fmt.Sprintf(" alone; %s after those above", unit.About(f.AfterOthersMs))
	case pricedCount(r) > 1:
		s += " alone"
	}
	switch {
	case f.First != "":
		s += "; repair " + f.First + " first"
	case len(f.Before) > 0: // no finding of its own: it buys little by itself, but the change cannot be made without
		s += "; needs " + strings.Join(f.Before, " and ") + " first"
	}
	return s + "; " + confidenceWords(f.Confidence)
}

// unpriced says whether a finding costs time although nobody knows how much of it would come back.
func unpriced(f *report.Finding) bool { return !costsTime(f) && f.GainHighMs > 0 }

// atMostWords is what a finding without a price can save, and why it has none; "" if it has one, or costs no time.
func atMostWords(f *report.Finding) string {
	if !unpriced(f) {
		return ""
	}
	s := fmt.Sprintf("saves at most %s ms", unit.About(f.GainHighMs))
	if n := len(f.Assumes); n > 0 {
		s += "; " + f.Assumes[n-1]
	}
	return s
}

// pricedCount is how many findings have a price.
func pricedCount(r *report.Report) (n int) {
	for i := range r.Findings {
		if costsTime(&r.Findings[i]) {
			n++
		}
	}
	return n
}

// unprofiledStep is the step that prices are of.
func unprofiledStep(r *report.Report) float64 {
	if r.Profiler != nil {
		return r.Profiler.UnprofiledStepMs
	}
	return r.Budget.StepMs()
}

// confidenceWords is how sure a rule is, in a word or two.
func confidenceWords(confidence float64) string {
	switch {
	case confidence >= 0.85:
		return "almost certain"
	case confidence >= 0.65:
		return "likely"
	case confidence >= 0.4:
		return "possible"
	}
	return "a guess"
}

// afterAllWords is the step once everything is repaired; what there is to say if nothing is worth repairing. plain makes
// a text fit to be shown, show a name.
func afterAllWords(r *report.Report, plain, show shower) string {
	switch {
	case r.Profiler == nil:
		return "" // nothing was priced: the abstentions say why
	case r.AfterAll != nil && slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return worthFixing(&f) }):
		a, what := r.AfterAll, "After this"
		if pricedCount(r) > 1 {
			what = "After all of these"
		}
		per := " a step"
		if r.Steps.Source == "none" {
			per = ""
		}
		s := fmt.Sprintf("%s: about %s ms%s %s", what, unit.About(a.StepMs), per, unit.Bounds(a.StepMs, a.LowMs, a.HighMs))
		if a.BoundBy != "" {
			s += ", then bound by " + pathWords(a.BoundBy, show)
		}
		return s + "."
	case pricedCount(r) > 0:
		return "None of this is worth a day: each saves less than one fiftieth of a step."
	}
	if slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return unpriced(&f) }) {
		return "Nothing that can be replayed is worth fixing. Of what else was found, how much would come back cannot be told:"
	}
	if f := limitOf(r); f != nil {
		return "Nothing was found that is worth fixing. " + sentence(plain(f.Title))
	}
	if r.Steps.Source == "none" {
		return "Most diagnoses look at what steps have in common, and this capture has none: the others found nothing to change."
	}
	return "Nothing was found that is worth fixing: no known change would make the step clearly shorter."
}

// limitOf is the finding that says what bounds a step in which nothing is worth fixing, or nil.
func limitOf(r *report.Report) *report.Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Limit && pricedCount(r) == 0 {
			return f
		}
	}
	return nil
}

// profilerWords is what the step takes without the profiler, in a sentence; "" if that is not known.
func profilerWords(r *report.Report) string {
	x := r.Profiler
	if x == nil || x.Tool == "" {
		return ""
	}
	what := "a step"
	switch {
	case r.Steps.Source == "none":
		what = "the same"
	case len(r.Inputs) > 1:
		what = "a step of the slowest " + inputWord(r.Inputs)
	}
	return fmt.Sprintf("That is under %s; without it %s %s.", x.Tool, what, freeWords(x.UnprofiledStepMs, x.LowMs, x.HighMs))
}

// A becauseRow is a cause of which much more, or much less, idle time disappears than is seen in it.
type becauseRow struct {
	key         string
	seen, comes float64 // idle while the host does it, idle because of it; ms per step
}

// maxBecause is how many such causes are told.
const maxBecause = 3

// becauseRows is the causes for which the two differ much, by how much.
func becauseRows(b report.Budget) []becauseRow {
	step := b.StepMs()
	var out []becauseRow
	for key, comes := range b.IdleBecauseOf {
		seen := b.IdleByHost[key]
		if max(seen, comes) >= worthSaying*step && abs(comes-seen) >= worthSaying*step {
			out = append(out, becauseRow{key, seen, comes})
		}
	}
	slices.SortFunc(out, func(a, b becauseRow) int {
		switch x, y := abs(a.comes-a.seen), abs(b.comes-b.seen); {
		case x > y, x == y && a.key < b.key:
			return -1
		}
		return 1
	})
	return out[:min(len(out), maxBecause)]
}

func abs(v float64) float64 { return max(v, -v) }

// becauseWords says what would come back without a cause, in a sentence.
func becauseWords(x becauseRow, show shower) string {
	if x.comes > x.seen {
		return fmt.Sprintf("Idle because of %s: %s ms would come back without it, though only %s ms lie in it.", pathWords(x.key, show), unit.About(x.comes), unit.About(x.seen))
	}
	return fmt.Sprintf("Idle because of %s: only %s ms would come back without it, of %s ms that lie in it.", pathWords(x.key, show), unit.About(x.comes), unit.About(x.seen))
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
	return facts.ParseCause(key).Part().With(show)
}

// vague is the width of a range, as a share of the estimate, from which on the estimate is no answer: the bounds are.
const vague = 0.5

// freeWords is what something takes without the profiler, with the verb.
func freeWords(ms, low, high float64) string {
	if high-low <= vague*ms {
		return fmt.Sprintf("likely takes %s ms %s", unit.About(ms), unit.Bounds(ms, low, high))
	}
	d := unit.AboutDigits(ms)
	return fmt.Sprintf("takes %s to %s ms (this capture cannot tell better; time it without the profiler)", unit.Fixed(low, d), unit.Fixed(high, d))
}
