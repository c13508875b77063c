package pages

import (
	"fmt"
	"slices"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// Detail is how much of what is known a report shows.
type Detail struct {
	Whole     bool     // every finding with all that is known of it
	Explain   []string // rules whose findings are shown in whole
	Abstained bool     // everything that could not be judged, one by one
}

// whole says whether all of a finding is shown.
func (d Detail) whole(f *report.Finding) bool { return d.Whole || slices.Contains(d.Explain, f.Rule) }

// Report is where a step's time goes: the answer first, then what it rests on, then what to do next.
func Report(r *report.Report, next []page.Advice, d Detail) *page.Page {
	p := &page.Page{Title: page.T("Where a step's time goes")}
	p.Add(inputs(r.Inputs)...)
	p.Add(page.Gap{}, page.Prose{Text: headline(r), Style: page.Bold},
		page.Prose{Text: profilerWords(r)},
		page.Prose{Text: page.Sentence(page.T(r.Steps.Note)), Quote: true})
	if r.Budget.StepMs() > 0 {
		p.Add(budget(r)...)
		p.Add(stepSeries(r.Steps)...)
	}
	p.Add(findings(r, d)...)
	p.Add(joinedKernels(r, d)...)
	p.Add(perDevice(r)...)
	p.Add(startup(r.Steps)...)
	p.Add(topKernels(r)...)
	p.Add(topOps(r)...)
	p.Add(topCopies(r)...)
	p.Add(topSyncs(r)...)
	p.Add(gaps(r)...)
	p.Add(trust(r.Capture, r.Abstained, d.Whole || d.Abstained)...)
	p.Add(page.Next{List: next})
	return p
}

// headline is the answer in two or three sentences.
func headline(r *report.Report) page.Text {
	step, s := r.Budget.StepMs(), r.Steps
	if step <= 0 || s.Count == 0 {
		return page.T("There is no GPU work and no step in this capture.")
	}
	digits := unit.MsDigits(step)
	ms := func(v float64) string { return unit.Fixed(v, digits) }
	what := "A step"
	if s.Basis == "host" {
		what = "A step of the host"
	}
	mean := page.Num(ms(s.MeanMs) + " ms")
	var length page.Text
	switch {
	case s.Source == "none":
		length = page.Sayf("The capture covers %s.", page.Num(ms(step)+" ms"))
	case s.Count == 1:
		length = page.Sayf("%s takes %s (one step%s).", what, mean, foundBy(s.Source))
	default:
		slowest := ""
		if len(r.Inputs) > 1 {
			slowest = "slowest " + inputWord(r.Inputs) + ": "
		}
		length = page.Sayf("%s takes %s (%smedian %s, p10 %s, p90 %s; %s steps%s).", what, mean, slowest,
			ms(s.MedianMs), ms(s.P10Ms), ms(s.P90Ms), unit.FormatCount(int64(s.Count)), foundBy(s.Source))
	}
	return page.Join(length, whereItGoes(r))
}

// worthSaying is the least share of a step that the headline names.
const worthSaying = 0.05

// whereItGoes says what the GPU does with the step.
func whereItGoes(r *report.Report) page.Text {
	b, step := r.Budget, r.Budget.StepMs()
	share := func(ms float64) page.Text { return page.Num(unit.Percent(ms/step) + " %") }
	if b.Compute+b.CommExposed+b.Copy <= 0 {
		return page.T(" No GPU works in it.")
	}
	who := "the GPU"
	if n := len(r.PerDevice); n > 1 {
		who = fmt.Sprintf("a GPU (mean of %d)", n)
	}
	s := page.Sayf(" Of it %s computes %s", who, share(b.Compute))
	if b.CommExposed/step >= worthSaying {
		s = page.Join(s, page.Sayf(", communicates without computing %s", share(b.CommExposed)))
	}
	if b.Copy/step >= worthSaying {
		s = page.Join(s, page.Sayf(", only copies %s", share(b.Copy)))
	}
	s = page.Join(s, page.Sayf(" and waits %s", share(b.Idle)))
	causes := causesOf(b)
	if len(causes) == 0 || causes[0].ms/step < worthSaying {
		return page.Join(s, page.T("."))
	}
	part := page.T(", all of it")
	switch ms := causes[0].ms; {
	case ms >= 0.995*b.Idle:
	case ms >= 0.5*b.Idle:
		part = page.Sayf(", mostly (%s)", share(ms))
	default:
		part = page.Sayf(", the largest part (%s)", share(ms))
	}
	return page.Join(s, part, page.Sayf(" while the host %s.", causes[0].words))
}

// foundBy says how the steps were found, where the report's note does not.
func foundBy(source string) string {
	if source == "periodicity" {
		return ""
	}
	return " by " + sourceWords(source)
}

// sourceWords names what marks the steps.
func sourceWords(source string) string {
	switch source {
	case "nvtx":
		return "NVTX ranges"
	case "annotation":
		return "annotations"
	case "profiler_step":
		return "ProfilerStep"
	case "periodicity":
		return "the rhythm of the launches"
	case "none":
		return "no marker"
	}
	return source
}

// profilerWords is what the step takes without the profiler, in a sentence; nothing if that is not known.
func profilerWords(r *report.Report) page.Text {
	x := r.Profiler
	if x == nil || x.Tool == "" {
		return nil
	}
	what := "a step"
	switch {
	case r.Steps.Source == "none":
		what = "the same"
	case len(r.Inputs) > 1:
		what = "a step of the slowest " + inputWord(r.Inputs)
	}
	free := freeWords(x.UnprofiledStepMs, x.LowMs, x.HighMs)
	return page.Sayf("That is under %s; without it %s %s.", x.Tool, what, free)
}
