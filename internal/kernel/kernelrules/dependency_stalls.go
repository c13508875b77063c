package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var dependencyStalls = Rule{
	ID:    "dependency_stalls",
	Title: "Wait stalls: each instruction waits for the one before it",
	Since: "0.2",
	Needs: []Need{needTime, needStalls, needIssue, needDRAM, needL1},
	Doc: `
The next instruction can use an arithmetic result after 4 to 8 cycles. With one dependency chain per warp, and too
few warps to fill the gaps, issue slots stay empty. It is a finding when at least 30 % of the warps' time is the
stall reason Wait (fixed latency; NVIDIA's threshold), nothing is near its limit (all below 60 %), and instructions
are issued in under 60 % of the cycles.

The time after the fix is what the pipes need with the gaps filled; at worst only the waiting itself goes.`,
	Limits: `
Every kernel has some Wait stalls; kernels of a few µs show up to 28 %. More warps help as much as more independent
chains: if occupancy is low and more would fit, low_occupancy says so. More
than 8 instructions in the place of one are never assumed.`,
	Fix: `
Work on several independent values at once (instruction-level parallelism), so that one chain fills the gaps of
another:

    float a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    for (int i = 0; i < n; i += 4) { a0 += x[i]; a1 += x[i+1]; a2 += x[i+2]; a3 += x[i+3]; }
    float a = (a0 + a1) + (a2 + a3);

Or more warps per SM.`,
	RefutedBy: `Two elements per thread take twice as long.`,
	Check:     checkDependency,
}

const (
	waitMatters = 0.3 // NVIDIA's line for a stall reason
	// fullChains is what remains at least: a result of 4 to 8 cycles leaves room for that many instructions
	fullChains = 1.0 / 8
)

func checkDependency(c *Case, out *Findings) {
	wait := c.stall("wait")
	if !c.latencyBound() || !(wait >= waitMatters) || !(c.use(kernel.Issue) < limits) {
		return
	}
	f := out.Add(0.8, "Wait stalls: warps wait for the instruction before for %s of their time", percent(wait))
	f.Because("an instruction is issued in %s of the slots, and nothing is used to 60 %%", percent(c.use(kernel.Issue)))
	if n := known(c.activeWarps()); n > 0 {
		f.Because("a scheduler has %s warps to choose from", digits(n))
	}
	f.Places = c.HotStalls("wait")
	r := asNow()
	// several values a round also need fewer rounds of the loop
	r.removes("wait", "branch_resolving", "no_instruction")
	r.low, r.wait, r.high = atMost, fullChains, math.Min(1, math.Max(1.1*(1-wait), 2*fullChains))
	c.expect(f, r)
}

// activeWarps is how many warps a scheduler has on average.
func (c *Case) activeWarps() (float64, bool) {
	s := c.Slots()
	if s == nil || s.Active < 0 {
		return 0, false
	}
	return s.Active, true
}
