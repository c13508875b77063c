package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var atomicContention = Rule{
	ID:    "atomic_contention",
	Title: "Atomics to few addresses queue at one slice of L2",
	Since: "0.2",
	Needs: []Need{needTime, needAtomics, needDRAM},
	Doc: `
An atomic on global memory is done by the slice of L2 that owns its address, one sector a clock. With few addresses one slice works and the others wait: 262,144 atomics on one
address were measured to take 262,144 clocks. It is a finding when the atomic unit of the busiest slice is used at least four times as much as the mean one, and it is used to 60 %, or to a quarter and more than any
other part of the chip.

The time after the repair is what is next when each block adds up in shared memory first; an atomic there costs a few passes of L1, more where lanes of a warp collide.`,
	Limits: `
Reports before 2024.1 hold only the mean over slices: the rule is then silent, since many spread atomics look alike. Atomics that return a value (an allocator, a queue) cannot always be added up first.`,
	Fix: `
Add up in shared memory, or in the warp, and send one atomic a block:

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
	// passes of shared memory for an atomic of a warp: one where lanes differ, 32 where all collide; few bins give some.
	sharedAtomicBest, sharedAtomic, sharedAtomicWorst = 1, 6, 32
)

func checkAtomics(c *Case, out *Findings) {
	busiest, mean, ok := c.AtomicInput()
	if !ok || !(busiest > 0) || !(mean/busiest <= atomicUneven) {
		return
	}
	_, most := c.limiter()
	if !(busiest >= atomicBusy) && !(busiest >= atomicLeads && busiest > most) {
		return
	}
	f := out.Add(0.85, "atomics use one slice of L2 to %s, and the mean slice to %s", percent(busiest), percent(mean))
	n := c.atomics()
	if n > 0 {
		f.Because("%s atomic instructions of warps in %s", digits(n), usText(c.us()))
	}
	f.Because("the busiest resource other than that is at %s", percent(most))
	f.Places = c.HotOpcodes("RED", "ATOM", "ATOMG")
	r := asNow().leave(atomicsLeft, kernel.L2In, kernel.L1Req, kernel.L2Tag, kernel.L2)
	if clock := c.cycles() / c.us(); n > 0 && clock > 0 {
		pass := n / clock / c.us() // a pass for each atomic, as a share of the time of now
		r.low, r.wait, r.high = pass*sharedAtomicBest, pass*sharedAtomic, pass*sharedAtomicWorst
	}
	r.high = math.Max(r.high, 2*r.wait)
	// Below it what remains is launch, the first loads and one atomic a block.
	r.high = math.Min(1, math.Max(r.high, shortUs/c.us()))
	c.expect(f, r)
}

// atomics is executed atomic instructions on global memory, by warps.
func (c *Case) atomics() float64 {
	red := orZero(c.number("smsp__inst_executed_op_global_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "smsp__sass_inst_executed_op_global_red.sum"))
	atom := orZero(c.number("smsp__inst_executed_op_generic_atom_dot_alu.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum")) + orZero(c.number("smsp__inst_executed_op_generic_atom_dot_cas.sum"))
	return red + atom
}
