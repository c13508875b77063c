package facts

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/unit"
)

// minWorkSpan is the share of a lone marker's time that must lie between its first kernel and its last GPU work for
// these to say how long the step is. The next step could not have begun before the marker ended: where most of the
// marker lies before or behind its work, as in a step that compiles or captures a graph, the host's time is the step.
const minWorkSpan = 0.5

// singleStep makes a step of the only marker that launches GPU work: work is from the first kernel to the last work.
func (f *Facts) singleStep(s *Steps, work interval.Span) {
	mark := s.Markers[0]
	if float64(work.LenNs()) >= minWorkSpan*float64(mark.LenNs()) {
		s.Device, s.All = true, []interval.Span{work}
		s.Note = join(s.Note, "one step marker launches GPU work: that step is taken to the end of its last GPU work")
		return
	}
	s.All = []interval.Span{{StartNs: min(mark.StartNs, work.StartNs), EndNs: max(mark.EndNs, work.EndNs)}}
	s.Note = join(s.Note, fmt.Sprintf("one step marker launches GPU work, which takes %.3f of its %.3f ms: that step "+
		"is taken to be the marker's time on the host, to the end of its work", float64(work.LenNs())/1e6, float64(mark.LenNs())/1e6))
}

// noteCover says where steps that nobody marked are less than half of the time in which the GPU was used: what lies
// around them may be set-up, or what the capture is about.
func (f *Facts) noteCover(s *Steps) {
	w := f.Work()
	if !s.Device || s.Engine != nil || s.Source == StepsNone || s.Source == StepsProfilerStep || w.Len() == 0 {
		return
	}
	whole := interval.Span{StartNs: w.StartNs[0], EndNs: slices.Max(w.EndNs)}
	if part := s.Window().LenNs(); float64(part) < minCovered*float64(whole.LenNs()) {
		digits := 3
		for ns := whole.LenNs(); digits > 0 && ns >= 10e6; ns /= 10 {
			digits--
		}
		s.Note = join(s.Note, fmt.Sprintf("the steps last %.*f of the %.*f ms from the first GPU work to the last",
			digits, float64(part)/1e6, digits, float64(whole.LenNs())/1e6))
	}
}

// maxCaptured is the share of the launches that may go into a graph that is being captured without a word: more than
// one in ten is no longer the edge of something else.
const maxCaptured = 0.1

// noteCaptured says of steps in which a graph is captured that their launches ran nothing, or, where the steps launch
// as many graphs as they capture, with those.
func (f *Facts) noteCaptured(s *Steps) {
	captured := f.CapturedLaunches()
	if len(captured) == 0 {
		return
	}
	calls, host := f.Trace.Calls.StartNs, s.HostWindow()
	n, all, runs, made := 0, 0, 0, 0
	for _, row := range captured {
		if host.Contains(calls[row]) {
			n++
		}
	}
	for _, l := range f.launchCalls() {
		if host.Contains(calls[l.call]) {
			all++
			if l.graph && f.WorkOfCalls()[l.call] >= 0 {
				runs++
			}
		}
	}
	for _, spans := range f.GraphCaptures() {
		for _, x := range spans {
			if host.Contains(x.StartNs) {
				made++
			}
		}
	}
	if all += n; n > 0 && float64(n) > maxCaptured*float64(all) {
		what := "the steps capture a CUDA graph"
		switch {
		case s.Source == StepsNone:
			what = "the program captures a CUDA graph"
		case len(s.Steady()) == 1:
			what = "the step captures a CUDA graph"
		}
		if runs >= made {
			s.Note = join(s.Note, fmt.Sprintf("%s, which %s: %d of %d launches went into it", what,
				unit.Counted(runs, "graph launch then runs", "graph launches then run"), n, all))
			return
		}
		s.Note = join(s.Note, fmt.Sprintf("%s: %d of %d launches went into the graph and ran nothing, so that this is "+
			"not the time of replaying it", what, n, all))
	}
}
