package kernelrules

import (
	"maps"
	"math"
	"slices"

	"lacuna/internal/kernel"
)

// The model: a kernel lasts as long as its busiest resource needs.
//
//	T_new = max over resources of T x u x s / cap
//
// u is the share of the resource's peak that the kernel used, s what the fix leaves of the demand on
// it, and cap the share of the peak that kernels reach. Only shares enter, so no constants of a chip are
// needed. Where waiting remains, the rule adds a floor in time.

// A resource is what kernels reach of it: at best, usually, and the poor ones. DRAM: streaming
// kernels on six chips reach 0.85 to 0.96; caches and pipes: what kernels that sit at them were seen to
// reach. See docs/accuracy-kernels.md for what came of it.
type resource struct {
	id                  kernel.Resource
	name                string
	best, centre, worst float64
	sm                  bool // part of an SM: idle while its SM is
}

var resources = [...]resource{
	{kernel.DRAM, "DRAM bandwidth", 0.93, 0.88, 0.62, false},
	{kernel.L2, "L2 bandwidth", 0.95, 0.85, 0.65, false},
	{kernel.L2Tag, "L2 tag lookups", 0.95, 0.85, 0.65, false},
	{kernel.L2Out, "data from L2 to the SMs", 0.95, 0.85, 0.65, false},
	{kernel.L2In, "requests and stored data to L2", 0.95, 0.85, 0.65, false},
	{kernel.L1, "L1 and shared memory", 0.97, 0.85, 0.65, true},
	{kernel.LSUIn, "load and store instructions", 0.97, 0.88, 0.65, true},
	{kernel.L1Req, "requests from L1 to L2", 0.95, 0.85, 0.65, true},
	{kernel.L1Fill, "data from L2 into L1", 0.95, 0.85, 0.65, true},
	{kernel.Tex, "the texture unit (TEX)", 0.95, 0.85, 0.65, true},
	{kernel.Issue, "instruction issue", 0.99, 0.88, 0.65, true},
	{kernel.FMA, "the FP32 pipe", 0.97, 0.80, 0.60, true},
	{kernel.Heavy, "the FP32 pipe's half for integers", 0.97, 0.80, 0.60, true},
	{kernel.ALU, "the integer pipe", 0.97, 0.85, 0.65, true},
	{kernel.FP16, "the FP16 pipe", 0.97, 0.80, 0.60, true},
	{kernel.FP64, "the FP64 pipe", 0.99, 0.88, 0.65, true},
	{kernel.XU, "the XU pipe", 0.99, 0.88, 0.65, true},
	{kernel.Tensor, "the tensor pipe", 0.90, 0.45, 0.22, true},
}

const (
	// writesMatter is the share of written bytes from which the bus of DRAM turns around often.
	writesMatter = 0.20
	// dramWithWrites is what such kernels usually reach beside a fixed time: on an H200, 12 kernels that write lasted
	// bytes over 0.93 to 0.95 of the peak and 10 to 28 us more, those that only read 3 to 8 us more.
	// The cause is not known; writeRampUs is the middle, never more than writeRampShare of the rest.
	dramWithWrites = 0.93
	writeRampUs    = 18
	writeRampShare = 0.3
	// idleMatters: below this share of active SM cycles, what an SM reaches while it works is told apart from the mean.
	idleMatters = 0.9
	// limits is the use from which a resource is what limits a kernel, and below which, for all of
	// them, waiting does: NVIDIA's own line. Nothing changes between 0.6 and 0.7.
	limits = 0.6
	// nearlyBusiest: counters of several passes disagree by up to 5 %.
	nearlyBusiest = 0.95
)

func (c *Case) use(r kernel.Resource) float64 { return known(c.Load(r)) }

// working is how busy a resource was while SMs had work.
func (c *Case) working(r resource) float64 {
	u := c.use(r.id)
	if active := c.active(); r.sm && active > 0 && active < idleMatters {
		return math.Min(1, u/active)
	}
	return u
}

// limiter is the resource that is busiest over the whole kernel, and how busy; unknown if too little was
// collected to say.
func (c *Case) limiter() (kernel.Resource, float64) {
	l, ok := c.Busiest()
	return l.Resource, known(l.Share, ok)
}

// latencyBound says that no resource is near its limit while SMs have work: warps wait.
func (c *Case) latencyBound() bool {
	if _, most := c.limiter(); math.IsNaN(most) || math.IsNaN(c.use(kernel.DRAM)+c.use(kernel.Issue)+c.use(kernel.L1)) {
		return false
	}
	if whole, ok := c.L1Whole(); ok && whole >= limits {
		return false // a part of L1 that is not shown is busy
	}
	return !slices.ContainsFunc(resources[:], func(r resource) bool { return c.working(r) >= limits })
}

// limitedBy says that one of the resources is busiest, or nearly, and near its limit.
func (c *Case) limitedBy(rs ...kernel.Resource) bool {
	_, most := c.limiter()
	return slices.ContainsFunc(rs, func(r kernel.Resource) bool {
		return c.use(r) >= limits &&
			c.use(r) >= nearlyBusiest*most
	})
}

// A fix is what a fix leaves of the demand on each resource, and how long waiting still takes.
type repair struct {
	scale map[kernel.Resource]float64 // absent: 1
	cap   map[kernel.Resource]float64 // centre of the share reached, where the fix decides it
	// wait is how long latency keeps the kernel busy, as a share of its time now: at best, probably, at worst.
	low, wait, high float64
	best            map[kernel.Resource]float64 // scale in the best case, where it may be less
	reasons         []string                    // stall reasons that it can take away; nil: it does not say (bound.go)
	spreads         bool                        // it brings work to SMs that have none
	// blocks says that the fixed kernel has other blocks, so that waves of now say nothing of it.
	blocks bool
}

// asNow is a fix that changes no demand: what a kernel that waits can reach.
func asNow() *repair {
	return &repair{scale: make(map[kernel.Resource]float64), cap: make(map[kernel.Resource]float64)}
}

// times multiplies the demand on resources. Where the factor is unknown nothing changes: without the
// counter the prediction stays careful.
func (r *repair) times(factor float64, rs ...kernel.Resource) *repair {
	if factor >= 0 && !math.IsInf(factor, 0) {
		for _, at := range rs {
			r.scale[at] = factor * r.left(at)
		}
	}
	return r
}

// leave is times for what can only become less: a factor over 1 changes nothing.
func (r *repair) leave(share float64, rs ...kernel.Resource) *repair {
	return r.times(math.Min(share, 1), rs...)
}

// left is what the fix leaves of the demand on a resource.
func (r *repair) left(at kernel.Resource) float64 {
	if s, ok := r.scale[at]; ok {
		return s
	}
	return 1
}

// and is both fixes at once: what each leaves, multiplied.
func (r *repair) and(o *repair) *repair {
	out := &repair{scale: maps.Clone(r.scale), cap: maps.Clone(r.cap), blocks: r.blocks || o.blocks,
		spreads: r.spreads || o.spreads}
	if r.reasons != nil && o.reasons != nil { // else one of them may take any away
		out.reasons = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.reasons, o.reasons))))
	}
	for _, x := range resources {
		out.times(o.left(x.id), x.id)
		if b := r.leastLeft(x.id) * o.leastLeft(x.id); b < out.left(x.id) {
			out.atBest(b, x.id)
		}
		if v, ok := o.cap[x.id]; ok {
			out.cap[x.id] = math.Max(v, out.cap[x.id])
		}
	}
	out.low, out.wait, out.high = eitherWait(r.low, o.low), eitherWait(r.wait, o.wait), eitherWait(r.high, o.high)
	return out
}

// eitherWait is how long latency still takes after both fixes: what the better one leaves, and what one leaves
// where the other does not speak of waiting.
func eitherWait(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return math.Min(a, b)
}

// A prediction is how long a kernel lasts after a fix, us.
type prediction struct {
	us, low, high float64
	next          string // what limits it then
}

// The range is wider than best to poor by what the start and the end of a kernel vary, and never
// by more than a tenth.
const (
	rangeDownUs = 1
	rangeUpUs   = 3
	rangeShare  = 0.1
	// capSpread is how far what a fix reaches may be off, where the fix decides it.
	capSpread = 1.25
)

// predict is the time after a fix.
func (c *Case) predict(r *repair) prediction {
	t := c.us()
	var p prediction
	groups := make(map[string]float64) // by level: the longest of each
	most := 0.0
	for _, x := range resources {
		use := c.use(x.id)
		if math.IsNaN(use) {
			continue
		}
		best, centre, worst := c.caps(x)
		if v, ok := r.cap[x.id]; ok {
			best, centre, worst = math.Min(best, v*capSpread), v, v/capSpread
		}
		now := c.demand(x, r)
		demand := now * r.left(x.id)
		probably := demand / centre
		if x.id.Level() != "compute" || !r.blocks {
			probably += c.rampUs(x.id, demand)
		}
		groups[x.id.Level()] = math.Max(groups[x.id.Level()], probably)
		if probably > most {
			most, p.next = probably, x.name
		}
		p.low = math.Max(p.low, now*r.leastLeft(x.id)/best)
		p.high = math.Max(p.high, demand/worst)
	}
	p.us = overlapped(groups) + startUs
	least := c.bound(r)
	if least > p.us {
		p.us, p.next = least, "latency"
	}
	p.low = math.Max(p.low, least)
	if w := t * r.wait; w > p.us {
		p.us, p.next = w, "latency"
	}
	p.us = math.Min(p.us, t)
	p.low = math.Min(math.Max(p.low, t*r.low), p.us)
	p.low -= math.Min(rangeDownUs, rangeShare*p.low)
	p.high = math.Max(math.Max(p.high, t*r.high), p.us)
	p.high = math.Min(p.high+math.Min(rangeUpUs, rangeShare*p.high), t)
	return p
}

// overlapped is how long work at several levels of the chip takes together: as long as the longest where it is far
// longer, and a little more where others are nearly as long, since loading and computing of short blocks do not
// overlap entirely.
func overlapped(groups map[string]float64) float64 {
	sum := 0.0
	for _, level := range []string{"dram", "l2", "l1", "compute"} {
		sum += math.Pow(groups[level], overlapPower)
	}
	return math.Pow(sum, 1/overlapPower)
}

const (
	// overlapPower: two levels of equal length take a fifth more than one.
	overlapPower = 4.0
	// startUs is the start and the end of a kernel: on an H200, kernels that only read lasted 3 to 8 us more than
	// their bytes.
	startUs = 3
)

// caps is what share of a resource's peak this kernel can reach. What an SM already reaches while it
// works, it can reach; of DRAM and L2 that is not known, since short kernels reach less of them.
func (c *Case) caps(r resource) (best, centre, worst float64) {
	best, centre, worst = r.best, r.centre, r.worst
	if r.sm {
		reached := math.Min(best, c.working(r))
		if reached > centre {
			centre = reached
		}
		if c.active() < idleMatters && reached > worst {
			worst = reached
		}
	}
	if r.id == kernel.DRAM && c.writes() {
		centre = dramWithWrites
	}
	return best, centre, worst
}

// writes says that enough of the bytes are written for the bus to turn around often.
func (c *Case) writes() bool {
	_, share := c.dramBytes()
	return share >= writesMatter
}

// rampUs is what a kernel lasts beside its work, at peak demand us: bytes that are written, and, where it
// computes, the change from block to block.
func (c *Case) rampUs(r kernel.Resource, demand float64) float64 {
	switch {
	case r == kernel.DRAM && c.writes():
		return math.Min(writeRampUs, writeRampShare*demand)
	case r.Level() == "compute" && demand > 0:
		return math.Min(c.waveFloor()*waveGap*c.us(), writeRampShare*demand)
	}
	return 0
}
