package kernelrules

import "math"

var smallGrid = Rule{
	ID:    "small_grid",
	Title: "Fewer blocks than the device has SMs",
	Since: "0.2",
	Needs: []Need{needTime, needSMs, needDRAM},
	Doc: `
A block runs on one SM. With fewer blocks than SMs some SMs have nothing to do, whatever their blocks contain.

What the chip as a whole needs (DRAM, L2, all instructions) stays the same with more blocks, so at best the time after the repair is what the busiest resource then needs; at worst the same work is
spread over all SMs at the pace of now; the prediction is between.`,
	Limits: `
A grid can be small because there is no more work: then run several such kernels at once, in streams or a graph. A grid of one block or more for each SM that leaves SMs
half empty is not this.`,
	Fix: `
Give each thread less and launch more blocks, one for each SM and more:

    int blocks = (n + 255) / 256;                       // not a fixed 32
    kernel<<<min(blocks, 8 * sm_count), 256>>>(x, n);   // with a loop i += gridDim.x * blockDim.x

A product with a long inner dimension is split along it (split-k); a reduction over few rows uses several blocks a row.`,
	RefutedBy: `The same kernel with as many blocks as SMs takes as long.`,
	Check:     checkSmallGrid,
}

const mostIdle = 0.5 // of the SMs have a block

func checkSmallGrid(c *Case, out *Findings) {
	grid, sms := c.grid(), c.sms()
	if !(grid < sms) {
		return
	}
	spread := grid / sms
	f := out.Add(0.9, "%s blocks for %s SMs: %s of them have nothing to do", digits(grid), digits(sms), percent(1-grid/sms))
	if a := c.active(); a > 0 {
		f.Because("the mean SM has work for %s of the time", percent(a))
	}
	if at, u := c.limiter(); u > 0 {
		f.Because("the busiest resource, %s, is at %s", nameOf(at), percent(u))
	}
	// More blocks bring more warps to an SM as well as more SMs; how far that goes to the next limit is not in the
	// counters, so the middle of both in the logarithm is taken. Where most SMs have a block, warps are what is missing, not blocks.
	r := asNow()
	most := c.predict(r).us / c.us()
	if r.wait = spread; spread <= mostIdle {
		r.wait = math.Sqrt(spread * math.Min(spread, most))
	}
	r.high = math.Min(1, spread*tailLeft)
	c.expect(f, r)
}
