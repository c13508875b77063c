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
A unit is used to 60 % or more of its peak while SMs have work, it is not at the 80 % that good kernels reach (of L1 and
L2 no kernel needs that much: data can be kept nearer), and no other finding is about what happens inside the kernel. The finding names the unit, what takes its time, and how little
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
	{[]kernel.Resource{kernel.L1, kernel.LSUIn, kernel.L1Req, kernel.L1Fill, kernel.Tex}, `Load and store less often:
values that several results need kept in registers (several rows or columns per thread) or in a tile of shared memory, 16
bytes per lane and instruction (float4, half8), shuffles in the place of shared memory. A product of matrices or a
convolution is also in a library (cuBLAS, cuDNN, CUTLASS).

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
	level := busiest.id.Level()
	if !(share >= limits) || share >= pipeFull && level != "l1" && level != "l2" || at < 0 {
		return
	}
	f := out.Add(0.4, "Busy unit: %s, at %s of the peak", busiest.name, percent(share))
	if a := c.active(); busiest.sm && a < idleMatters {
		f.Title += " while SMs have work"
		f.Because("SMs have work for %s of the time", percent(a))
	}
	switch {
	case len(out.Abstained) > 0:
		f.Because("whether all of its work is needed was not measured")
	case level == "l1" || level == "l2":
		f.Because("no counter shows that its work is waste, but values that are kept nearer take none of it")
	default:
		f.Because("no counter shows that its work is waste: the kernel may be as good as it can be")
	}
	if next, us := c.without(busiest); us > 0 {
		f.Because("for %s alone %s of %s would do: less work for %s cannot save more than the rest", nameOf(next), usText(us),
			usText(c.us()), busiest.name)
	}
	f.Places = c.HotStalls("math_pipe_throttle", "mio_throttle", "lg_throttle", "not_selected")
	f.Fix = helps[at].fix
	if work := c.arithmetic(); busiest.id == kernel.Issue && work >= mostlyArithmetic {
		f.Because("%s of its instructions are arithmetic: the rest is little to save", percent(work))
		f.Fix = arithmeticFix
	}
}

const (
	// mostlyArithmetic is the share of a kernel's instructions from which others are not what fills its issue slots:
	// without all of them it would last three quarters of its time at least.
	mostlyArithmetic = 0.75
	arithmeticFix    = `Most instructions are the arithmetic itself: only fewer operations or a faster type help, where the
result tolerates it. Products of matrices run on tensor cores in FP16, and from compute capability 8.0 on in TF32 or BF16
(in PyTorch: torch.backends.cuda.matmul.allow_tf32, autocast). Without that the kernel is near what it can be.`
)

// arithmetic is the share of executed instructions that compute with floating-point numbers, tensor cores included.
func (c *Case) arithmetic() float64 {
	m := c.Mix()
	if m == nil {
		return unknown
	}
	sum := 0.0
	for _, class := range []string{kernel.ClassFP32, kernel.ClassFP16, kernel.ClassFP64, kernel.ClassMatrix} {
		if v := m.Share(class); v.Known {
			sum += v.Value
		}
	}
	return sum
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
