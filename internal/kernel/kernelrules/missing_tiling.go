package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var missingTiling = Rule{
	ID:    "missing_tiling",
	Title: "Missing tiling: the same data is loaded through L1 again and again",
	Since: "0.2",
	Needs: []Need{needTime, needL1, needGlobal, needDRAMBytes},
	Doc: `
Threads load the same data from global memory many times, as in a GEMM that fetches both operands for each
multiplication, or a stencil that loads every neighbour. It is a finding when L1 or the load/store unit limits the
kernel (60 % or more), accesses are coalesced (under a quarter of excess), global loads are at least half of the L1
wavefronts or a fifth of the instructions, and L1 is asked for at least four times the bytes that DRAM moves: each
byte is loaded four times. It is also a finding when integer instructions (addresses and bounds of those loads)
limit the kernel, L1 is at 40 % or more and each byte is loaded eight times.

After the fix a tile in shared memory and registers needs an eighth of the loads, never less than one per byte of
DRAM; FMAs then run at three quarters of their peak.`,
	Limits: `
The saving depends on how often data is reused. Under a hundred times the kernel is taken for a stencil, whose tile
may cost as much as it saves (one was measured that did): confidence is then under a half, and the prediction
cautious. Data that other kernels share through L2 counts as loaded once.`,
	Fix: `
Load a tile into shared memory once, use it from there, and keep several results per thread in registers:

    __shared__ float a[64][16], b[16][64];
    for (int k = 0; k < K; k += 16) {
        load(a, b, k); __syncthreads();
        for (int i = 0; i < 16; i++) for (r...) for (c...) acc[r][c] += a[..][i] * b[i][..];
        __syncthreads();
    }

A stencil marches along one axis with a queue of planes in registers.`,
	RefutedBy: `Each load has a different address: L1 is asked for about as many bytes as DRAM moves.`,
	Check:     checkMissingTiling,
}

const (
	tilingReuse  = 4   // bytes asked of L1 over bytes of DRAM
	tilingPasses = 0.5 // of L1's passes are global loads
	tilingLoads  = 0.2 // or of the instructions
	tilingSaves  = 8   // an 8 x 8 block of results a thread loads 16 values for 64 products instead of 128
	// times that each byte of what it can touch is loaded: a product's dimension; of a stencil it is the number of
	// its points
	productUse    = 100
	stencilSaves  = 4   // lines are no longer straddled, and neighbours share a load
	stencilIssue  = 0.8 // instructions that remain: each point is still loaded, from shared memory
	stencilPoints = 8   // loads of each byte under which integers are not taken for those of neighbours
	halfBusy      = 0.4
	tilingWorst   = 2    // a tile without registers: halves, as stencils show
	tiledFMA      = 0.75 // of the FP32 pipe, as tiled products reach
)

func checkMissingTiling(c *Case, out *Findings) {
	addresses := c.addressesLimit()
	if !c.limitedBy(kernel.L1, kernel.LSUIn, kernel.L1Fill) && !addresses || !(c.excessShare() < excessMatters) {
		return
	}
	dram, _ := c.dramBytes()
	reuse := c.usedBytes() / dram
	loads := c.number("smsp__sass_inst_executed_op_global_ld.sum", "sass__inst_executed_global_loads",
		"smsp__inst_executed_op_global_ld.sum") / c.instructions()
	passes := c.globalPasses() / c.wavefronts()
	if !(reuse >= tilingReuse) || !(passes >= tilingPasses || loads >= tilingLoads) || addresses &&
		!(reuse >= stencilPoints) {
		return
	}
	product := !addresses && c.usedBytes()/math.Min(dram, atLeast(c.reachable())) >= productUse
	confidence := 0.85
	if !product {
		confidence = 0.45
	}
	f := out.Add(confidence, "Missing tiling: global loads ask L1 for %.0f times the bytes that DRAM moves", reuse)
	f.Because("%s asked for, %s from and to DRAM", bytesText(c.usedBytes()), bytesText(dram))
	f.Because("L1 is at %s, the load/store unit at %s of its peak; %s of the instructions are global loads",
		percent(c.use(kernel.L1)), percent(c.use(kernel.LSUIn)), percent(loads))
	f.Places = c.HotOpcodes("LDG")
	saves := float64(tilingSaves)
	if !product {
		saves = stencilSaves
	}
	through := []kernel.Resource{kernel.L1, kernel.LSUIn, kernel.ALU, kernel.L2, kernel.L2Tag, kernel.L2Out,
		kernel.L2In, kernel.L1Req, kernel.L1Fill}
	r := asNow().removes(memoryReasons...).leave(1/saves, through...)
	r.cap[kernel.FMA] = tiledFMA
	r.blocks = true
	ffma := c.mix("FFMA")
	if math.IsNaN(ffma) { // a CSV: threads were counted, predicated-off ones left out
		ffma = known(c.ThreadOps("ffma")) * c.us() / 1e6 / lanesPerWarp / c.instructions()
	}
	if product {
		r.leave(math.Max(ffma/tiledFMA, 1/saves), kernel.Issue)
	} else {
		r.leave(stencilIssue, kernel.Issue)
	}
	worst := 0.0
	for _, at := range through[:3] {
		worst = math.Max(worst, orZero(c.use(at))/tilingWorst)
	}
	r.high = worst
	c.expect(f, r)
}

// addressesLimit says that integers limit the kernel, as where each load has its address computed and its bounds
// checked, and that L1 is half busy with what they address.
func (c *Case) addressesLimit() bool {
	return c.limitedBy(kernel.ALU, kernel.Issue) && c.use(kernel.ALU) >= limits &&
		c.use(kernel.FMA) < c.use(kernel.ALU)/2 && math.Max(c.use(kernel.L1), c.use(kernel.LSUIn)) >= halfBusy
}

// globalPasses is passes of L1 for global loads and stores.
func (c *Case) globalPasses() float64 {
	if v := known(c.TagRequests()); v >= 0 {
		return v
	}
	shared, _, _, ok := c.SharedWavefronts()
	return c.wavefronts() - known(shared, ok)
}
