package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var barrierStalls = Rule{
	ID:    "barrier_stalls",
	Title: "Barrier stalls: warps wait for each other at __syncthreads()",
	Since: "0.2",
	Needs: []Need{needTime, needStalls, needIssue, needDRAM, needL1},
	Doc: `
At __syncthreads() a warp waits until all warps of its block arrive. It is a finding when at least a quarter of the
warps' time is Barrier stall (NVIDIA warns from 30 %), few instructions are issued (under 60 %), and no resource
explains it: everything is used to less than 75 %. A transpose through shared memory at the DRAM roofline waits 26 %
at its barrier and is healthy.

The time after the fix assumes that all warps share the work between barriers, or that no barrier is needed:
shared-memory wavefronts go, and at best only the DRAM traffic remains; at worst only the time at barriers goes.
Where all lanes work and each loaded value takes more rounds than a tree up and down, as in a sort, the work of the
rounds remains.`,
	Limits: `
Slow lanes and conflicts make other warps wait at the barrier: then thread_divergence, shared_bank_conflicts or
uncoalesced_access is the cause and comes first. Where nothing is busy, a kernel written anew is never assumed to be
more than 16 times as fast.`,
	Fix: `
Let a warp own what it reduces, and use shuffles, which need no barrier:

    for (int row = warp; row < rows; row += warps) { ... __shfl_down_sync ... }

Smaller blocks wait for fewer warps; double buffering in shared memory saves every second barrier; __syncwarp() is
enough within a warp.`,
	RefutedBy: `
All warps reach the barrier at nearly the same time (few samples at it), or halving the block size changes nothing.`,
	Check: checkBarriers,
}

const (
	barrierMatters = 0.25 // of the warps' time: less cannot buy much
	allLanesWait   = 0.8  // of the waiting at barriers goes at worst, where exchange between warps of a block remains
	explains       = 0.75 // of a resource's peak: then it, not the barrier, sets the time
)

func checkBarriers(c *Case, out *Findings) {
	share := c.stall("barrier")
	_, most := c.limiter()
	if !(share >= barrierMatters) || !(c.use(kernel.Issue) < limits) || !(most < explains) {
		return
	}
	f := out.Add(0.8, "Barrier stalls: warps wait at barriers for %s of their time", percent(share))
	f.Because("instruction issue is at %s, and nothing is used to %s", percent(c.use(kernel.Issue)), percent(explains))
	f.Because("blocks have %s", several(c.warpsPerBlock(), "warp"))
	f.Places = c.HotStalls("barrier")
	r := c.restructured(1 - share)
	rounds := 2 * math.Log2(lanesPerWarp*c.warpsPerBlock())
	bar, shared := c.mix("BAR"), c.sharedShare()
	if c.lanes() >= lanesWasted && bar > rounds*c.mix("LDG") {
		// More rounds for each loaded value than a tree up and down has, and all lanes work in each, as in a sort:
		// what they do remains, and shuffles take a pass where a store and a load took two.
		r.scale[kernel.Issue] = math.Max(r.left(kernel.Issue), 1-bar-shared/2)
		if passes, _, _, ok := c.SharedWavefronts(); ok {
			r.scale[kernel.L1] = math.Max(r.left(kernel.L1), 1-passes/c.wavefronts()/2)
		}
		r.high = math.Max(r.high, 1-share*allLanesWait)
	}
	if !(c.sharedShare() > 0) || bar > rounds*c.mix("LDG") {
		f.Fix = fewerBarriers
	}
	c.expect(f, r)
}

// fewerBarriers is for barriers that are not those of a sum over shared memory.
const fewerBarriers = `Exchange within a warp by shuffles (__shfl_up_sync in a scan), which need no barrier, and only
between warps over shared memory. Do more between two barriers: several steps or elements per thread (float4 loads),
double buffering (saves every second barrier). Smaller blocks wait for fewer warps, and others run meanwhile. Where
each step needs the one before, as along the diagonals of a table, give a block a tile of its own and synchronise
between tiles only.`
