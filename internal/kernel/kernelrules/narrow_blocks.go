package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var narrowBlocks = Rule{
	ID:    "narrow_blocks",
	Title: "Narrow blocks: a block's rows are shorter than a cache line",
	Since: "0.3",
	Needs: []Need{needTime, needDRAM, needL1, needGlobal, needRequests},
	Doc: `
A warp is 32 threads in the order of threadIdx.x, then y, then z. In a block of 8 by 8 threads it covers four rows of 8,
and each access touches four lines of 128 bytes or more, half filled with 8-byte values: sectors are used, so that the
accesses count as coalesced, but L1 and L2 look up twice the lines.

It is a finding when a block is narrower than a warp, and several rows high; its rows are shorter than a line; L1 looks
up at least 1.5 times the lines that the used bytes would fill; and what limits the kernel moves in proportion to lines
(L1, L2's tags, requests to L2), at 60 % or more.

The time after the fix is that with three quarters of the excess lines gone, at best all; then DRAM or arithmetic may
limit.`,
	Limits: `
Neighbours in the row (a stencil's) straddle two lines in wide blocks too. Where a tile in shared memory has the shape of
the block, both change. Addresses that follow from data are left out.`,
	Fix: `
Make blocks as wide as a warp, or a line at least, in the direction in which memory is contiguous, and less high:

    dim3 block(32, 4, 8);                 // not (8, 8, 16): 1,024 threads as well
    dim3 grid((nx + 31) / 32, (ny + 3) / 4, (nz + 7) / 8);`,
	RefutedBy: `The kernel in blocks of 32 by 4 takes as long.`,
	Check:     checkNarrowBlocks,
}

// linesTwice is how many times the lines that used bytes would fill are looked up: a half more is a third of the work.
const linesTwice = 1.5

// linesSaved is how much of the excess lookups probably goes: of the loads of a stencil those of the neighbours in the
// row straddle a line in wide blocks too, 2 of 5 or 7.
const linesSaved = 0.75

func checkNarrowBlocks(c *Case, out *Findings) {
	block := c.Launch.Block
	requests := c.number("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") +
		orZero(c.number("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"))
	bytes := c.usedBytes() / requests / lanesPerWarp // of an access by a thread
	row := float64(block[0]) * bytes
	tags, lines := known(c.TagRequests()), c.usedBytes()/lineBytes
	if block[0] == 0 || block[0] >= lanesPerWarp || block[1]*block[2] <= 1 || !(row < lineBytes) ||
		!(tags >= linesTwice*lines) || !(c.excessShare() < excessMatters) || c.gather() >= gatherMatters ||
		!c.limitedBy(kernel.L1, kernel.L1Req, kernel.L2Tag, kernel.L2In) {
		return
	}
	at, most := c.limiter()
	f := out.Add(0.65, "Narrow blocks: rows of %d threads access %s at a time, less than a line of %d", block[0],
		bytesText(row), lineBytes)
	f.Because("in blocks of %d x %d x %d threads each warp covers %s", block[0], block[1], block[2],
		several(math.Ceil(lanesPerWarp/float64(block[0])), "row"))
	f.Because("L1 looks up %s lines where %s would hold what is used", digits(tags), digits(lines))
	sectors, asked := known(c.L2TexBytes())/sectorBytes, known(c.L2TexRequests())
	if asked > 0 {
		f.Because("a request to L2 asks for %.1f of the %d sectors of a line", sectors/asked, lineBytes/sectorBytes)
	}
	f.Because("%s is at %s of its peak, and works by the line", nameOf(at), percent(most))
	f.Places = c.Hot("memory_l1_tag_requests_global")
	c.expect(f, c.wideRows(tags-lines, sectors/asked*sectorBytes/lineBytes))
}

// wideRows is the kernel with rows of whole lines. excess is the lookups of L1 for nothing, filled how much of a line a
// request to L2 asks for.
func (c *Case) wideRows(excess, filled float64) *repair {
	r := asNow().removes(memoryReasons...)
	r.blocks = true
	if w := c.wavefronts(); w > 0 {
		r.leave(1-linesSaved*excess/w, kernel.L1)
		r.atBest(math.Max(0, 1-excess/w), kernel.L1)
	}
	if filled > 0 && filled < 1 {
		way := []kernel.Resource{kernel.L2Tag, kernel.L1Req, kernel.L2In}
		r.leave(1-linesSaved*(1-filled), way...)
		r.atBest(filled, way...)
	}
	return r
}
