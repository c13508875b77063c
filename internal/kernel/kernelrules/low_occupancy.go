package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var lowOccupancy = Rule{
	ID:    "low_occupancy",
	Title: "Low occupancy: too few warps fit to hide latency",
	Since: "0.2",
	Needs: []Need{needTime, needOccupancy, needWaves, needIssue, needDRAM, needL1},
	Doc: `
An SM hides latency by switching to another warp. Here the launch's registers, shared memory or block size let at
most half of the warps fit (theoretical occupancy 50 % or less), the grid would fill more (a wave or more), nothing
is near its limit (all below 60 %), and at least half of the warps' time is latency: memory, fixed latencies,
barriers, branches. Where at most a quarter of the warps fit and wait for memory for 60 % of their time, a unit may
be used to up to 75 %.

Without stall reasons confidence is under a half.

The time after the fix falls as occupancy rises to its next limit, down to what the busiest resource needs.`,
	Limits: `
Occupancy is a means, not an end: a kernel that is busy with few warps is not reported. Only the author knows
whether the limit can be lifted (an array in shared memory that is really used).`,
	Fix: `
Lift the limit named: less shared memory per block (a smaller tile or type; not the device's maximum where less is
used), fewer registers per thread, or a block size that divides the threads that an SM holds:

    kernel<<<grid, 128, bytes_used>>>(...);           // not the device's maximum
    __launch_bounds__(256, 4) __global__ void kernel  // four blocks per SM: at most 64 registers per thread

For the next occupancy level: lacuna kernel REPORT --what-if regs=64,smem=32k,block=256.`,
	RefutedBy: `
More blocks fit and the time stays: each warp's dependency chain is the limit, not the number of warps.`,
	Check: checkLowOccupancy,
}

const (
	halfOccupied    = 0.5  // above it twice the warps do not fit, and the gain is small
	quarterOccupied = 0.25 // from there a kernel that waits for memory has no way to a unit's peak
	stillWaits      = 0.45 // of the busiest resource's peak
	waitsMostly     = 0.5  // of the warps' time: else something other than latency is waited for
	withoutStalls   = 0.4  // confidence where it is not known what is waited for
)

func checkLowOccupancy(c *Case, out *Findings) {
	occ := c.theoretical()
	waits := c.stalls("long_scoreboard", "short_scoreboard", "wait", "barrier", "branch_resolving")
	if !(occ > 0 && occ <= halfOccupied) || !(c.waves() >= 1) || !c.latencyBound() && !c.starved(occ) ||
		!(waits >= waitsMostly) && c.Stalls() != nil {
		return
	}
	limit, words, next := c.occupancyLimit()
	grid := c.waves() * occ // the grid in units of all warps of the device
	next = math.Min(next, grid)
	if !(next > occ) {
		return
	}
	f := out.Add(0.85, "Low occupancy: %s limits it to %s, too little to hide latency", words, percent(occ))
	f.Because("an SM has room for %s of %s, by %s; without that limit occupancy is %s", several(limit, "block"),
		several(c.warpsPerBlock(), "warp"), words, percent(next))
	_, most := c.limiter()
	if c.Stalls() != nil {
		f.Because("warps wait for latency for %s of their time, and nothing is used to more than %s", percent(waits),
			percent(most))
	} else {
		f.Confidence = withoutStalls
		f.Because("nothing is used to more than %s, so that warps wait; for what was not measured", percent(most))
		out.abstain(needStalls)
	}
	f.Places = c.HotStalls("long_scoreboard")
	r := asNow()
	r.wait = occ / next
	r.low = r.wait
	// With all warps that fit a kernel may still wait: then nothing is used to more than stillWaits.
	r.high = math.Min(1, math.Max(r.wait, most/stillWaits))
	if c.Stalls() == nil { // what warps wait for may not become less with more of them
		r.high = 1
	}
	c.expect(f, r)
}

// starved says that few warps wait for memory nearly all of their time, although they keep a unit fairly busy.
func (c *Case) starved(occ float64) bool {
	_, most := c.limiter()
	return occ <= quarterOccupied && most < explains && c.use(kernel.Issue) < lowIssue &&
		c.stall("long_scoreboard") >= waitsForMemory
}

// occupancyLimit is the number of blocks that fit an SM by what limits it most, its name, and the
// occupancy that the next limit allows.
func (c *Case) occupancyLimit() (blocks float64, words string, next float64) {
	limits := []struct{ metric, words string }{
		{"launch__occupancy_limit_shared_mem", "shared memory"},
		{"launch__occupancy_limit_registers", "the number of registers"},
		{"launch__occupancy_limit_warps", "the number of warps"},
		{"launch__occupancy_limit_blocks", "the number of blocks"},
		{"launch__occupancy_limit_barriers", "the number of barriers"},
	}
	blocks, second := math.Inf(1), math.Inf(1)
	for _, l := range limits {
		v := c.number(l.metric)
		switch {
		case v < blocks:
			blocks, second, words = v, blocks, l.words
		case v < second:
			second = v
		}
	}
	most := c.number("device__attribute_max_warps_per_multiprocessor")
	return blocks, words, math.Min(1, second*c.warpsPerBlock()/most)
}
