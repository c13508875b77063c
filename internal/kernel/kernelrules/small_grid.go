package kernelrules

import (
	"fmt"
	"math"

	"lacuna/internal/kernel"
)

var smallGrid = Rule{
	ID:    "small_grid",
	Title: "Small grid: too few blocks, or too few warps, to fill the GPU",
	Since: "0.2",
	Needs: []Need{needTime, needSMs, needDRAM},
	Doc: `
A block runs on one SM. With fewer blocks than SMs some SMs have nothing to do, whatever their blocks contain. With as
many blocks as SMs or more, the launch is still too small where it gives a scheduler (an SM has four) fewer than 4
warps, twice as many blocks would fit at once, and nothing is near its limit: the result of an instruction takes 4
cycles, so that not even arithmetic is covered by other warps, and loads far less.

With more blocks the work for the whole chip (DRAM, L2, all instructions) stays the same, so at best the time after
the fix is what the busiest resource needs; at worst the same work is spread over all SMs at today's rate. The
prediction is in between: the middle in the logarithm of idle SMs filled and of four warps for each scheduler, or as
many as fit.`,
	Limits: `
A grid can be small because there is no more work: then run several such kernels at once, in streams or a graph. Where
fewer than one SM in 16 has a block and its threads wait at barriers (the last step of a sum, a sort in one block), few
blocks may be meant: confidence is 0.4, and the range goes up to no gain; where it was not measured whether they wait, no
time is predicted. So it is where a warp executes fewer than 200
instructions: it has no loop to divide. More than 16 times as fast is never assumed. A
launch that fills more than half of the slots of one wave does not count, unless SMs are idle: registers or shared
memory limit it then.`,
	Fix: `
Give each thread less work and launch more blocks, at least one per SM and 16 warps per SM:

    int blocks = (n + 255) / 256;                       // not a fixed 32
    kernel<<<min(blocks, 8 * sm_count), 256>>>(x, n);   // with a loop i += gridDim.x * blockDim.x

Split a GEMM with a long inner dimension along it (split-K); use several blocks per row in a reduction over few rows.`,
	RefutedBy: `The same work in twice as many blocks takes as long.`,
	Check:     checkSmallGrid,
}

const (
	mostIdle = 0.5 // of the SMs have a block
	fewMeant = 0.4 // confidence where so few blocks may be meant
	// coversArithmetic is the warps of a scheduler that fill the 4 cycles that the result of an instruction takes
	coversArithmetic = 4
	schedulers       = 4   // of an SM
	roomForMore      = 0.5 // of the slots of a wave: twice the blocks fit at once
	fewWarpsSure     = 0.6 // confidence where most SMs have blocks: the work may not be divisible further
	// littleEach is instructions of a warp under which it has no loop that could be divided: one that loads, combines
	// and stores a few values executes 20 to 100
	littleEach = 200
)

const (
	oneBlockFix = `Divide the problem among blocks, even if its steps depend on each other: tiles of a table that is
filled along its diagonals run in one block each, a diagonal of tiles per launch, or with a grid-wide barrier between
(cooperative launch). Or solve many problems in one launch, a block each.`
	batchFix = `Solve many problems in one launch, a block each. Where one problem is large, give each thread less work and
launch more blocks, at least one per SM. Several such kernels can run at once, in streams or in a CUDA graph.`
	matrixFix = `Use smaller tiles, or split the inner dimension (split-K, stream-K), so that each SM has several blocks; a
larger batch does the same. Compare a library's choice for this size (cublasLt heuristics, the CUTLASS profiler).`
)

// schedulerWarps is how many warps the launch gives each scheduler of the GPU.
func (c *Case) schedulerWarps() float64 { return c.grid() * c.warpsPerBlock() / (c.sms() * schedulers) }

// idleSMs says that the grid has fewer blocks than there are SMs.
func (c *Case) idleSMs() bool { return c.grid() < c.sms() }

func checkSmallGrid(c *Case, out *Findings) {
	grid, sms, warps := c.grid(), c.sms(), c.schedulerWarps()
	few := warps < coversArithmetic
	if !c.idleSMs() && !(few && c.waves() <= roomForMore && c.latencyBound()) {
		return
	}
	f := c.smallGridFound(out, few)
	if a := c.active(); a > 0 && c.idleSMs() {
		f.Because("the mean SM has work for %s of the time", percent(a))
	}
	if here := math.Round(c.warpsPerBlock() * math.Max(1, grid/sms)); here < coversArithmetic*schedulers {
		f.Because("an SM with work has %s; %s cover what arithmetic waits for, and loads need more", several(here, "warp"),
			several(coversArithmetic*schedulers, "warp"))
	}
	if w := c.waves(); w > 0 {
		f.Because("the grid fills %s of the places for blocks", percent(w))
	}
	if at, u := c.limiter(); u > 0 {
		f.Because("the busiest resource, %s, is at %s", nameOf(at), percent(u))
	}
	if c.use(kernel.Tensor) >= tensorIdle {
		f.Fix = matrixFix
	}
	r := c.fuller(few)
	spread := grid / sms
	if spread < atMost { // beyond what any kernel was seen to gain
		r.low, r.wait, r.high = atMost/2, math.Max(r.wait, atMost), math.Max(r.high, 4*atMost)
		switch {
		case math.IsNaN(c.mix("BAR")) && c.Stalls() == nil:
			f.Confidence, f.Fix = fewMeant, batchFix
			f.Because("no time is predicted: whether there is more to divide was not measured, neither by its instructions " +
				"nor by what its warps wait for")
			return
		case c.mix("BAR") > 0 || c.stall("barrier") > 0:
			f.Confidence, r.high = fewMeant, 1
			f.Because("its threads wait for each other at barriers: one that sums up or orders what others left has few " +
				"blocks by intention, and its work must be divided anew for more")
			f.Fix = oneBlockFix
		}
	}
	if each := c.instructions() / (grid * c.warpsPerBlock()); each < littleEach {
		f.Confidence, r.wait, r.high = fewMeant, math.Sqrt(r.wait), 1
		f.Because("a warp executes %s instructions: there is little to divide, and each waits for its own", digits(each))
	}
	c.expect(f, r)
}

// smallGridFound adds the finding, named by what is missing.
func (c *Case) smallGridFound(out *Findings, few bool) *Finding {
	grid, sms := c.grid(), c.sms()
	blocks := several(grid, "block")
	if few {
		blocks += " of " + several(c.warpsPerBlock(), "warp")
	}
	if !c.idleSMs() {
		return out.Add(fewWarpsSure, "Small grid: %s for %s SMs; a scheduler has %s warps, too few to hide latency", blocks,
			digits(sms), digits(c.schedulerWarps()))
	}
	words := fmt.Sprintf("%s of the SMs have no work", percent(1-grid/sms))
	if few && grid > sms*mostIdle {
		words = fmt.Sprintf("a scheduler has %s warps, too few to hide latency", digits(c.schedulerWarps()))
		return out.Add(fewWarpsSure, "Small grid: %s for %s SMs; %s", blocks, digits(sms), words)
	}
	return out.Add(0.9, "Small grid: %s for %s SMs; %s", blocks, digits(sms), words)
}

// fuller is the launch with more blocks: they bring more warps to an SM as well as work to more SMs. How far that goes
// to the next limit is not in the counters, so the middle of both in the logarithm is taken. Where most SMs have a
// block, warps are what is missing, not blocks.
func (c *Case) fuller(few bool) *repair {
	r := asNow()
	r.spreads = true
	if c.scattersAlways() {
		r.cap[kernel.DRAM] = randomDRAM
	}
	spread := math.Min(1, c.grid()/c.sms())
	most := c.predict(r).us / c.us()
	r.wait, r.high = spread, math.Min(1, spread*tailLeft)
	switch {
	case spread <= mostIdle:
		r.wait = math.Sqrt(spread * math.Min(spread, most))
	case few:
		covers := c.schedulerWarps() / coversArithmetic
		filled := math.Max(math.Min(1, orOne(c.waves())), covers)
		r.wait, r.low = math.Sqrt(spread*math.Min(1, filled)), math.Max(atMost/2, math.Min(filled, covers))
	}
	return r
}

// scattersAlways says that most loads of global memory, or what they fetch, lie where data says.
func (c *Case) scattersAlways() bool {
	return c.gather() >= gatherMatters || math.IsNaN(c.gather()) && c.excessShare() >= 2*excessMatters
}

// orOne is a share, or 1 where it is unknown.
func orOne(v float64) float64 {
	if math.IsNaN(v) {
		return 1
	}
	return v
}
