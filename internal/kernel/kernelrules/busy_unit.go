package kernelrules

import (
	"slices"

	"lacuna/internal/kernel"
)

var busyUnit = Rule{
	ID:       "busy_unit",
	Title:    "Busy unit: one unit sets the time, and nothing shows that its work is waste",
	Since:    "0.3",
	Residual: true,
	Needs:    []Need{needTime, needDRAM, needIssue},
	Doc: `
A unit is used to 60 % or more of its peak while SMs have work, it is not at the 80 % that good kernels reach, and no
other finding is about what happens inside the kernel. The finding names the unit, what takes its time, and how little
the kernel could take if that unit had nothing to do: what the next one needs. It does not predict a time, since counters
do not show whether less work would do.`,
	Limits: `
A well tuned kernel may be just there. It is reported only when nothing else is found inside the kernel; DRAM, of which
kernels reach less when they are short or write much, is left out.`,
	Fix: `
Give the busiest unit less to do. Integers: 32-bit indices, addresses advanced in the loop and not computed anew,
packing and unpacking by PRMT, LOP3 and DP4A. Loads and stores: 16 bytes per lane, values kept in registers. Issue: fewer
and wider instructions. Special functions: fewer, or polynomials on the FP32 pipe.`,
	RefutedBy: `The kernel without a part of that unit's work takes as long.`,
	Check:     checkBusyUnit,
}

// helps is how to give a unit less to do.
var helps = []struct {
	units []kernel.Resource
	fix   string
}{
	{[]kernel.Resource{kernel.ALU}, `Execute fewer integer and logic instructions: 32-bit indices instead of 64-bit ones,
addresses that are advanced in the loop instead of computed anew, divisions and remainders by constants or powers of two,
packing and unpacking with PRMT, LOP3 and DP4A instead of shifts and masks. Multiply-adds of integers (IMAD) run on the
FP32 pipe, which has room if it is less busy.`},
	{[]kernel.Resource{kernel.FMA, kernel.Heavy, kernel.FP16}, `Execute fewer arithmetic instructions: fused ones, values
computed once and kept, half2 instead of half, tensor cores for what is a product of matrices.`},
	{[]kernel.Resource{kernel.XU}, `Use fewer special functions and conversions: fast ones (__sinf, __expf), reciprocals that
are computed once, polynomials on the FP32 pipe, conversions outside the loop.`},
	{[]kernel.Resource{kernel.Issue}, `Execute fewer instructions: wider loads and stores (16 bytes per lane), unrolled loops
with addresses computed once, several results per thread.`},
	{[]kernel.Resource{kernel.L1, kernel.LSUIn, kernel.L1Req, kernel.L1Fill, kernel.Tex}, `Load and store less often: 16
bytes per lane and instruction (float4, half8), values that several results need kept in registers, several rows or
columns per thread, shuffles in the place of shared memory.

    uint4 v = reinterpret_cast<const uint4 *>(weights)[i];     // 8 halves at once`},
	{[]kernel.Resource{kernel.L2, kernel.L2Tag, kernel.L2In, kernel.L2Out}, `Ask L2 less often: whole lines of 128 bytes per
warp, tiles that stay in shared memory or registers between uses, blocks that share data near each other in the grid.`},
	{[]kernel.Resource{kernel.FP64}, `Do less in double precision: FP32 where it is precise enough, divisions replaced by
products with a reciprocal, sums in float pairs.`},
	{[]kernel.Resource{kernel.Tensor}, `Products of matrices set the time, as they should: a smaller type (FP8, INT8) or
structured sparsity does them in less.`},
}

// insideKernel says that a finding is about what happens inside the kernel, not about its launch.
func insideKernel(f Finding) bool {
	return !slices.Contains([]string{"tail_effect", "load_imbalance"}, f.Rule.ID)
}

func checkBusyUnit(c *Case, out *Findings) {
	if _, most := c.limiter(); !(most > 0) || !(c.us() >= shortUs) || slices.ContainsFunc(out.All, insideKernel) {
		return
	}
	busiest, share := resource{}, 0.0
	for _, x := range resources {
		if u := c.working(x); u > share {
			busiest, share = x, u
		}
	}
	at := slices.IndexFunc(helps, func(h struct {
		units []kernel.Resource
		fix   string
	}) bool {
		return slices.Contains(h.units, busiest.id)
	})
	if !(share >= limits && share < pipeFull) || at < 0 {
		return
	}
	f := out.Add(0.4, "Busy unit: %s, at %s of the peak", busiest.name, percent(share))
	if a := c.active(); busiest.sm && a < idleMatters {
		f.Title += " while SMs have work"
		f.Because("SMs have work for %s of the time", percent(a))
	}
	if len(out.Abstained) == 0 {
		f.Because("no counter shows that its work is waste: the kernel may be as good as it can be")
	} else {
		f.Because("whether all of its work is needed was not measured")
	}
	if next, us := c.without(busiest); us > 0 {
		f.Because("%s needs %s of %s by itself: less work for %s alone cannot save more than the rest", nameOf(next),
			usText(us), usText(c.us()), busiest.name)
	}
	f.Places = c.HotStalls("math_pipe_throttle", "mio_throttle", "lg_throttle", "not_selected")
	f.Fix = helps[at].fix
}

// without is the unit that the kernel would wait for if one had nothing to do, and how long.
func (c *Case) without(unit resource) (next kernel.Resource, us float64) {
	for _, x := range resources {
		if need := c.us() * c.working(x); x.id != unit.id && need > us {
			next, us = x.id, need
		}
	}
	return next, us
}
