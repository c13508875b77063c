package replay

import "lacuna/internal/base/interval"

// anchor finds, for each step looked at and for the end of the last, the work that begins it: kernels and graphs of
// the busiest stream where steps are marked or repeat, and whatever comes first where the whole capture is taken as
// one.
func (p *Program) anchor() {
	steady := p.Steps.Steady()
	if !p.Steps.Device || len(steady) == 0 {
		return
	}
	byStart := make(map[int64]int32)
	for _, marks := range []bool{false, true} { // what marks steps comes last, so that it wins
		for i := range p.Works {
			w := &p.Works[i]
			if marks == (w.Kind.IsCompute() && p.Lanes[w.Lane] == p.Steps.Busiest) {
				byStart[w.StartNs] = int32(i)
			}
		}
	}
	edges := append(startsOf(steady), steady[len(steady)-1].EndNs)
	for _, ns := range edges {
		i, ok := byStart[ns]
		if !ok {
			i = none
		}
		p.Anchors = append(p.Anchors, i)
	}
}

func startsOf(spans []interval.Span) []int64 {
	var out []int64
	for _, s := range spans {
		out = append(out, s.StartNs)
	}
	return out
}

// StepNs is the mean step of a run, over the same steps as the capture's.
func (p *Program) StepNs(r *Run) float64 {
	n := len(p.Anchors) - 1
	if n < 1 || p.Anchors[0] == none {
		return 0
	}
	first := p.beginsAt(r, p.Anchors[0])
	last := first
	if a := p.Anchors[n]; a != none {
		last = p.beginsAt(r, a)
	} else if k := p.lastInWindow(r); k != none { // a single step lasts to the end of its last work
		last = r.WorkEnd[k]
	}
	return float64(last-first) / float64(n)
}

// beginsAt is when the work of an anchor starts; if it was dropped, when what is issued next on its stream does.
func (p *Program) beginsAt(r *Run, anchor int32) int64 { return r.WorkStart[p.beginner(anchor)] }

func (p *Program) beginner(anchor int32) int32 {
	lane, compute := p.Works[anchor].Lane, p.Works[anchor].Kind.IsCompute()
	for i := anchor; int(i) < len(p.Works); i++ {
		if w := &p.Works[i]; w.Lane == lane && !w.Dropped && (w.Kind.IsCompute() || !compute) {
			return i
		}
	}
	return anchor
}

// hostPeriodNs is what the host takes from the call that launches the first anchor to that of the last one, per step,
// without what it waited for the device meanwhile; 0: not known.
func (p *Program) hostPeriodNs(r *Run) float64 {
	n := len(p.Anchors) - 1
	if n < 1 || p.Anchors[0] == none || p.Anchors[n] == none {
		return 0
	}
	first, last := p.Works[p.beginner(p.Anchors[0])].Call, p.Works[p.beginner(p.Anchors[n])].Call
	if first == none || last == none {
		return 0
	}
	ns := r.callBegin[last] - r.callBegin[first]
	for c := p.Calls[last].Pred; ; c = p.Calls[c].Pred {
		if c == none || c < first {
			return 0 // another thread's calls: what they waited for is not known
		}
		ns -= r.blocked[c]
		if c == first {
			return float64(ns) / float64(n)
		}
	}
}

// lastInWindow is the work that ends last of what was recorded to begin within the window, or none.
func (p *Program) lastInWindow(r *Run) int32 {
	last := none
	for i := range p.Works {
		w := &p.Works[i]
		if !w.Dropped && w.StartNs >= p.window.StartNs && w.StartNs < p.window.EndNs &&
			(last == none || r.WorkEnd[i] > r.WorkEnd[last]) {
			last = int32(i)
		}
	}
	return last
}

// SteadyNs is the mean step of a run as it goes on: where the device has nothing queued at the first step and is the
// limit later, the steps in which the queue fills are left out. A capture of few steps that begins with an empty
// queue, or a change that makes the device the limit, would count the filling to each step.
//
// The other way round a host that is ahead when the capture begins lets the device work off its queue: a change that
// makes the host the limit shows only when the queue is empty. In the long run no step is shorter than the host takes
// from one to the next.
func (p *Program) SteadyNs(r *Run) float64 { return max(p.filledNs(r), p.hostPeriodNs(r)) }

// filledNs is the mean step from the first one that begins with a full queue on.
func (p *Program) filledNs(r *Run) float64 {
	from := p.filledFrom(r)
	if from == 0 {
		return p.StepNs(r)
	}
	return p.meanNs(r, from)
}

// meanNs is the mean step from anchor from on.
func (p *Program) meanNs(r *Run, from int) float64 {
	n := len(p.Anchors) - 1
	return float64(p.beginsAt(r, p.Anchors[n])-p.beginsAt(r, p.Anchors[from])) / float64(n-from)
}

// filledFrom is the first anchor that begins with a full queue; 0: all steps are to be looked at.
func (p *Program) filledFrom(r *Run) int {
	n := len(p.Anchors) - 1
	if n < 3 || p.Anchors[0] == none || p.Anchors[n] == none || r.Bound[p.Anchors[0]] != BoundLaunch {
		return 0
	}
	from := 0
	for from <= n && p.Anchors[from] != none && r.Bound[p.Anchors[from]] == BoundLaunch {
		from++ // the queue is still filling
	}
	for _, a := range p.Anchors[min(from, n):] {
		if a == none || r.Bound[a] == BoundLaunch {
			return 0 // it runs empty again: these steps are as they are
		}
	}
	if n-from < 2 || 2*from > n || p.meanNs(r, from) > p.StepNs(r) {
		return 0 // a step in which the queue fills is longer than others of its kind: these are of several kinds
	}
	return from
}
