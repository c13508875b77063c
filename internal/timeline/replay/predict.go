package replay

import (
	"math"
	"sync"
)

// A Range is a value with the bounds that it is believed to lie in.
type Range struct{ Ns, LowNs, HighNs float64 }

// A Pricer runs a program with changes against the same program without. All prices are of a mean step, in ns.
type Pricer struct {
	Program    *Program
	MeasuredNs float64 // the mean step as recorded
	ReplayedNs float64 // the unmodified program's, by the rules alone
	SelfError  float64 // ReplayedNs / MeasuredNs - 1: what the rules do not explain
	Known      bool    // whether the profiler's overhead is modelled; else the unprofiled program is the profiled one

	residuals *Residuals
	recorded  float64           // the unmodified program with residuals
	free      [corners]float64  // the same without the profiler, by corner
	own       func() [2]float64 // the same at the bounds of what a change would make uncertain
	pending   sync.Once
	hostBound float64 // share of the recorded step that follows its host; for which pending is
}

// A Price is what changes make of a step.
type Price struct {
	Profiled   Range // the step under the profiler
	Unprofiled Range // the step without it
	// Gain is how much shorter the unprofiled step becomes. Each bound compares both programs under the same
	// assumptions, so that what is uncertain of both cancels; what the rules do not explain of the step is added.
	Gain Range
}

// Corners are the sets of assumptions under which a program is run: the best estimate, everything
// taken well, everything taken badly.
const (
	best = iota
	well
	badly
	corners
)

// How far the assumptions of a replay may be off between two runs of one program. Host work: the 5th and 95th
// percentile of 152 unprofiled runs of host-bound programs over their medians, 0.91 and 1.18, on four machines of one
// kind (bench/gpu/results/truth-h200.json; 185 runs of device-bound ones had 0.98 and 1.05). Copies of pageable
// memory, which the host's memory decides: 16.7 to 18.9 ms for one loop.
const (
	hostLow, hostHigh = 0.91, 1.18
	workLow, workHigh = 0.95, 1.07
	// A device heats up and meets its power limit only in a longer run: 108 captures of device-bound programs, most
	// of them shorter than 100 ms, had steps of 0.97 to 1.11 times the estimate in long runs (2.5th and 97.5th
	// percentile).
	workHighShort, shortNs = 1.12, 200_000_000

	// Two captures of one program with one tool, in which the host is the limit, on two hosts of one kind: 14 pairs
	// differ by factors of 1.03 to
	// 1.32, 1.17 in the median.
	toolHostLow, toolHostHigh = 0.80, 1.30

	hostCopyLow, hostCopyHigh = 0.85, 1.15
)

// To how much of its own bounds each of the host's uncertain sides is taken at a corner of the program without its
// profiler. What the profiler costs, how one run's host differs from another's and how much of a capture's slowness
// was of the moment are three things, rarely all off to one side. Over 94 host-bound captures of 23 programs on three
// hosts, all at their own bounds held all truths but one; for 19 in 20 on each side it takes 0.95 below (leaving one
// program out: 0.80 to 0.95) and 0.43 above (0.42 to 0.43): what disturbs a capture makes it slower, so that the
// truth lies below more often than above.
const (
	wellTogether  = 0.90
	badlyTogether = 0.60
)

// part takes a factor a share of the way from 1 on.
func part(factor, share float64) float64 { return math.Pow(factor, share) }

// changedShare is how sure the step of a program that nobody has run can be at best. Predictions on the
// corpus are off by 5 % in the mean (docs/accuracy.md); a floor of 8 % is what it took there for nine in ten
// to hold, so it has been seen on those captures.
const changedShare = 0.08

// NewPricer prepares the pricing of changes to p.
func NewPricer(p *Program) *Pricer {
	k := &Pricer{Program: p, Known: p.Overhead.Priced(), residuals: p.Residuals()}
	k.MeasuredNs = float64(p.window.LenNs()) / float64(max(1, len(p.Steps.Steady())))
	k.ReplayedNs = p.StepNs(p.Simulate(Options{}))
	if k.MeasuredNs > 0 {
		k.SelfError = k.ReplayedNs/k.MeasuredNs - 1
	}
	k.recorded = p.StepNs(p.Simulate(Options{Residuals: k.residuals}))
	k.free = k.unprofiled(p)
	k.own = sync.OnceValue(func() [2]float64 { return k.atOwnBounds(p) })
	return k
}

// unprofiled simulates a program without the profiler at every corner.
func (k *Pricer) unprofiled(p *Program) [corners]float64 {
	spread, mid, cost := p.Overhead.Spread, p.Pace.Mid, p.Pace.CostSpread
	return k.run(p, [corners]Options{
		best: {Deflate: 1, Pace: mid},
		well: {Deflate: (1 + spread*wellTogether) * part(cost, wellTogether),
			Host: part(hostLow, wellTogether), Work: workLow,
			Pace: mid * part(p.Pace.Fast/mid, wellTogether), Corner: -1},
		badly: {Deflate: (1 - spread*badlyTogether) / part(cost, badlyTogether),
			Host: part(hostHigh, badlyTogether), Work: slowestWork(p),
			Pace: mid * part(max(1, mid)/mid, badlyTogether), Corner: 1},
	})
}

// profiled simulates a program as the same tool would record it. How fast the host was this time is known as far as
// the recorded step followed it; where a change makes it the limit, it is not.
func (k *Pricer) profiled(p *Program) [corners]float64 {
	k.pending.Do(func() {
		slower := k.Program.StepNs(k.Program.Simulate(Options{Residuals: k.residuals, Host: hostHigh}))
		k.hostBound = min(1, max(0, (slower/max(1, k.recorded)-1)/(hostHigh-1)))
	})
	host := func(seen, unseen float64) float64 { return part(seen, k.hostBound) * part(unseen, 1-k.hostBound) }
	return k.run(p, [corners]Options{
		best:  {},
		well:  {Host: host(hostLow, toolHostLow), Work: workLow, Pace: p.Pace.Fast, Corner: -1},
		badly: {Host: host(hostHigh, toolHostHigh), Work: slowestWork(p), Corner: 1},
	})
}

// slowestWork is the factor on the device's work where everything is taken badly.
func slowestWork(p *Program) float64 {
	if p.window.LenNs() < shortNs {
		return workHighShort
	}
	return workHigh
}

// run simulates a program at every corner.
func (k *Pricer) run(p *Program, at [corners]Options) [corners]float64 {
	var out [corners]float64
	var all sync.WaitGroup
	for c, o := range at {
		o.Residuals = k.residuals
		floor := [corners]float64{best: p.Floor.Ns, well: p.Floor.LowNs, badly: p.Floor.HighNs}[c]
		all.Go(func() {
			r := p.Simulate(o)
			step := p.StepNs(r)
			// a long run without the profiler; the capture's own few steps hold the filling of the queue
			if o.Deflate > 0 {
				step = p.SteadyNs(r)
			}
			out[c] = max(step, floor)
		})
	}
	all.Wait()
	return out
}

// Now is the unmodified step without the profiler.
func (k *Pricer) Now() Range {
	now := k.rangeOf(k.free, k.Program.Overhead.MinShare)
	if k.Program.OneOfRanks() {
		now.HighNs = max(now.HighNs, k.MeasuredNs) // a faster host may only wait longer for the other ranks
	}
	return now
}

// Price runs the program with changes, with the profiler and without it.
func (k *Pricer) Price(e *Edit) Price {
	price := k.Unprofiled(e)
	price.Profiled = k.rangeOf(k.profiled(e.Program), changedShare)
	return price
}

// Unprofiled is Price without what the profiler would show: half the work.
func (k *Pricer) Unprofiled(e *Edit) Price {
	free := k.unprofiled(e.Program)
	return Price{Unprofiled: k.rangeOf(free, changedShare), Gain: k.gain(k.Program, k.free, k.own, e, free)}
}

// GainOver is how much shorter the unprofiled step of one edit is than that of another.
func (k *Pricer) GainOver(than, e *Edit) Range {
	own := func() [2]float64 { return k.atOwnBounds(than.Program) }
	return k.gain(than.Program, k.unprofiled(than.Program), own, e, k.unprofiled(e.Program))
}

// rangeOf is the range that the corners span; it is never narrower than what the rules leave
// unexplained, nor than share to each side.
func (k *Pricer) rangeOf(v [corners]float64, share float64) Range {
	share = min(1, max(share, k.SelfError, -k.SelfError)) // no step is shorter than none
	return Range{v[best], min(v[best]*(1-share), v[well], v[badly]), max(v[best]*(1+share), v[well], v[badly])}
}

// Run is the unmodified program, or one with changes, as it runs without the profiler at the best estimate.
func (k *Pricer) Run(p *Program) *Run {
	return p.Simulate(Options{Residuals: k.residuals, Deflate: 1, Pace: p.Pace.Mid})
}
