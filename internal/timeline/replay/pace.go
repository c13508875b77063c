package replay

import (
	"math"
	"slices"
)

// A Pace is how fast the host was while the capture was made, by the time that its launches take: the one call that
// every program makes often, that waits for nothing, and that takes about the same on today's hosts. One and the same
// host took from 3.0 to 4.8 µs for the fastest tenth, and from 3.4 to 6.9 µs in the median, in captures of one
// afternoon; ten other hosts of 2022 and later from 2.8 to 3.8 µs for the fastest tenth (PyTorch's, TraceLens's and
// Pipit's public traces): the time says more of the moment than of the machine.
type Pace struct {
	// Cost is how much more than usual what the profiler adds is thought to take here: between nothing more, and as
	// much more as launches take in the median. CostSpread, at least 1, is the factor from it to either.
	Cost, CostSpread float64
	// Mid is what the unprofiled program's host work is multiplied with, beside the host of the capture, at the best
	// estimate; Fast, at most 1, where everything is taken well: as if the host were as fast as usual.
	Mid, Fast float64
}

// What launches take under a profiler, in ns: the median over the captures of the corpus that make at least
// minLaunches.
const (
	usualLaunchNs = 3_900 // in the median
	usualFastNs   = 3_250 // the fastest tenth
	usualUnrest   = usualLaunchNs / float64(usualFastNs)
)

const (
	// minLaunches is from how many launches on their time says something.
	minLaunches = 30
	// maxPace bounds what is put down to the moment: nine in ten captures of one host were within that of its usual.
	// A host that takes longer is a slow one, and stays so.
	maxPace = 1.3
	// ownPace is the share of a host's slowness, as an exponent, that is put down to the moment; the capture does not
	// say whether it lasts. With it the unprofiled step of host-bound loops is as often too long (one host, +5 %) as
	// too short (a slower host, -4 %).
	ownPace = 0.25
	// costPace is the share of that slowness, as an exponent, with which the profiler's own work goes. Of 25 loops on
	// a host whose launches took 1.3 to 2.1 times the usual (2026-11-23) five were host-bound; there torch.profiler
	// had cost 1.0, 1.0, 1.1, 1.5 and 2.7 times what it usually does. With 1 the unprofiled step was off by 5.5 % in
	// the mean (22 of 25 in range), with 0.5 by 4.5 % (24); of the corpus by 5.6 and 5.2 %.
	costPace = 0.5
	// pacedNs is up to how long host time between two calls goes at the pace of launches: an interpreter and a
	// framework take a few to some hundred µs from one to the next. Longer work is of another kind: reading files,
	// arithmetic.
	pacedNs = 1_000_000
)

// measurePace times the launches of kernels that wait for nothing.
func (p *Program) measurePace() {
	p.Pace = Pace{1, 1, 1, 1}
	d := p.launchTimes(func(int32) bool { return true })
	if len(d) < minLaunches {
		return
	}
	slices.Sort(d)
	fast, usual := float64(max(1, d[len(d)/10])), float64(max(1, d[len(d)/2]))
	unrest := max(1, usual/fast/usualUnrest) // the median is further from the fastest than in an undisturbed loop
	slow := bound(fast / usualFastNs)
	p.Pace.Cost = math.Pow(usual/usualLaunchNs, costPace)
	p.Pace.CostSpread = max(p.Pace.Cost, 1/p.Pace.Cost)
	p.Pace.Mid = 1 / (bound(unrest) * math.Pow(slow, ownPace))
	p.Pace.Fast = min(1, p.Pace.Mid, 1/(bound(unrest)*slow))
}

// bound keeps a pace within what was seen of one host.
func bound(pace float64) float64 { return min(maxPace, max(1/maxPace, pace)) }
