package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var threadDivergence = Rule{
	ID:    "thread_divergence",
	Title: "Warp divergence: lanes of a warp take different branches",
	Since: "0.2",
	Needs: []Need{needTime, needLanes, needIssue, needDRAM},
	Doc: `
A warp executes both sides of a branch, each with the lanes that take it. It is a finding when fewer than 24 of 32
lanes are active in the mean instruction (NVIDIA's threshold; a quarter is idle). Predicated-off lanes count as
idle: compilers often replace a short branch by a predicate.

If instruction issue limits the kernel (60 % or more), the time falls with the instructions that full warps save.
Otherwise the kernel waits as well, as a tree reduction does at its barriers, and the fix is another structure:
shared-memory wavefronts go, and at best only the DRAM traffic remains.`,
	Limits: `
Idle lanes at the edge of an array, or in the last warp of a block, cost nothing and are rarely a quarter. Where
trip counts differ between lanes the cause is uneven work, and load_imbalance comes first.`,
	Fix: `
Sort or bin the work so that the lanes of a warp take the same branch, or let the condition depend on the warp:

    if ((threadIdx.x / 32) % 2 == 0) ...            // not threadIdx.x % 2: whole warps take one side

In a reduction keep neighbouring lanes active and use warp shuffles:

    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);`,
	RefutedBy: `Work sorted by kind, with the same number of elements of each, takes as long.`,
	Check:     checkDivergence,
}

func checkDivergence(c *Case, out *Findings) {
	lanes := c.lanes()
	if !(lanes < lanesWasted) {
		return
	}
	full := lanes / lanesPerWarp
	f := out.Add(0.85, "Warp divergence: %s of 32 lanes are active on average", digits(lanes))
	if plain := known(c.LanesBranched()); plain-lanes > 2 {
		f.Because("%s lanes are in the branch, and only %s are not predicated off", digits(plain), digits(lanes))
	}
	f.Because("instruction issue is at %s of its peak; with full warps the same work takes %s of the instructions",
		percent(c.use(kernel.Issue)), percent(full))
	f.Places = c.HotDivergence()
	if c.use(kernel.Issue) >= limits {
		c.expect(f, asNow().leave(full, kernel.Issue, kernel.FMA, kernel.Heavy, kernel.ALU, kernel.XU, kernel.FP64,
			kernel.FP16, kernel.LSUIn))
		return
	}
	f.Confidence = 0.75
	c.expect(f, c.restructured(full))
}

// streamingInstructions is what kernels that load, combine and store execute for each access to global memory: 10 to
// 14 in those of the corpus.
const streamingInstructions = 12

// restructured is a kernel written anew around what it reads and writes: shared memory is no longer in the way, full
// warps do the arithmetic. At best DRAM and L2 alone remain, at worst what full lanes gain of the time of now.
func (c *Case) restructured(worst float64) *repair {
	r := asNow()
	r.blocks = true
	lanes := math.Min(1, c.lanes()/lanesPerWarp)
	r.leave(math.Min(lanes, streamingInstructions*c.globalInstructions()/c.instructions()), kernel.Issue, kernel.ALU,
		kernel.FMA, kernel.Heavy)
	shared := orZero(c.number("smsp__sass_inst_executed_op_shared.sum", "smsp__inst_executed_op_shared.sum"))
	if global := c.globalInstructions(); global > 0 {
		r.leave(global/(global+shared), kernel.LSUIn)
	}
	if passes, _, _, ok := c.SharedWavefronts(); ok {
		r.leave(math.Max(0, 1-passes/c.wavefronts()), kernel.L1)
	}
	r.only = []kernel.Resource{kernel.DRAM, kernel.L2, kernel.L2Out}
	r.high = worst
	return r
}
