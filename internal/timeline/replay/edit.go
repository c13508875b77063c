package replay

import (
	"fmt"
	"maps"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// An Edit is a program with changes on it. The program that it was made of stays as it is. Changes
// compose: each sees what those before it left.
type Edit struct {
	*Program
	Notes  []string // what was assumed, in sentences
	Serves *Serves  // what steps of a serving engine work on, where a change alters that; nil: as recorded
	Ranks  []*Edit  // of all ranks that are replayed together, this one among them; nil: it is alone
}

// Edit begins a set of changes.
func (p *Program) Edit() *Edit {
	if p.job == nil {
		return &Edit{Program: p.clone()}
	}
	j := *p.job
	j.programs = make([]*Program, len(p.job.programs))
	ranks := make([]*Edit, len(j.programs))
	for i, q := range p.job.programs {
		j.programs[i] = q.clone()
		j.programs[i].job = &j
		ranks[i] = &Edit{Program: j.programs[i], Ranks: ranks}
	}
	return ranks[p.place]
}

func (p *Program) clone() *Program {
	q := *p
	q.Calls, q.Works, q.Waits = slices.Clone(p.Calls), slices.Clone(p.Works), slices.Clone(p.Waits)
	q.Lanes = slices.Clone(p.Lanes)
	return &q
}

// Assume notes what a change takes for granted.
func (e *Edit) Assume(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(e.Notes, text) {
		e.Notes = append(e.Notes, text)
	}
}

// DropWork leaves a piece of work out; its call stays.
func (e *Edit) DropWork(i int32) { e.Works[i].Dropped = true }

// DropCall leaves a call out, with the work that it issued and its own time; the host work before it stays.
func (e *Edit) DropCall(i int32) {
	c := &e.Calls[i]
	c.Dropped = true
	for k := c.First; k < c.First+c.N; k++ {
		e.Works[k].Dropped = true
	}
}

// DropGap takes the host work before a call away, or leaves keepNs of it.
func (e *Edit) DropGap(i int32, keepNs int64) {
	c := &e.Calls[i]
	if c.Pred == none || c.GapNs <= keepNs {
		return
	}
	c.GapOverNs = int64(float64(c.GapOverNs) * float64(keepNs) / float64(max(1, c.GapNs)))
	c.GapNs = keepNs
}

// SetGap gives the host work before a call a new length and the bounds that it is known by. It is the program's
// own: nothing of it is the profiler's.
func (e *Edit) SetGap(i int32, ns, lowNs, highNs int64) {
	c := &e.Calls[i]
	c.GapNs, c.GapLowNs, c.GapHighNs, c.GapOverNs = max(0, ns), max(0, lowNs), max(1, highNs), 0
}

// NotDone says that what a thread did in spans is left out of the pauses that lie in them: what is left of those, for
// which DropGap says how much it is, was something else.
func (e *Edit) NotDone(thread int32, spans interval.Set) {
	gone := maps.Clone(e.gone)
	if gone == nil {
		gone = make(map[int32]interval.Set)
	}
	gone[thread] = interval.Union(append(slices.Clone(gone[thread]), spans...))
	e.gone = gone
}

// Stub makes a call that waited or worked take what a call takes that does nothing.
func (e *Edit) Stub(i int32) {
	c := &e.Calls[i]
	c.Wait = WaitNothing
	c.OwnNs = min(c.OwnNs, e.Rules.StubNs)
}

// SetDur gives work a new duration and the bounds that it is known by.
func (e *Edit) SetDur(i int32, ns, lowNs, highNs int64) {
	w := &e.Works[i]
	w.DurNs, w.LowNs, w.HighNs, w.Host = max(0, ns), max(0, lowNs), max(1, highNs), false
}

// ScaleDur multiplies work's duration, and the bounds that it is known by.
func (e *Edit) ScaleDur(i int32, factor, low, high float64) {
	w := &e.Works[i]
	d := float64(w.DurNs)
	e.SetDur(i, int64(d*factor), int64(d*low), int64(d*high))
}

// NewLane adds a stream of a device that nothing else uses.
func (e *Edit) NewLane(device uint32) int32 {
	e.Lanes = append(e.Lanes, facts.Lane{Device: device, Stream: model.NoStream - 1 - uint32(len(e.Lanes))})
	return int32(len(e.Lanes) - 1)
}

// Raise bounds the step from below by what the program does not hold.
func (e *Edit) Raise(step Range) {
	e.Floor = Range{max(e.Floor.Ns, step.Ns), max(e.Floor.LowNs, step.LowNs), max(e.Floor.HighNs, step.HighNs)}
}

// NextOnThread is, for each call, the next call of its thread, or -1.
func (p *Program) NextOnThread() []int32 { return p.nextOnThread() }

// PrevOnThread is, for each call, the call of its thread before it, or -1.
func (p *Program) PrevOnThread() []int32 {
	prev := make([]int32, len(p.Calls))
	for i := range prev {
		prev[i] = none
	}
	for i, n := range p.nextOnThread() {
		if n != none {
			prev[n] = int32(i)
		}
	}
	return prev
}

// UsualPauseNs is the median host time between two calls of a thread, as recorded.
func (p *Program) UsualPauseNs(thread int32) int64 { return p.pauses[thread] }

// usualPauses is the median host time between two calls of each thread.
func (p *Program) usualPauses() []int64 {
	gaps := make([][]int64, p.threads())
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Pred != none && p.Calls[c.Pred].Thread == c.Thread {
			gaps[c.Thread] = append(gaps[c.Thread], c.GapNs)
		}
	}
	out := make([]int64, len(gaps))
	for th := range gaps {
		out[th] = medianOr(gaps[th], 0)
	}
	return out
}

// GapSpan is when the host work before a call was recorded: from its predecessor's end to its start, whatever
// changes made of it.
func (p *Program) GapSpan(i int32) interval.Span {
	c := &p.Calls[i]
	if c.Pred == none {
		return interval.Span{StartNs: c.StartNs - c.GapNs, EndNs: c.StartNs}
	}
	return interval.Span{StartNs: p.Calls[c.Pred].EndNs, EndNs: c.StartNs}
}

// CallName is the name of a call without its version.
func (p *Program) CallName(i int32) string {
	t := p.Facts.Trace
	return facts.BaseCallName(t.Strings.Text(t.Calls.Name[p.Calls[i].Row]))
}

// WorkName is the name of a piece of work: of a kernel, its name.
func (p *Program) WorkName(i int32) string { return p.Facts.WorkName(int(p.Works[i].Row)) }

// InWindow says whether a call was made for one of the steps looked at.
func (p *Program) InWindow(i int32) bool {
	s := p.Calls[i].Step
	return s >= int32(p.Steps.First) && s < int32(p.Steps.Last)
}
