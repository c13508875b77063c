package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var dependencyStalls = Rule{
	ID:    "dependency_stalls",
	Title: "Each instruction waits for the one before it",
	Since: "0.2",
	Needs: []Need{needTime, needStalls, needIssue, needDRAM, needL1},
	Doc: `
An arithmetic instruction takes 4 to 8 cycles until the next may use its result. One dependent chain in a warp, and too few warps to fill the gap, leave issue slots
empty. It is a finding when at least 30 % of the warps' time is such waiting (NVIDIA's line; the stall reason is called wait), nothing is near its limit (all below 60 %), and
instructions are issued in under 60 % of the cycles.

The time after the repair is what the pipes need when the gaps are filled; at worst only the waiting itself goes.`,
	Limits: `
Some waiting of this kind is in every kernel; short kernels of a few us show up to 28 %. More warps help as much as more independent chains: if occupancy is low and more would fit,
low_occupancy says so.`,
	Fix: `
Work on several independent values at once, so that a chain's gaps are filled by another's instructions:

    float a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    for (int i = 0; i < n; i += 4) { a0 += x[i]; a1 += x[i+1]; a2 += x[i+2]; a3 += x[i+3]; }
    float a = (a0 + a1) + (a2 + a3);

Or more warps an SM.`,
	RefutedBy: `Two elements a thread take twice as long.`,
	Check:     checkDependency,
}

const waitMatters = 0.3 // NVIDIA's line for a stall reason

func checkDependency(c *Case, out *Findings) {
	wait := c.stall("wait")
	if !c.latencyBound() || !(wait >= waitMatters) || !(c.use(kernel.Issue) < limits) {
		return
	}
	f := out.Add(0.8, "warps wait for the result of the instruction before for %s of their time", percent(wait))
	f.Because("an instruction is issued in %s of the slots, and nothing is used to 60 %%", percent(c.use(kernel.Issue)))
	if n := known(c.activeWarps()); n > 0 {
		f.Because("a scheduler has %s warps to choose from", digits(n))
	}
	f.Places = c.HotStalls("wait")
	r := asNow()
	r.high = math.Min(1, 1.1*(1-wait))
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
