package kernelrules

import (
	"math"
	"strings"

	"lacuna/internal/kernel"
)

// Inside this package an unknown number is NaN: every comparison with it is false, so that a
// condition on what was not collected does not hold. Conditions are therefore written as what must be
// true (x >= limit), never as what must not be.
var unknown = math.NaN()

// known is a quantity of package kernel in that form.
func known(v float64, ok bool) float64 {
	if !ok {
		return unknown
	}
	return v
}

// number is the first of the named metrics that was collected, or unknown.
func (c *Case) number(names ...string) float64 { return known(c.Launch.Number(names...)) }

// us is how long the kernel ran under the profiler, or unknown.
func (c *Case) us() float64 {
	if t, ok := c.Microseconds(); ok && t > 0 {
		return t
	}
	return unknown
}

func (c *Case) sms() float64           { return known(c.SMs()) }
func (c *Case) grid() float64          { return known(c.GridBlocks()) }
func (c *Case) waves() float64         { return known(c.Waves()) }
func (c *Case) active() float64        { return known(c.ActiveShare()) }
func (c *Case) imbalance() float64     { return known(c.Imbalance()) }
func (c *Case) cycles() float64        { return known(c.Cycles()) }
func (c *Case) instructions() float64  { return known(c.Instructions()) }
func (c *Case) reachable() float64     { return known(c.AccessibleBytes()) }
func (c *Case) excessShare() float64   { return known(c.ExcessiveShare()) }
func (c *Case) usedBytes() float64     { return known(c.UsefulBytes()) }
func (c *Case) wavefronts() float64    { return known(c.Wavefronts()) }
func (c *Case) stall(r string) float64 { return known(c.Stall(r)) }

// lanes is threads of a warp that do work, of 32: predicated-off ones do none.
func (c *Case) lanes() float64 {
	if v, ok := c.Lanes(); ok {
		return v
	}
	return known(c.LanesBranched())
}

const lanesPerWarp = 32

// warpsPerBlock is a block's threads in whole warps.
func (c *Case) warpsPerBlock() float64 {
	return math.Ceil(known(c.BlockThreads()) / lanesPerWarp)
}

// theoretical and achieved are occupancies, 0 to 1.
func (c *Case) theoretical() float64 { return c.number("sm__maximum_warps_per_active_cycle_pct") / 100 }
func (c *Case) achieved() float64 {
	return c.number("sm__warps_active.avg.pct_of_peak_sustained_active") / 100
}

// stalls is the sum of several reasons' shares.
func (c *Case) stalls(reasons ...string) float64 {
	sum := 0.0
	for _, r := range reasons {
		sum += c.stall(r)
	}
	return sum
}

// mix is the share of executed instructions with one of these opcodes, modifiers aside.
func (c *Case) mix(ops ...string) float64 {
	return known(c.OpcodeShare(func(name string) bool {
		name, _, _ = strings.Cut(name, ".")
		for _, op := range ops {
			if name == op {
				return true
			}
		}
		return false
	}))
}

// modified is the share of executed instructions whose opcode with its modifiers is says yes to.
func (c *Case) modified(is func(name string) bool) float64 { return known(c.ModifiedShare(is)) }

// dramBytes is bytes to and from DRAM, writeShare the part of it that is written.
func (c *Case) dramBytes() (bytes, writeShare float64) {
	r, w, ok := c.DRAMBytes()
	if !ok || r+w <= 0 {
		return unknown, unknown
	}
	return r + w, w / (r + w)
}

const (
	sectorBytes = kernel.SectorBytes
	lineBytes   = kernel.LineBytes
)

// sectorsPerRequest is of global loads or stores: op is "ld" or "st"; unknown if there are none.
func (c *Case) sectorsPerRequest(op string) float64 {
	n := c.number("l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum")
	if n == 0 {
		return unknown
	}
	return c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_"+op+".sum") / n
}

// globalInstructions is executed loads and stores of global memory, by warps.
func (c *Case) globalInstructions() float64 {
	ld := c.number("smsp__sass_inst_executed_op_global_ld.sum", "sass__inst_executed_global_loads",
		"smsp__inst_executed_op_global_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")
	st := c.number("smsp__sass_inst_executed_op_global_st.sum", "sass__inst_executed_global_stores",
		"smsp__inst_executed_op_global_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")
	return ld + st
}

// orZero is v, or 0 where it is unknown: only for amounts that a version that lacks the metric cannot have.
func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// sharedShare is accesses to shared memory as a share of executed instructions.
func (c *Case) sharedShare() float64 {
	return orZero(c.number("smsp__sass_inst_executed_op_shared.sum",
		"smsp__inst_executed_op_shared.sum")) / c.instructions()
}
