package pages

import (
	"fmt"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// savesWords is what a finding's fix saves, in a sentence. place is its position among those with a price.
func savesWords(r *report.Report, f *report.Finding, place int) page.Text {
	s := page.Sayf("saves about %s of %s %s", page.Num(unit.About(f.RecoverableMs)+" ms"),
		unit.About(unprofiledStep(r)), unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs))
	switch {
	case place > 0 && f.AfterOthersMs <= 0.05*f.RecoverableMs:
		s = page.Join(s, page.T(" alone; nothing more after those above"))
	case place > 0:
		s = page.Join(s, page.Sayf(" alone; %s after those above", unit.About(f.AfterOthersMs)))
	case pricedCount(r) > 1:
		s = page.Join(s, page.T(" alone"))
	}
	switch {
	case f.First != "":
		s = page.Join(s, page.Sayf("; repair %s first", page.Of(page.Word, f.First)))
	case len(f.Before) > 0: // no finding of its own: it saves little by itself, but the change cannot be made without
		var before []page.Text
		for _, c := range f.Before {
			before = append(before, page.Of(page.Word, c))
		}
		s = page.Join(s, page.Sayf("; needs %s first", page.List(before, " and ")))
	}
	return page.Join(s, page.T("; "+confidenceWords(f.Confidence)))
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

// afterAllWords is the step once everything is fixed; what there is to say if nothing is worth fixing.
func afterAllWords(r *report.Report) page.Text {
	switch {
	case r.Profiler == nil:
		return nil // nothing was priced: the abstentions say why
	case r.AfterAll != nil && anyOf(r, worthFixing):
		a, what := r.AfterAll, "After this"
		if pricedCount(r) > 1 {
			what = "After all of these"
		}
		per := " a step"
		if r.Steps.Source == "none" {
			per = ""
		}
		s := page.Sayf("%s: about %s%s %s", what, page.Num(unit.About(a.StepMs)+" ms"), per,
			unit.Bounds(a.StepMs, a.LowMs, a.HighMs))
		if a.BoundBy != "" {
			s = page.Join(s, page.Sayf(", then bound by %s", pathWords(a.BoundBy)))
		}
		return page.Join(s, page.T("."))
	case pricedCount(r) > 0:
		return page.T("None of this is worth a day: each saves less than one fiftieth of a step.")
	case anyOf(r, unpriced):
		return page.T("Nothing that can be replayed is worth fixing. " +
			"Of what else was found, how much would come back cannot be told:")
	}
	if f := limitOf(r); f != nil {
		return page.Join(page.T("Nothing was found that is worth fixing. "), page.Sentence(page.T(f.Title)))
	}
	if r.Steps.Source == "none" {
		return page.T("Most diagnoses look at what steps have in common, and this capture has none: " +
			"the others found nothing to change.")
	}
	return page.T("Nothing was found that is worth fixing: no known change would make the step clearly shorter.")
}
