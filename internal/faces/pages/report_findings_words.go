package pages

import (
	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/facts"
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

// noGainWords is what a finding can save that stands among those without a price, and why it has none; "" if it costs
// no time.
func noGainWords(r *report.Report, f *report.Finding) page.Text {
	n := f.NoGain
	switch {
	case f.OutsideMs > 0 && f.GainHighMs == 0: // its title says how much there is, and of what
		return nil
	case costsTime(f): // too little to stand among the others
		return page.Sayf("saves %s ms (%s)", page.Num(unit.About(f.RecoverableMs)),
			unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs))
	case n == nil && !unpriced(f):
		return nil
	case n == nil:
		return page.Sayf("saves at most %s ms", unit.About(f.GainHighMs))
	case n.Kind == report.NotReplayed && hostOnly(r) && f.GainHighMs == 0:
		return nil
	case n.Kind == report.NotReplayed && hostOnly(r):
		return page.Sayf("saves up to %s ms: less where the step also waits for something else", unit.About(f.GainHighMs))
	case n.Kind == report.GainsNothing:
		return nothingWords(f, n)
	case n.Kind == report.RangeHasNone:
		return page.Sayf("saves 0 to %s ms; %s", unit.About(f.GainHighMs), n.Reason)
	}
	return page.Sayf("saves at most %s ms; %s", unit.About(f.GainHighMs), n.Reason)
}

// nothingWords says of a finding whose change gains nothing what the step takes its time for then.
func nothingWords(f *report.Finding, n *report.NoGain) page.Text {
	s := page.Sayf("%s alone saves nothing", page.Of(page.Word, n.Change))
	if f.AtMostMs > 0 {
		s = page.Sayf("it concerns up to %s ms, but %s", unit.About(f.AtMostMs), s)
	}
	if n.BoundBy != "" && n.StepMs > 0 {
		s = page.Join(s, page.Sayf(": %s still takes %s of the %s ms on the path that decides the step",
			pathWords(n.BoundBy), page.Num(unit.About(n.BoundMs)+" ms"), unit.About(n.StepMs)))
	}
	if n.SideBySideMs > 0 {
		s = page.Join(s, page.Sayf("; what would then run at once fills the GPU: if neither slowed the other it would "+
			"save %s ms", unit.About(n.SideBySideMs)))
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
	case captureWords(r) != nil && pricedCount(r) > 0:
		return page.T("These gains are of what ran before the program ended, and say little of the rest.")
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
	case pricedCount(r) > 0 && anyOf(r, unpriced):
		return page.Join(page.T("Each fix with a known gain saves less than 2 % of a step; what the others would save "+
			"is not known."), whyUnsure(r), notSpent(r))
	case pricedCount(r) > 0:
		return page.Join(page.T("None of these is worth much: each saves less than 2 % of a step."), notSpent(r))
	case anyOf(r, unpriced):
		return page.Join(page.T("No fix with a known gain was found."), whyUnsure(r), notSpent(r))
	}
	if f := limitOf(r); f != nil {
		return page.Join(page.T("No finding is worth fixing. "), page.Sentence(page.T(f.Title)))
	}
	left := notSpent(r)
	switch {
	case r.Steps.Source == "none":
		if left == nil {
			left = computesWords(r)
		}
		if len(r.Findings) > 0 {
			return page.Join(page.T("No fix with a known gain was found. Some rules compare steps, and nothing marks a step "+
				"in this capture."), left)
		}
		return page.Join(page.T("No rule found something to fix. Some rules compare steps, and nothing marks a step in "+
			"this capture."), left)
	case endUnknown(r):
		return page.Join(page.T("No fix with a known gain was found."), left, page.T(" How long the GPU waits between "+
			"two steps is not in this capture."))
	case left != nil:
		return page.Join(page.T("No fix with a known gain was found."), whyUnsure(r), left)
	}
	return page.Join(page.T("No known fix was found."), computesWords(r))
}

// worthADoubt is the self-error of a replay, in percent, from which it is named as a reason.
const worthADoubt = 1

// whyUnsure says how far the replay is off, where that is why gains are not known; nil: it is not.
func whyUnsure(r *report.Report) page.Text {
	off := max(r.Profiler.SelfErrorPct, -r.Profiler.SelfErrorPct)
	if off < worthADoubt || !anyOf(r, func(f *report.Finding) bool { return f.NoGain.Unknown() }) {
		return nil
	}
	return page.Sayf(" The replay is %s off, so gains are known within wide ranges at best.",
		page.Num(unit.Percent(off/100)+" %"))
}

// computesWords says of a step that is nearly all compute that this is not yet the least that it can take.
func computesWords(r *report.Report) page.Text {
	b, step := r.Budget, r.Budget.StepMs()
	if !(step > 0) || len(r.PerDevice) == 0 {
		return nil
	}
	return page.Sayf(" The GPU computes %s of %s; how near its kernels come to what it can do is not known from this "+
		"capture.", page.Num(unit.Percent(b.Compute/step)+" %"), wholeWords(r))
}

// wholeWords is what shares of the budget are of.
func wholeWords(r *report.Report) string {
	if r.Steps.Source == "none" {
		return "the capture"
	}
	return "the step"
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
	if computesNever(r) {
		return page.T(" That is not an all-clear: no kernel ran.")
	}
	var parts []page.Text
	lost := b.IdleByHost[facts.CauseLost]
	for _, x := range []struct {
		ms   float64
		what string
	}{{b.Idle - lost, "is idle"}, {lost, "lies behind launches whose work was not recorded"}, {b.CommExposed, "is exposed communication"}, {b.Copy, "is exposed " + copyNoun(b)}} {
		if x.ms >= worthSaying*step {
			parts = append(parts, page.Sayf("%s %s", page.Num(unit.Percent(x.ms/step)+" %"), x.what))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return page.Sayf(" That is not an all-clear: the GPU computes %s of %s; %s.",
		page.Num(unit.Percent(b.Compute/step)+" %"), wholeWords(r), listOf(parts))
}
