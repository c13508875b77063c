package facts

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"

	"lacuna/internal/base/interval"
)

// StepOptions says which steps are wanted. The zero value is: find them, and leave start-up out.
type StepOptions struct {
	Range *regexp.Regexp // ranges that mark steps, by name; nil: find markers
	Asked string         // Range as the call has it: what is told back where there is none
	Pin   bool           // take exactly the device steps First to Last, and do not look for start-up
	First int            // position, from 0; negative: from the end
	Last  int            // position, excluded; negative: from the end
	Whole bool           // with Pin: Last is the end

	// Latest takes the last window of a capture that was switched off and on again, not the one with most steps.
	Latest bool

	Engine string   // of whose marks steps are: one of Engines; "": of any; NoEngine: of none
	Kind   StepKind // only an engine's steps of this kind; "": the kind that takes most time
	Bucket int64    // with Kind: and of this size, as EngineGroup has it; 0: any
}

// asks is the kind and size asked for, as a call has it.
func (o *StepOptions) asks() string {
	if o.Bucket == 0 {
		return "--kind " + string(o.Kind)
	}
	return fmt.Sprintf("--kind %s@%d", o.Kind, o.Bucket)
}

// Steps is the steps of a capture. A device step lasts from the start of the first kernel or
// graph launched inside a marker to the start of the first one launched inside the next, on the
// busiest compute stream: the host runs ahead of the GPU, so that a marker's own time is not the step's.
type Steps struct {
	Source  StepSource
	Marker  string          // what the markers are called
	Engine  *EngineSteps    // what a serving engine says of All; nil: its marks are not the steps
	Device  bool            // whether All is device steps; else host steps
	All     []interval.Span // every step
	First   int             // the steps looked at are All[First:Last]
	Last    int
	Startup []StartupStep   // All[:First], unless pinned
	Host    []interval.Span // host steps: start of a marker to start of the next
	Markers []interval.Span // the marker of each step in All: what the host did for it
	Busiest Lane            // the stream that the steps are anchored on
	Pinned  bool            // First and Last were asked for by position
	Note    string          // what a reader must know, or ""

	markerRows []uint32 // the ranges that are markers, if any are
	parts      string   // what the launches that repeat are, if these are parts of a model
}

// A StartupStep is a first step that is not like the later ones, and why.
type StartupStep struct {
	Index int
	Why   string
	// of what makes it so, something is the program's own; else it only waits for a rank whose profiler began later
	Own bool
}

// A Lane is a stream of a device.
type Lane struct{ Device, Stream uint32 }

// Steady is the steps looked at.
func (s *Steps) Steady() []interval.Span { return s.All[s.First:s.Last] }

// Window is from the first steady step's start to the last one's end.
func (s *Steps) Window() interval.Span {
	st := s.Steady()
	if len(st) == 0 {
		return interval.Span{}
	}
	return interval.Span{StartNs: st[0].StartNs, EndNs: st[len(st)-1].EndNs}
}

// MeanNs is how long a steady step lasts in the mean.
func (s *Steps) MeanNs() float64 {
	return float64(s.Window().LenNs()) / float64(max(1, len(s.Steady())))
}

// A StepsError says that the steps asked for are not there.
type StepsError struct {
	Asked string
	Have  int
}

func (e *StepsError) Error() string {
	if e.Have == 0 {
		return e.Asked + ": the capture has no such steps; lacuna info shows which ranges it has"
	}
	return fmt.Sprintf("%s: the capture has %d steps; give positions from 0 to %d", e.Asked, e.Have, e.Have)
}

// Steps finds the steps of the capture that its facts were asked for with. The answer is everybody's: it is not to be
// changed.
func (f *Facts) Steps() (*Steps, error) {
	a := f.kept.steps.of(f, func(f *Facts) stepsOrError {
		s, err := f.chooseSteps(f.steps)
		return stepsOrError{s, err}
	})
	return a.steps, a.err
}

// stepsOrError is what Steps answers.
type stepsOrError struct {
	steps *Steps
	err   error
}

// chooseSteps finds steps and looks only at those that opt asks for.
func (f *Facts) chooseSteps(opt StepOptions) (*Steps, error) {
	if err := f.checkEngine(opt); err != nil {
		return nil, err
	}
	s := f.findSteps(opt.Range)
	if opt.Range != nil && (s.Source == StepsPeriodicity || s.Source == StepsNone) {
		return nil, &StepsError{Asked: "--step-range " + opt.Asked}
	}
	if s.Engine == nil && opt.Kind != "" || s.Engine != nil && !opt.Pin && !f.chooseRun(s, opt) {
		return nil, &StepsError{Asked: opt.asks()}
	}
	if !opt.Pin {
		f.dropStartup(s)
		f.noteCaptured(s)
		f.dropUnseen(s)
		f.keepWindow(s, opt.Latest)
		f.keepLike(s)
		f.noteCover(s)
		f.dropUnrecorded(s)
		return s, nil
	}
	n := len(s.All)
	first, last := opt.First, opt.Last
	if first < 0 {
		first += n
	}
	if opt.Whole {
		last = n
	} else if last < 0 {
		last += n
	}
	last = min(last, n)
	if first < 0 || first >= last {
		asked := fmt.Sprintf("--steps %d:%d", opt.First, opt.Last)
		if opt.Whole {
			asked = fmt.Sprintf("--steps %d:", opt.First)
		}
		return nil, &StepsError{asked, n}
	}
	s.First, s.Last, s.Pinned = first, last, true
	if s.Engine != nil {
		s.Engine.pinned(s)
	}
	return s, nil
}

// findSteps tries the markers, then the periodicity of the launches, then takes the capture as one step.
func (f *Facts) findSteps(chosen *regexp.Regexp) *Steps {
	m := f.markers(chosen)
	s := &Steps{Source: m.Source, Marker: m.Name, Note: m.Note, Busiest: f.Busiest(), markerRows: m.Rows}
	switch {
	case f.foundByEngine(s, chosen):
	case len(m.Spans) > 0:
		f.stepsByMarkers(s, m.Spans)
	default:
		for _, find := range []func(*Steps){f.stepsByPeriod, f.stepsByCalls, f.stepsByRows, f.stepsByRuns,
			f.loneStep, f.stepsByHost} {
			if find(s); len(s.All) > 0 {
				break
			}
		}
	}
	if len(s.All) == 0 {
		f.oneStep(s)
	}
	s.Last = len(s.All)
	return s
}

// stepsByMarkers anchors device steps on markers.
func (f *Facts) stepsByMarkers(s *Steps, marks []interval.Span) {
	firsts := f.firstsOf(s, marks)
	var edges []int64
	for i, m := range marks {
		if i > 0 {
			s.Host = append(s.Host, interval.Span{StartNs: marks[i-1].StartNs, EndNs: m.StartNs})
		}
		if firsts[i] != noFirst && (len(edges) == 0 || firsts[i] > edges[len(edges)-1]) {
			edges = append(edges, firsts[i])
			s.Markers = append(s.Markers, m)
		}
	}
	switch {
	case len(edges) >= 2:
		s.Device, s.All, s.Markers = true, between(edges), s.Markers[:len(edges)-1]
	case len(edges) == 1:
		f.singleStep(s, interval.Span{StartNs: edges[0], EndNs: f.lastWorkIn(s.Markers[0], edges[0])})
	case len(marks) >= 2:
		s.All, s.Markers = between(startsOf(marks)), marks[:len(marks)-1]
		if f.Work().Len() > 0 {
			s.Note = join(s.Note, "no kernel is launched inside the step markers: steps are those of the host")
		}
	default:
		s.All, s.Markers = marks, marks
	}
}

func startsOf(spans []interval.Span) []int64 {
	var out []int64
	for _, m := range spans {
		out = append(out, m.StartNs)
	}
	return out
}

// between makes the spans from each edge to the next.
func between(edges []int64) []interval.Span {
	var out []interval.Span
	for i := 1; i < len(edges); i++ {
		out = append(out, interval.Span{StartNs: edges[i-1], EndNs: edges[i]})
	}
	return out
}

// noFirst is the start of what there is not. Real times can be negative: a capture's time 0 need not be its first
// event.
const noFirst = math.MinInt64

// firstsOf is where device steps begin: on the busiest stream or, where the work of marks changes from stream to
// stream so that this one serves only some of them, on any stream of its device.
func (f *Facts) firstsOf(s *Steps, marks []interval.Span) []int64 {
	one := f.firstsIn(marks, func(l Lane) bool { return l == s.Busiest })
	if n := found(one); n < len(marks) {
		any := f.firstsIn(marks, func(l Lane) bool { return l.Device == s.Busiest.Device })
		if float64(n) < minBusyTurns*float64(found(any)) {
			s.Note = join(s.Note, "the work of the steps is on changing streams: a step begins on any of them")
			return any
		}
	}
	return one
}

func found(firsts []int64) int {
	n := 0
	for _, ns := range firsts {
		if ns != noFirst {
			n++
		}
	}
	return n
}

// firstsIn is the start of the first kernel or graph on one of the lanes that was launched inside each of
// marks, or noFirst. marks are ordered by start and may overlap.
func (f *Facts) firstsIn(marks []interval.Span, on func(Lane) bool) []int64 {
	t, w := f.Trace, f.Work()
	out := make([]int64, len(marks))
	for i := range out {
		out[i] = noFirst
	}
	// Launches of a lane in the order of their calls; a marker's are a run of them.
	type launch struct{ callNs, startNs int64 }
	var launches []launch
	for i := range w.Len() {
		if w.Kind[i].IsCompute() && w.Call[i] != NoCall && on(Lane{w.Device[i], w.Stream[i]}) {
			launches = append(launches, launch{t.Calls.StartNs[w.Call[i]], w.StartNs[i]})
		}
	}
	slices.SortFunc(launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.callNs, b.callNs), cmp.Compare(a.startNs, b.startNs))
	})
	for i, m := range marks {
		lo, _ := slices.BinarySearchFunc(launches, m.StartNs,
			func(l launch, t int64) int { return cmp.Compare(l.callNs, t) })
		for _, l := range launches[lo:] {
			if l.callNs >= m.EndNs {
				break
			}
			if out[i] == noFirst || l.startNs < out[i] {
				out[i] = l.startNs
			}
		}
	}
	return out
}

// lastWorkIn is the end of the last GPU work launched inside m, at least afterNs.
func (f *Facts) lastWorkIn(m interval.Span, afterNs int64) int64 {
	t, w := f.Trace, f.Work()
	end := afterNs
	for i := range w.Len() {
		if w.Call[i] != NoCall && m.Contains(t.Calls.StartNs[w.Call[i]]) {
			end = max(end, w.EndNs[i])
		}
	}
	return end
}

// oneStep takes the whole capture as one step: all GPU work, or failing that all that the host did.
func (f *Facts) oneStep(s *Steps) {
	w := f.Work()
	s.Source = StepsNone
	if w.Len() > 0 {
		span := interval.Span{StartNs: w.StartNs[0], EndNs: w.EndNs[0]}
		for _, end := range w.EndNs {
			span.EndNs = max(span.EndNs, end)
		}
		main, note := f.mainPart(f.inWindow(span))
		if whole := f.setUp(main); whole.LenNs() > 0 {
			main, note = whole, "no kernel ran: all that was recorded is looked at"
		}
		s.Device, s.All = true, []interval.Span{main}
		switch {
		case s.parts != "":
			s.Note = join(s.Note, "no step markers; the launches that repeat "+s.parts)
		case s.Note == "":
			s.Note = "no step markers, and no launches that repeat like a loop"
		}
		s.Note += ": the capture is taken as one step"
		s.Note = join(s.Note, note)
		return
	}
	if span := f.HostSpan(); span.LenNs() > 0 {
		s.All, s.Markers = []interval.Span{span}, nil
		if s.Note == "" {
			s.Note = "no step markers and no GPU work"
		}
		s.Note += ": the capture is taken as one step of the host"
	}
}

// HostSpan is from the first to the last event of the host.
func (f *Facts) HostSpan() interval.Span {
	t := f.Trace
	var out interval.Span
	grow := func(startNs, durNs []int64) {
		for i := range startNs {
			s := interval.Span{StartNs: startNs[i], EndNs: startNs[i] + max(durNs[i], 0)}
			if out == (interval.Span{}) {
				out = s
			}
			out.StartNs, out.EndNs = min(out.StartNs, s.StartNs), max(out.EndNs, s.EndNs)
		}
	}
	grow(t.Calls.StartNs, t.Calls.DurNs)
	grow(t.Ops.StartNs, t.Ops.DurNs)
	grow(t.Ranges.StartNs, t.Ranges.DurNs)
	grow(t.OSCalls.StartNs, t.OSCalls.DurNs)
	grow(t.MPI.StartNs, t.MPI.DurNs)
	return out
}

// Busiest is the stream with the longest union of compute; of equals, the one that starts first.
func (f *Facts) Busiest() Lane {
	return f.kept.busiestLane.of(f, func(f *Facts) Lane {
		w := f.Work()
		type lane struct{ busyNs, endNs int64 }
		lanes := make(map[Lane]*lane)
		var order []Lane
		for i := range w.Len() {
			if !w.Kind[i].IsCompute() {
				continue
			}
			key := Lane{w.Device[i], w.Stream[i]}
			l := lanes[key]
			if l == nil {
				l = &lane{endNs: w.StartNs[i]}
				lanes[key], order = l, append(order, key)
			}
			if w.EndNs[i] > l.endNs {
				l.busyNs += w.EndNs[i] - max(l.endNs, w.StartNs[i])
				l.endNs = w.EndNs[i]
			}
		}
		var best Lane
		for i, key := range order {
			if i == 0 || lanes[key].busyNs > lanes[best].busyNs {
				best = key
			}
		}
		return best
	})
}
