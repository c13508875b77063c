package facts

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
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

// maxCaptured is the share of the launches that may go into a graph that is being captured without a word: more than
// one in ten is no longer the edge of something else.
const maxCaptured = 0.1

// noteCaptured says of steps in which a graph is captured that their launches ran nothing.
func (f *Facts) noteCaptured(s *Steps) {
	captured, run := f.capturedLaunches()
	if len(captured) == 0 {
		return
	}
	calls := f.Trace.Calls.StartNs
	host := s.HostWindow()
	in := func(rows []int32) int {
		n := 0
		for _, r := range rows {
			if host.Contains(calls[r]) {
				n++
			}
		}
		return n
	}
	n := in(captured)
	if all := n + in(run); n > 0 && float64(n) > maxCaptured*float64(all) {
		what := "the steps capture a CUDA graph"
		switch {
		case s.Source == StepsNone:
			what = "the program captures a CUDA graph"
		case len(s.Steady()) == 1:
			what = "the step captures a CUDA graph"
		}
		s.Note = join(s.Note, fmt.Sprintf("%s: %d of %d launches went into the graph and ran nothing, so that this is "+
			"not the time of replaying it", what, n, all))
	}
}

// capturedLaunches is the calls that launch kernels into a graph that is being captured, and those that run something.
func (f *Facts) capturedLaunches() (captured, run []int32) {
	for _, c := range f.launchCalls() {
		run = append(run, c.call)
	}
	t := f.Trace
	const launch, begin, end = 1, 2, 3
	is := judge(&t.Strings, func(name string) uint8 {
		switch {
		case beginCaptureCall.MatchString(name):
			return begin
		case endCaptureCall.MatchString(name):
			return end
		case launchCall.MatchString(name) && !graphLaunchCall.MatchString(name):
			return launch
		}
		return 0
	})
	capturing := make(map[model.ThreadRow]bool)
	for i, id := range t.Calls.Name {
		switch kind, th := is(id), t.Calls.Thread[i]; {
		case kind == begin:
			capturing[th] = true
		case kind == end:
			capturing[th] = false
		case kind == launch && capturing[th]:
			if _, ran := slices.BinarySearch(run, int32(i)); !ran {
				captured = append(captured, int32(i))
			}
		}
	}
	return captured, run
}
