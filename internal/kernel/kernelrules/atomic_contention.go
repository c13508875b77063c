package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/cubin"
)

var atomicContention = Rule{
	ID:    "atomic_contention",
	Title: "Atomic contention: atomics to few addresses queue at one L2 slice",
	Since: "0.2",
	Needs: []Need{needTime, needAtomics, needDRAM},
	Doc: `
The L2 slice that owns an address executes its global atomics, one sector per clock. With few addresses one slice
works and the others wait: 262,144 atomics on one address were measured to take 262,144 clocks. It is a finding when
the atomic unit of the busiest slice is used at least four times as much as the mean one, and its use is 60 %, or 25
% and more than any other part of the chip.

It is also a finding when lanes of one warp add to the same address, wherever it is: L1 then sends one sector per
lane, where the addresses alone need few. The threshold is four lanes per address, in a kernel that nothing else
keeps busy and whose warps wait for memory for 60 % of their time. The time then falls with the sectors.

Otherwise the time after the fix is that of the next bottleneck when each block adds up in shared memory first; an
atomic there costs a few L1 wavefronts, more where lanes of a warp collide.`,
	Limits: `
Reports before 2024.1 hold only the mean over slices: the rule is then silent, since many spread atomics look the
same. Colliding lanes are seen only with the machine code, which a CSV does not hold. Atomics that return a value
(an allocator, a queue) cannot always be combined first.`,
	Fix: `
Add up in shared memory, or in the warp, and send one atomic per block:

    __shared__ int h[16];
    atomicAdd(&h[bin], 1);                                   // shared: many banks, no network
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&global[threadIdx.x], h[threadIdx.x]);

    int n = __reduce_add_sync(~0u, mine);                    // one address: reduce first
    if (lane == 0) atomicAdd(total, n);`,
	RefutedBy: `Atomics spread over a thousand addresses take as long.`,
	Check:     checkAtomics,
}

const (
	atomicBusy   = 0.6  // of the busiest slice's atomic unit
	atomicLeads  = 0.25 // enough if nothing else on the chip is as busy
	atomicUneven = 0.25 // mean over busiest slice: spread atomics are near 1
	atomicsLeft  = 0.1  // of the requests to L2: one a block, and what the kernel loads
	// passes of shared memory for an atomic of a warp: one where lanes differ, 32 where all collide; few bins give
	// some.
	sharedAtomicBest, sharedAtomic, sharedAtomicWorst = 1, 6, 32
)

func checkAtomics(c *Case, out *Findings) {
	busiest, mean, ok := c.AtomicInput()
	_, most := c.limiter()
	if !ok || !(busiest > 0) || !(mean/busiest <= atomicUneven) ||
		!(busiest >= atomicBusy) && !(busiest >= atomicLeads && busiest > most) {
		c.collide(out)
		return
	}
	f := out.Add(0.85, "Atomic contention: the busiest L2 slice is used to %s, the mean slice to %s", percent(busiest),
		percent(mean))
	n := c.atomics()
	if n > 0 {
		f.Because("%s atomic instructions of warps in %s", digits(n), usText(c.us()))
	}
	f.Because("the busiest resource other than that is at %s", percent(most))
	f.Places = c.HotWhere(isAtomic)
	r := asNow().removes(memoryReasons...).leave(atomicsLeft, kernel.L2In, kernel.L1Req, kernel.L2Tag, kernel.L2)
	if clock := c.cycles() / c.us(); n > 0 && clock > 0 {
		pass := n / clock / c.us() // a pass for each atomic, as a share of the time of now
		r.low, r.wait, r.high = pass*sharedAtomicBest, pass*sharedAtomic, pass*sharedAtomicWorst
	}
	r.high = math.Max(r.high, 2*r.wait)
	// Below it what remains is launch, the first loads and one atomic a block.
	r.high = math.Min(1, math.Max(r.high, shortUs/c.us()))
	c.expect(f, r)
}

// Lanes of a warp that add to one address are done one after the other, wherever the address lies.
const (
	collisions = 4 // lanes to an address, from which it matters
	// warps add as many times as the reports says for the worst case: runs of equal addresses end inside a warp
	collisionsOften = 2
	atomicsNear     = 0.1 // of the global accesses: else they are not what the kernel is about
)

func isAtomic(i kernel.Instruction) bool { return i.Kind == cubin.Atomic }

// collide finds atomics of lanes of a warp to one address: L1 sends each lane's, where the addresses alone would need
// few sectors.
func (c *Case) collide(out *Findings) {
	sent, needed := c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"), c.atomicSectors()
	if !(sent >= collisions*needed) || !c.latencyBound() || !(c.atomics() >= atomicsNear*c.globalInstructions()) ||
		!(c.stalls("long_scoreboard", "lg_throttle", "drain") >= waitsForMemory) {
		return
	}
	f := out.Add(0.85, "Atomic contention: %s lanes of a warp add to each address, one after the other",
		digits(sent/needed))
	f.Because("%s atomic instructions of warps send %s sectors where %s would hold their addresses",
		digits(c.atomics()), digits(sent), digits(needed))
	f.Because("warps wait for memory for %s of their time, and no resource is busy",
		percent(c.stalls("long_scoreboard", "lg_throttle", "drain")))
	f.Places = c.HotWhere(isAtomic)
	f.Fix = `Add up in the warp first, for lanes with the same key:

    for (int d = 1; d < 32; d *= 2) {                        // sorted keys: sums of runs
        float o = __shfl_down_sync(~0u, v, d);
        if (lane + d < 32 && __shfl_down_sync(~0u, key, d) == key) v += o;
    }
    if (lane == 0 || previous_key != key) atomicAdd(&out[key], v);`
	left := needed / sent
	r := asNow().removes(memoryReasons...).leave(left, kernel.L2In, kernel.L1Req, kernel.L2Tag)
	r.low, r.wait, r.high = left, left, collisionsOften*left
	c.expect(f, r)
}

// atomicSectors is the sectors that the addresses of atomics alone would need; unknown without the code.
func (c *Case) atomicSectors() (sectors float64) {
	k := c.Code()
	if k == nil {
		return unknown
	}
	asked := k.Counts("memory_l2_theoretical_sectors_global")
	for i, n := range asked {
		if isAtomic(k.Instructions[i]) {
			sectors += n
		}
	}
	if !(sectors > 0) {
		return unknown
	}
	return sectors
}

// atomics is executed atomic instructions on global memory, by warps.
func (c *Case) atomics() float64 {
	red := orZero(c.number("smsp__inst_executed_op_global_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
		"smsp__sass_inst_executed_op_global_red.sum"))
	atom := orZero(c.number("smsp__inst_executed_op_generic_atom_dot_alu.sum",
		"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum")) +
		orZero(c.number("smsp__inst_executed_op_generic_atom_dot_cas.sum"))
	return red + atom
}
