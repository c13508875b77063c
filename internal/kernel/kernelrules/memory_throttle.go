package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var memoryThrottle = Rule{
	ID:    "memory_throttle",
	Title: "Too many small memory instructions queue up",
	Since: "0.2",
	Needs: []Need{needTime, needStalls, needL1, needRequests},
	Doc: `
The queues to memory hold some instructions for each SM; when they are full, warps cannot even issue the next. The queue is a symptom: conflicts, uncoalesced accesses and spills fill it
first, and where one of those is found this stands below it. It is a finding of its own when warps wait for room in the queues for at least 30 % of their time and a request moves less than 512 bytes (16 a lane): the same bytes
in fewer, wider instructions need less room.

After the repair loads are as wide as 16 bytes a lane allow, at most four times.`,
	Limits: `
Atomics and shared-memory instructions fill the same queues and cannot be widened.`,
	Fix: `
Move more bytes with an instruction:

    float4 v = reinterpret_cast<const float4 *>(x)[i];      // not four loads of a float
    cuda::memcpy_async / cp.async.bulk                       // to shared memory without registers`,
	RefutedBy: `The kernel with 16-byte accesses shows the same share of lg_throttle or mio_throttle.`,
	Check:     checkThrottle,
}

const (
	throttleMatters = 0.3
	widestRequest   = 16 * lanesPerWarp // bytes
	widensAtMost    = 4
)

func checkThrottle(c *Case, out *Findings) {
	share := c.stalls("lg_throttle", "tex_throttle")
	bytes := c.sectorsPerRequest("ld") * sectorBytes
	if !(share >= throttleMatters) || !(bytes < widestRequest) || !(c.excessShare() < excessMatters) {
		return
	}
	f := out.Add(0.6, "warps wait for room in the queue to memory for %s of their time", percent(share))
	f.Because("a load of a warp moves %s bytes, where %d are possible", digits(bytes), widestRequest)
	at, most := c.limiter()
	f.Because("the busiest resource, %s, is at %s", nameOf(at), percent(most))
	f.Places = c.HotStalls("lg_throttle", "tex_throttle")
	wider := math.Min(widensAtMost, widestRequest/bytes)
	r := asNow().leave(1/wider, kernel.LSUIn, kernel.L1Req, kernel.L2Tag)
	r.high = 1 - share/2
	c.expect(f, r)
}
