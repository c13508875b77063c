package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var narrowAccess = Rule{
	ID:    "narrow_access",
	Title: "Narrow accesses: each thread loads or stores one or two bytes at a time",
	Since: "0.2",
	Needs: []Need{needTime, needRequests, needGlobal, needLanes, needDRAM, needL1},
	Doc: `
A warp's load moves 32 times the width of the type. With one byte per lane that is one sector, for as many
instructions as with 16 bytes per lane. It is a finding when global accesses use 64 bytes per request or less (two
bytes per lane), within a line of 128 bytes (adjacent, or interleaved as the channels of an image) and with full
warps (24 lanes or more), are at least 5 % of the instructions, and nothing is at 80 % of its peak.

After the fix each instruction moves four times the bytes: a quarter of the instructions, requests and L1 wavefronts
remain, and the work takes a quarter of the blocks or of the loop.`,
	Limits: `
Bytes that are not adjacent cannot be loaded together. 16-byte loads need addresses that are multiples of 16.`,
	Fix: `
Load a vector, process its elements, store a vector:

    uint4 v = reinterpret_cast<const uint4 *>(in)[i];      // 16 bytes per thread
    uchar4 *b = reinterpret_cast<uchar4 *>(&v); ...
    reinterpret_cast<uint4 *>(out)[i] = v;`,
	RefutedBy: `The same kernel on 4-byte elements, with as many elements, takes four times as long.`,
	Check:     checkNarrow,
}

const (
	narrowBytes   = 64   // a request: two bytes a lane
	narrowShare   = 0.05 // of the instructions: else the accesses are not what it is about
	narrowBusy    = 0.8
	narrowWidens  = 4
	sectorsNarrow = narrowBytes / sectorBytes
	sectorsLine   = lineBytes / sectorBytes // neighbours a few bytes apart share a line
)

func checkNarrow(c *Case, out *Findings) {
	requests := c.number("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") +
		orZero(c.number("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"))
	sectors := c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") +
		orZero(c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"))
	per := sectors / requests
	used := per * (1 - c.excessShare()) // sectors that would do
	share := c.globalInstructions() / c.instructions()
	_, most := c.limiter()
	if !(used > 0 && used <= sectorsNarrow) || !(per <= sectorsLine) || !(share >= narrowShare) ||
		!(c.lanes() >= lanesWasted) || !(most < narrowBusy) {
		return
	}
	f := out.Add(0.85, "Narrow accesses: a warp's load or store moves %s bytes", digits(used*sectorBytes))
	f.Because("%s requests for %s sectors; %s of the instructions access global memory", digits(requests),
		digits(sectors), percent(share))
	f.Because("nothing is used to more than %s", percent(most))
	f.Places = c.HotOpcodes("LDG", "STG")
	r := asNow().removes(memoryReasons...).times(1.0/narrowWidens, kernel.Issue, kernel.L1, kernel.LSUIn, kernel.L2Tag,
		kernel.L1Req, kernel.ALU)
	r.wait = math.Min(1, c.waveFloor()/narrowWidens)
	r.blocks = true
	c.expect(f, r)
}
