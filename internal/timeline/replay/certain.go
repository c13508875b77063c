package replay

import (
	"math"

	"lacuna/internal/timeline/facts"
)

// Reschedules says whether an edit changes what waits for what, or what the host does: such a prediction rests on the
// edges of the program. One that only changes what work takes, or leaves work out with the call that issued it,
// rests on what was measured.
func (e *Edit) Reschedules(than *Program) bool {
	if than.job == nil || e.job == nil {
		return reschedules(e.Program, than)
	}
	for i, q := range e.job.programs {
		if reschedules(q, than.job.programs[i]) {
			return true
		}
	}
	return false
}

func reschedules(p, than *Program) bool {
	if len(p.Calls) != len(than.Calls) || len(p.Works) != len(than.Works) || len(p.Waits) != len(than.Waits) ||
		len(p.Lanes) != len(than.Lanes) || p.Floor != than.Floor || (p.contention == nil) != (than.contention == nil) {
		return true
	}
	for i := range p.Calls {
		a, b := &p.Calls[i], &than.Calls[i]
		switch {
		case a.Wait != b.Wait || a.WaitOn != b.WaitOn || a.Pred != b.Pred || a.Unsure != b.Unsure:
			return true
		case !a.Dropped && (a.GapNs != b.GapNs || a.OwnNs != b.OwnNs || a.GapHighNs != b.GapHighNs):
			return true
		case a.Dropped && !b.Dropped && a.N == 0: // a synchronization, an allocation
			return true
		}
	}
	for i := range p.Works {
		if a, b := &p.Works[i], &than.Works[i]; a.Lane != b.Lane || a.After != b.After || a.By != b.By ||
			a.Needs != b.Needs || a.LagNs != b.LagNs || a.LagHigh != b.LagHigh {
			return true
		}
	}
	for i := range p.Waits {
		if p.Waits[i].Dropped != than.Waits[i].Dropped {
			return true
		}
	}
	return false
}

// ReachNs is how much of a mean step's work, as recorded, an edit leaves out or gives another duration; only says that
// it changes work, and nothing else than that, calls that wait for nothing, and the host work before them.
func (e *Edit) ReachNs(than *Program) (ns float64, only bool) {
	p := e.Program
	if e.job != nil || len(p.Works) != len(than.Works) || len(p.Lanes) != len(than.Lanes) {
		return 0, false
	}
	for i := range than.Calls {
		a, b := &p.Calls[i], &than.Calls[i]
		if a.Wait != b.Wait || a.Dropped != b.Dropped && b.Wait != WaitNothing {
			return 0, false
		}
	}
	for i := range than.Works {
		a, b := &p.Works[i], &than.Works[i]
		if a.Lane != b.Lane || a.Needs != b.Needs || a.After != b.After {
			return 0, false
		}
		gone := a.Dropped != b.Dropped || b.Call != none && p.Calls[b.Call].Dropped != than.Calls[b.Call].Dropped
		if b.Call != none && than.InWindow(b.Call) && (gone || a.DurNs != b.DurNs) {
			ns += float64(b.DurNs)
		}
	}
	return ns / float64(max(1, len(than.Steps.Steady()))), ns > 0
}

// GapsNs is the pauses between pieces of work on a stream that go, of a mean step, with the work that an edit leaves
// out.
func (e *Edit) GapsNs(than *Program) float64 {
	gone := func(p *Program, i int) bool {
		w := &p.Works[i]
		return w.Dropped || w.Call != none && p.Calls[w.Call].Dropped
	}
	n := 0
	for i := range than.Works {
		if c := than.Works[i].Call; c != none && than.InWindow(c) && gone(e.Program, i) && !gone(than, i) {
			n++
		}
	}
	return float64(n) * float64(e.Rules.StreamGapNs) / float64(max(1, len(than.Steps.Steady())))
}

// gain compares a program with an edit of it, corner by corner: what is uncertain of both cancels. What is uncertain
// of the edit alone does not, so it is looked at by itself too: a host that is fast makes a gain small, a change that
// goes well makes it large, and together they would hide each other.
func (k *Pricer) gain(than *Program, before [corners]float64, ownBefore func() [2]float64, e *Edit,
	after [corners]float64) Range {
	g := Range{before[best] - after[best], math.Inf(1), math.Inf(-1)}
	for c := range before {
		g.LowNs, g.HighNs = min(g.LowNs, before[c]-after[c]), max(g.HighNs, before[c]-after[c])
	}
	if e.uncertain() {
		before, after := ownBefore(), k.atOwnBounds(e.Program)
		for c := range before { // all the way only where nothing else is off to the same side
			own := before[c] - after[c] - g.Ns
			g.LowNs, g.HighNs = min(g.LowNs, g.Ns+badlyTogether*own), max(g.HighNs, g.Ns+wellTogether*own)
		}
	}
	again := e.Reschedules(than)
	least := changedShare * math.Abs(g.Ns)
	if again && g.Ns != 0 {
		least = max(least, changedShare*k.hostBoundNs(e.Program, after[best]))
	}
	g.HighNs = max(g.HighNs, g.Ns+least)
	if g.Ns > 0 { // what a change takes away does not come back: how much it gains is unsure, not that it does
		least = min(least, mostLost*g.Ns)
	}
	g.LowNs = min(g.LowNs, g.Ns-least)
	return k.widened(g, again)
}

// mostLost is the share of a gain that the host's new work can take back.
const mostLost = 0.8

// hostBoundNs is how much of the step of a changed program, which takes ns, follows the pace of its host's launches.
// Of that, nothing cancels between the program and the changed one: the host does something else, which nobody has
// seen. Long work between two calls stays what it is.
func (k *Pricer) hostBoundNs(p *Program, ns float64) float64 {
	o := Options{Residuals: k.residuals, Deflate: 1, Pace: p.Pace.Mid * hostHigh}
	return min(ns, max(0, max(p.SteadyNs(p.Simulate(o)), p.Floor.Ns)-ns)/(hostHigh-1))
}

// uncertain says whether a change left anything that is known by its bounds only.
func (e *Edit) uncertain() bool {
	programs := []*Program{e.Program}
	if e.job != nil {
		programs = e.job.programs
	}
	for _, p := range programs {
		if p.contention != nil || p.Floor.Ns > 0 {
			return true
		}
		for i := range p.Calls {
			if c := &p.Calls[i]; c.Unsure || c.GapHighNs > 0 {
				return true
			}
		}
		for i := range p.Works {
			if w := &p.Works[i]; w.HighNs > 0 || w.LagHigh > 0 {
				return true
			}
		}
	}
	return false
}

// atOwnBounds is the step without the profiler with everything at its best estimate but what a change made uncertain:
// that at its lower bounds, and at its upper ones.
func (k *Pricer) atOwnBounds(p *Program) [2]float64 {
	var out [2]float64
	for i, corner := range [2]int{-1, 1} {
		r := p.Simulate(Options{Residuals: k.residuals, Deflate: 1, Pace: p.Pace.Mid, Corner: corner})
		out[i] = max(p.SteadyNs(r), [2]float64{p.Floor.LowNs, p.Floor.HighNs}[i])
	}
	return out
}

// widened is a gain with what the rules do not explain of the step added to its range. Where a change alters the
// schedule, any part of the time that they do not explain may stay or go with it. Where it does not, only so much of
// the work's time may lie elsewhere than on the path that decides the step.
func (k *Pricer) widened(g Range, reschedules bool) Range {
	off := math.Abs(k.SelfError)
	d := off * math.Abs(g.Ns)
	if reschedules {
		d = off * k.free[best]
	}
	g.LowNs, g.HighNs = g.LowNs-d, g.HighNs+d
	if s := k.Program.Steps; s.Source != facts.StepsNone && len(s.Steady()) == 1 {
		g.LowNs, g.HighNs = g.LowNs-anotherStep*math.Abs(g.LowNs), g.HighNs+anotherStep*math.Abs(g.HighNs)
	}
	return g
}

// anotherStep is the share by which the bounds of a gain are wider that only one step is the witness of. Of 143 gains
// predicted from one step of a capture of several, the ranges held what all its steps predict 121 times (85 %); with
// their bounds a quarter further they held nine in ten.
const anotherStep = 0.25

// Alone is an edit in which kernels that run at once do not slow each other; nil: they do not in this one either.
func (e *Edit) Alone() *Edit {
	if e.contention == nil {
		return nil
	}
	p := e.clone()
	p.contention = nil
	if p.job != nil {
		return nil // the ranks' programs are run as one
	}
	return &Edit{Program: p}
}
