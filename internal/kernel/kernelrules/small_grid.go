package kernelrules

import "math"

var smallGrid = Rule{
	ID:    "small_grid",
	Title: "Small grid: fewer blocks than the GPU has SMs",
	Since: "0.2",
	Needs: []Need{needTime, needSMs, needDRAM},
	Doc: `
A block runs on one SM. With fewer blocks than SMs some SMs have nothing to do, whatever their blocks contain.

With more blocks the work for the whole chip (DRAM, L2, all instructions) stays the same, so at best the time after
the fix is what the busiest resource needs; at worst the same work is spread over all SMs at today's rate. The
prediction is in between.`,
	Limits: `
A grid can be small because there is no more work: then run several such kernels at once, in streams or a graph. Where
fewer than one SM in 16 has a block and its threads wait at barriers (the last step of a sum, a sort in one block), few
blocks may be meant: confidence is 0.4, and the range goes up to no gain. More than 16 times as fast is never assumed. A
grid of one block or more per SM that leaves SMs half empty does not count.`,
	Fix: `
Give each thread less work and launch more blocks, at least one per SM:

    int blocks = (n + 255) / 256;                       // not a fixed 32
    kernel<<<min(blocks, 8 * sm_count), 256>>>(x, n);   // with a loop i += gridDim.x * blockDim.x

Split a GEMM with a long inner dimension along it (split-K); use several blocks per row in a reduction over few rows.`,
	RefutedBy: `The same kernel with as many blocks as SMs takes as long.`,
	Check:     checkSmallGrid,
}

const (
	mostIdle = 0.5 // of the SMs have a block
	fewMeant = 0.4 // confidence where so few blocks may be meant
)

func checkSmallGrid(c *Case, out *Findings) {
	grid, sms := c.grid(), c.sms()
	if !(grid < sms) {
		return
	}
	spread := grid / sms
	f := out.Add(0.9, "Small grid: %s blocks for %s SMs; %s of the SMs have no work", digits(grid), digits(sms),
		percent(1-grid/sms))
	if a := c.active(); a > 0 {
		f.Because("the mean SM has work for %s of the time", percent(a))
	}
	if at, u := c.limiter(); u > 0 {
		f.Because("the busiest resource, %s, is at %s", nameOf(at), percent(u))
	}
	// More blocks bring more warps to an SM as well as more SMs; how far that goes to the next limit is not in the
	// counters, so the middle of both in the logarithm is taken. Where most SMs have a block, warps are what is
	// missing, not blocks.
	r := asNow()
	r.spreads = true
	most := c.predict(r).us / c.us()
	if r.wait = spread; spread <= mostIdle {
		r.wait = math.Sqrt(spread * math.Min(spread, most))
	}
	r.high = math.Min(1, spread*tailLeft)
	if spread < atMost { // beyond what any kernel was seen to gain
		r.low, r.wait, r.high = atMost/2, math.Max(r.wait, atMost), math.Max(r.high, 4*atMost)
		if c.mix("BAR") > 0 || c.stall("barrier") > 0 {
			f.Confidence, r.high = fewMeant, 1
			f.Because("its threads wait for each other at barriers: one that sums up or orders what others left has few " +
				"blocks by intention, and cannot simply have more")
		}
	}
	c.expect(f, r)
}
