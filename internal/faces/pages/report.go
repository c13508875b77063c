package pages

import (
	"slices"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/facts"
)

// Detail is how much of what is known a report shows.
type Detail struct {
	Whole     bool     // every finding with all that is known of it
	Explain   []string // rules whose findings are shown in whole
	Abstained bool     // everything that could not be judged, one by one
	Short     bool     // the verdict on one screen
}

// whole says whether all of a finding is shown.
func (d Detail) whole(f *report.Finding) bool { return d.Whole || slices.Contains(d.Explain, f.Rule) }

// Report is where a step's time goes: the answer first, then what it rests on, then what to do next.
func Report(r *report.Report, next []page.Advice, d Detail) *page.Page {
	if d.Short {
		return shortReport(r, next, d)
	}
	p := &page.Page{Title: page.T("Where a step's time goes")}
	p.Add(inputs(r.Inputs)...)
	p.Add(page.Gap{}, page.Prose{Text: headline(r), Style: page.Bold},
		page.Prose{Text: profilerWords(r)},
		page.Prose{Text: page.Sentence(page.T(r.Steps.Note)), Quote: true})
	if r.Budget.StepMs() > 0 {
		p.Add(budget(r)...)
		p.Add(stepSeries(r.Steps)...)
		p.Add(serving(r)...)
	}
	p.Add(phases(r)...)
	p.Add(findings(r, d)...)
	p.Add(joinedKernels(r, d)...)
	p.Add(perDevice(r)...)
	p.Add(communication(r)...)
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
func headline(r *report.Report) page.Text { return page.Join(captureWords(r), timeWords(r)) }

// timeWords is how long a step takes, and for what.
func timeWords(r *report.Report) page.Text {
	step, s := r.Budget.StepMs(), r.Steps
	if step <= 0 || s.Count == 0 {
		if text := unrecorded(r); text != nil {
			return page.Join(page.T("No step in this capture."), text)
		}
		return page.Join(page.T("No step in this capture."), noWorkWords(r))
	}
	digits := unit.MsDigits(step)
	ms := func(v float64) string { return unit.Fixed(v, digits) }
	what := whatStep(s)
	mean := page.Num(ms(s.MeanMs) + " ms")
	var length page.Text
	switch {
	case s.Source == "none":
		length = page.Sayf("The capture covers %s.", page.Num(ms(step)+" ms"))
		if phaseCount(r) > 1 {
			length = page.Sayf("The capture's main part covers %s.", page.Num(ms(step)+" ms"))
		}
	case s.Count == 1:
		length = page.Sayf("%s takes %s (one step%s).", what, mean, foundBy(s))
	default:
		slowest := ""
		if len(r.Inputs) > 1 {
			slowest = "slowest " + inputWord(r.Inputs) + ": "
		}
		length = page.Sayf("%s takes %s (%smedian %s, p10 %s, p90 %s; %s steps%s).", what, mean, slowest,
			ms(s.MedianMs), ms(s.P10Ms), ms(s.P90Ms), unit.FormatCount(int64(s.Count)), foundBy(s))
	}
	switch outside := unjudgedWords(r); {
	case outside == nil:
		return page.Join(length, whereItGoes(r), startWords(s))
	case s.Source == "none":
		return page.Join(outside, page.T(" "), length, whereItGoes(r))
	default:
		return page.Join(length, whereItGoes(r), startWords(s), page.T(" "), outside)
	}
}

// worthSaying is the least share of a step that the headline names.
const worthSaying = 0.05

// whereItGoes says what the GPU does with the step.
func whereItGoes(r *report.Report) page.Text {
	b, step := r.Budget, r.Budget.StepMs()
	share := func(ms float64) page.Text { return page.Num(unit.Percent(ms/step) + " %") }
	if b.Compute+b.CommExposed+b.Copy <= 0 {
		if text := unrecorded(r); text != nil && facts.NoWork(r.Capture.NoGPUWork) != facts.WorkCut {
			return text
		}
		return noWorkWords(r)
	}
	if computesNever(r) {
		s := page.Sayf(" The GPU copies or clears memory for %s of it", share(b.Copy))
		if causes := causesOf(b); len(causes) > 0 && causes[0].ms >= worthSaying*step {
			return page.Join(s, page.Sayf("; it is idle for %s while the host %s.", share(causes[0].ms), causes[0].words))
		}
		return page.Join(s, page.T("."))
	}
	if lost := b.IdleByHost[facts.CauseLost]; lost/step >= worthSaying {
		return page.Sayf(" Part of the GPU's work was not recorded: it is busy for %s%s or more; of the %s without recorded "+
			"work %s lie behind launches whose work is missing, and whether it is idle then is unknown.",
			share(b.Compute+b.CommExposed+b.Copy), busyWith(r), share(b.Idle), share(lost))
	}
	s := page.Sayf(" GPU busy %s%s, idle %s", share(b.Compute+b.CommExposed+b.Copy), busyWith(r), share(b.Idle))
	causes := causesOf(b)
	if len(causes) == 0 || causes[0].ms/step < worthSaying {
		return page.Join(s, page.T("."))
	}
	part := page.T("all of it")
	if ms := causes[0].ms; ms < 0.995*b.Idle {
		part = share(ms)
	}
	if causes[0].key == facts.CauseLaunch {
		return page.Join(s, page.Sayf(" (%s launch-bound: the host %s).", part, causes[0].words))
	}
	if causes[0].key == facts.CauseGraph {
		return page.Join(s, page.Sayf(" (%s between the nodes of a running CUDA graph).", part))
	}
	return page.Join(s, page.Sayf(" (%s while the host %s).", part, causes[0].words))
}

// noWorkWords says why there is no GPU work in a capture.
func noWorkWords(r *report.Report) page.Text {
	switch facts.NoWork(r.Capture.NoGPUWork) {
	case facts.WorkForeign:
		return page.T(" What the accelerator did is unknown: lacuna does not know it.")
	case facts.WorkCut:
		return page.T(" The file is cut off: GPU work may have been in the part that is missing.")
	case facts.WorkUnasked:
		return page.T(" A GPU was used, but its work was not recorded.")
	case facts.WorkElse:
		return page.Sayf(" The work of %s was not recorded.", r.Capture.OtherDevice)
	case facts.WorkOnHost:
		return page.T(" Nothing ran on a GPU: the program ran on the CPU.")
	case facts.WorkNone:
		return page.T(" No GPU activity: none of the recorded calls to the GPU's runtime starts work.")
	}
	return page.T(" No GPU activity was recorded.")
}

// unrecorded says that a GPU worked of which nothing was recorded, if the host's calls show it.
func unrecorded(r *report.Report) page.Text {
	n, waitMs := r.Capture.UnrecordedLaunches, r.Capture.UnrecordedWaitMs
	var signs []page.Text
	if n == 1 {
		signs = append(signs, page.T("1 launch call"))
	} else if n > 0 {
		signs = append(signs, page.Sayf("%s launch calls", unit.FormatCount(int64(n))))
	}
	if waitMs > 0 {
		signs = append(signs, page.Sayf("the host was for %s in calls that may wait for the device",
			page.Num(unit.Fixed(waitMs, unit.MsDigits(waitMs))+" ms")))
	}
	if len(signs) == 0 {
		return nil
	}
	return page.Sayf(" Kernels were not recorded: %s.", page.List(signs, ", and "))
}

// worthNaming is the least share of a step that is named beside a larger one.
const worthNaming = 0.005

// busyWith says in parentheses what the GPU is busy with, where that is not compute alone, and of how many GPUs it is
// the mean.
func busyWith(r *report.Report) page.Text {
	b, step := r.Budget, r.Budget.StepMs()
	var parts []page.Text
	if max(b.CommExposed, b.Copy)/step >= worthSaying {
		for _, x := range []struct {
			ms   float64
			what string
		}{{b.Compute, "compute"}, {b.CommExposed, "exposed communication"}, {b.Copy, copyWord(b)}} {
			if x.what == "compute" || x.ms/step >= worthNaming {
				parts = append(parts, page.Sayf("%s %s", page.Num(unit.Percent(x.ms/step)+" %"), x.what))
			}
		}
	}
	s := page.List(parts, ", ")
	switch n := len(r.PerDevice); {
	case n > 1 && len(parts) > 0:
		s = page.Sayf("mean of %d GPUs: %s", n, s)
	case n > 1:
		s = page.Sayf("mean of %d GPUs", n)
	case len(parts) == 0:
		return nil
	}
	return page.Sayf(" (%s)", s)
}

// foundBy says how the steps were found, where the report's note does not.
func foundBy(s report.Steps) string {
	switch s.Source {
	case "periodicity":
		return ""
	case "engine":
		return " by " + engineWords(s.Engine)
	}
	return " by " + sourceWords(s.Source)
}

// sourceWords names what marks the steps.
func sourceWords(source string) string {
	switch source {
	case "engine":
		return "marks of a serving engine"
	case "nvtx":
		return "NVTX ranges"
	case "annotation":
		return "annotations"
	case "profiler_step":
		return "ProfilerStep"
	case "periodicity":
		return "periodicity of launches"
	case "none":
		return "no marker"
	}
	return source
}

// profilerWords is what the step takes without the profiler; nothing if that is not known.
func profilerWords(r *report.Report) page.Text {
	x := r.Profiler
	if x == nil || x.Tool == "" {
		return nil
	}
	of := ""
	if r.Steps.Source != "none" && len(r.Inputs) > 1 {
		of = ", for the slowest " + inputWord(r.Inputs)
	}
	free := freeWords(x.UnprofiledStepMs, x.LowMs, x.HighMs)
	return page.Sayf("Profiler overhead included (%s). Without it%s: %s.", x.Tool, of, free)
}
