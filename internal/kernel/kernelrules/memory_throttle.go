package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var memoryThrottle = Rule{
	ID:    "memory_throttle",
	Title: "LG/MIO Throttle: too many small memory instructions queue up",
	Since: "0.2",
	Needs: []Need{needTime, needStalls, needL1, needRequests},
	Doc: `
The memory queues of an SM hold a few instructions; when they are full, warps cannot issue the next. A full queue is
a symptom: bank conflicts, uncoalesced accesses and spills fill it, and where one of those is found this rule comes
after it. It is a finding of its own when LG, MIO or Tex Throttle takes at least 30 % of the warps' time and a
request moves less than 512 bytes (16 per lane): fewer, wider instructions move the same bytes with less room.

After the fix loads are up to 16 bytes wide per lane, at most four times as wide as now.`,
	Limits: `
Atomics and shared-memory instructions fill the same queues and cannot be widened.`,
	Fix: `
Move more bytes per instruction:

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
	f := out.Add(0.6, "LG/MIO Throttle: warps wait for room in a memory queue for %s of their time", percent(share))
	f.Because("a warp's load moves %s bytes; %d are possible", digits(bytes), widestRequest)
	at, most := c.limiter()
	f.Because("the busiest resource, %s, is at %s", nameOf(at), percent(most))
	f.Places = c.HotStalls("lg_throttle", "tex_throttle")
	wider := math.Min(widensAtMost, widestRequest/bytes)
	r := asNow().removes(memoryReasons...).leave(1/wider, kernel.LSUIn, kernel.L1Req, kernel.L2Tag)
	r.high = 1 - share/2
	c.expect(f, r)
}
