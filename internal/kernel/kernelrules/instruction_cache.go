package kernelrules

import (
	"math"

	"lacuna/internal/base/unit"
	"lacuna/internal/kernel"
)

var instructionCache = Rule{
	ID:    "instruction_cache",
	Title: "No Instruction stalls: the code does not fit the instruction cache",
	Since: "0.2",
	Needs: []Need{needTime, needStalls},
	Doc: `
An instruction is 16 bytes; caches near the SM hold about 128 KiB. A loop body unrolled beyond that is fetched again
in each iteration. It is a finding when the stall reason No Instruction takes at least 20 % of the warps' time, the
kernel takes at least 20 µs (below that it is the cold start: kernels of 5 µs show 30 to 37 %), and the executed
code is larger than 128 KiB, where reports hold instructions by address. Where they do not, confidence is lower.

After the fix these stalls are gone, or half of them.`,
	Limits: `
The instruction cache's hit rate is not evidence: healthy kernels with few requests show 16 to 100 %. Jumps to
distant code wait in the same way.`,
	Fix: `
Unroll less, and keep cold code out of the loop:

    #pragma unroll 8              // not a full unroll of thousands of iterations
    __noinline__ __device__ ...   // large functions that are called from many places`,
	RefutedBy: `The loop not unrolled (#pragma unroll 1) takes as long or longer.`,
	Check:     checkInstructionCache,
}

const (
	fedPipe              = 0.95 // of a pipe that nothing keeps from working: fma_at_peak and its like
	noInstructionMatters = 0.2
	coldStartUs          = 20
	instructionBytes     = 16
	instructionCacheSize = 128 << 10 // of an SM's nearest levels, Volta to Hopper, as microbenchmarks found it
)

func checkInstructionCache(c *Case, out *Findings) {
	share := c.stall("no_instruction")
	code := c.executedCode()
	if !(share >= noInstructionMatters) || !(c.us() >= coldStartUs) || code < instructionCacheSize {
		return
	}
	confidence := 0.85
	if math.IsNaN(code) {
		confidence = 0.5
	}
	f := out.Add(confidence, "No Instruction stalls: warps wait for instructions for %s of their time", percent(share))
	if code > 0 {
		f.Because("%s of code is executed, more than the %s near an SM", unit.FormatMemory(int64(code)),
			unit.FormatMemory(instructionCacheSize))
	}
	f.Places = c.HotStalls("no_instruction")
	r := asNow().removes("no_instruction", "branch_resolving")
	r.wait, r.low, r.high = 1-share, 1-share, 1-share/2
	// Warps that are ready while others issue show that nothing else is waited for.
	if c.stall("not_selected") >= c.stall("wait") {
		r.cap[kernel.Issue], r.cap[kernel.FMA], r.cap[kernel.Heavy] = fedPipe, fedPipe, fedPipe
	}
	c.expect(f, r)
}

// executedCode is the bytes of instructions that were executed at all; unknown without counts by address.
func (c *Case) executedCode() float64 {
	n := 0
	for _, executed := range c.Launch.ByAddress("inst_executed") {
		if executed > 0 {
			n++
		}
	}
	if n == 0 {
		return unknown
	}
	return float64(n) * instructionBytes
}
