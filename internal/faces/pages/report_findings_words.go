package pages

import (
	"fmt"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// savesWords is what a finding's fix saves, in a sentence. place is its position among those with a price.
func savesWords(r *report.Report, f *report.Finding, place int) page.Text {
	per := " per step"
	if r.Steps.Source == "none" {
		per = ""
	}
	of := " of " + unit.About(unprofiledStep(r))
	if x := r.Profiler; x != nil && isVague(x.UnprofiledStepMs, x.LowMs, x.HighMs) {
		of = "" // the headline has its range only
	}
	s := page.Sayf("saves %s%s ms%s (%s)", page.Num(unit.About(f.RecoverableMs)), of, per,
		unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs))
	switch {
	case place > 0 && f.AfterOthersMs <= 0.05*f.RecoverableMs:
		s = page.Join(s, page.T(", nothing more after the fixes above"))
	case place > 0:
		s = page.Join(s, page.Sayf(", %s ms after the fixes above", unit.About(f.AfterOthersMs)))
	}
	switch {
	case f.First != "":
		s = page.Join(s, page.Sayf("; fix %s first", page.Of(page.Word, f.First)))
	case len(f.Before) > 0: // no finding of its own: it saves little by itself, but the change cannot be made without
		var before []page.Text
		for _, c := range f.Before {
			before = append(before, page.Of(page.Word, c))
		}
		s = page.Join(s, page.Sayf("; needs %s first", page.List(before, " and ")))
	}
	if place == 0 {
		return page.Join(s, page.T("; confidence in the fault: "+confidenceLevel(f.Confidence)))
	}
	return page.Join(s, page.T("; "+confidenceWords(f.Confidence)))
}

// unpriced says whether a finding costs time although it is unknown how much of it a fix would save.
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

// unprofiledStep is the step that prices are of.
func unprofiledStep(r *report.Report) float64 {
	if r.Profiler != nil {
		return r.Profiler.UnprofiledStepMs
	}
	return r.Budget.StepMs()
}

// confidenceWords is how sure a rule is of the fault: "confidence: high". The range of a gain is another matter.
func confidenceWords(confidence float64) string { return "confidence: " + confidenceLevel(confidence) }

// confidenceLevel is how sure a rule is of the fault, in a word or two.
func confidenceLevel(confidence float64) string {
	switch {
	case confidence >= 0.85:
		return "high"
	case confidence >= 0.65:
		return "medium"
	case confidence >= 0.4:
		return "low"
	}
	return "very low"
}

// afterAllWords is the step once everything is fixed; what there is to say if nothing is worth fixing.
func afterAllWords(r *report.Report) page.Text {
	switch {
	case r.Profiler == nil:
		return nil // nothing was priced: the abstentions say why
	case r.AfterAll != nil && anyOf(r, worthFixing):
		a, what := r.AfterAll, "With this fixed"
		if pricedCount(r) > 1 {
			what = "With all of these fixed"
		}
		per := " per step"
		if r.Steps.Source == "none" {
			per = ""
		}
		s := page.Sayf("%s: about %s%s (%s)", what, page.Num(unit.About(a.StepMs)+" ms"), per,
			unit.Bounds(a.StepMs, a.LowMs, a.HighMs))
		if a.BoundBy != "" {
			s = page.Join(s, page.Sayf(", then bound by %s", pathWords(a.BoundBy)))
		}
		return page.Join(s, page.T("."))
	case pricedCount(r) > 0:
		return page.Join(page.T("None of these is worth much: each saves less than 2 % of a step."), notSpent(r))
	case anyOf(r, unpriced):
		return page.Join(page.T("No fix with a known gain was found."), notSpent(r))
	}
	if f := limitOf(r); f != nil {
		return page.Join(page.T("No finding is worth fixing. "), page.Sentence(page.T(f.Title)))
	}
	left := notSpent(r)
	switch {
	case r.Steps.Source == "none":
		return page.Join(page.T("No rule found something to fix. Some rules compare steps, and nothing marks a step in "+
			"this capture."), left)
	case left != nil:
		return page.Join(page.T("No fix with a known gain was found."), left)
	}
	return page.T("Nothing to fix was found: no known fix would make the step clearly shorter.")
}

// wellSpent is the share of a step that is to be compute before it is said that nothing is to be fixed: chosen, so that
// no all-clear is given where a tenth of a step or more is idle, copies or communication.
const wellSpent = 0.9

// notSpent says that this is no all-clear, and what the GPU does instead of computing; nil where it computes nearly all
// the time, or where there is no GPU.
func notSpent(r *report.Report) page.Text {
	b, step := r.Budget, r.Budget.StepMs()
	if !(step > 0) || len(r.PerDevice) == 0 || b.Compute >= wellSpent*step {
		return nil
	}
	var parts []page.Text
	for _, x := range []struct {
		ms   float64
		what string
	}{{b.Idle, "is idle"}, {b.CommExposed, "is exposed communication"}, {b.Copy, "is exposed copies"}} {
		if x.ms >= worthSaying*step {
			parts = append(parts, page.Sayf("%s %s", page.Num(unit.Percent(x.ms/step)+" %"), x.what))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	of := "the step"
	if r.Steps.Source == "none" {
		of = "the capture"
	}
	return page.Sayf(" That is not an all-clear: the GPU computes %s of %s; %s.",
		page.Num(unit.Percent(b.Compute/step)+" %"), of, listOf(parts))
}
