package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

// This file is what no fix can beat. Every prediction goes through it (see predict), so that a rule cannot promise more
// than the counters allow:
//
//   - A fix that takes a stall reason away takes at most that reason's share of the warps' time. With as many warps as
//     now, a kernel lasts as long as its warps' instructions and what they wait between them, so what remains is the
//     share of the other reasons, in proportion to the instructions that remain.
//   - No resource works beyond its peak: DRAM, caches, issue and pipes take the time of the demand that is left.
//   - Where some SMs are idle and the fix does not bring them work, the busy ones set the time.

// memoryReasons are what warps wait for where memory, or a queue in front of it, is slow, and for warps that do.
var memoryReasons = []string{"long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "tex_throttle",
	"drain", "membar", "barrier"}

// removes names the stall reasons that a fix can take away. Not Selected is always among them: a warp that is ready
// while another issues waits for nothing else.
func (r *repair) removes(reasons ...string) *repair {
	r.reasons = append(r.reasons, reasons...)
	return r
}

// atBest is the demand on resources that remains at best, where a fix may save more than it surely does.
func (r *repair) atBest(factor float64, rs ...kernel.Resource) *repair {
	if !(factor >= 0) {
		return r
	}
	if r.best == nil {
		r.best = make(map[kernel.Resource]float64)
	}
	for _, at := range rs {
		r.best[at] = math.Min(factor, r.leastLeft(at))
	}
	return r
}

// leastLeft is what a fix leaves at best of the demand on a resource.
func (r *repair) leastLeft(at kernel.Resource) float64 {
	if v, ok := r.best[at]; ok {
		return math.Min(v, r.left(at))
	}
	return r.left(at)
}

// waitsStill is the share of its time that a kernel needs at least after a fix, by what its warps wait for: what is
// left of other reasons, as often as instructions are left. 0: not known, or the fix does not say what it takes away.
func (c *Case) waitsStill(r *repair) float64 {
	if r.reasons == nil || c.Stalls() == nil {
		return 0
	}
	gone := c.stall("not_selected") + c.stalls(r.reasons...)
	return r.leastLeft(kernel.Issue) * math.Max(0, 1-gone)
}

// demand is the time that a resource needs for its work of now, at its peak.
func (c *Case) demand(x resource, r *repair) float64 {
	if r.spreads {
		return c.us() * c.use(x.id)
	}
	return c.us() * c.working(x)
}

// bound is the least time that the kernel can need after a fix.
func (c *Case) bound(r *repair) float64 {
	least := c.us() * c.waitsStill(r)
	for _, x := range resources {
		if d := c.demand(x, r) * r.leastLeft(x.id); d > least { // an unknown demand is none
			least = d
		}
	}
	return math.Min(least, c.us())
}
