package kernelrules

import "lacuna/internal/kernel"

var memoryLatency = Rule{
	ID:    "memory_latency",
	Title: "Memory latency (Long Scoreboard): too few loads in flight",
	Since: "0.2",
	Needs: []Need{needTime, needStalls, needIssue, needDRAM, needL1},
	Doc: `
A load from DRAM takes about 0.6 µs. To use the full bandwidth, bandwidth times latency must be in flight: 2.9 MB on
an H200, 20 kB per SM. It is a finding when warps wait for loads (Long Scoreboard) for at least half of their time,
nothing is near its limit (all below 60 %), the kernel takes at least 20 µs (shorter ones wait for their first loads
and end), and no other finding explains it. Half of all kernels wait mostly for loads, and most of those are at the
DRAM roofline.

The time after the fix is that of the busiest resource with enough loads in flight. Random single sectors reach less
DRAM bandwidth than streams: DRAM fetches 64 bytes for 32 and changes rows.`,
	Limits: `
The model is least accurate here, so the predicted gain must be at least 25 %. Counters do not show how many loads
an algorithm can have in flight: one linked list cannot be walked faster, but several can be walked at once. Where a
warp starts a load more often than every 500 cycles, several are in flight already; where a resource is at 40 %,
little remains. Confidence is then under a half. More than 16 times as many loads are never assumed.`,
	Fix: `
Issue several independent loads before the first result is used:

    float4 a = x[i], b = x[i + stride], c = x[i + 2*stride], d = x[i + 3*stride];     // then compute
    #pragma unroll 4

Walk several lists at once; copy ahead into shared memory (cuda::memcpy_async, cp.async, TMA) while the last tile is
processed; raise occupancy.`,
	RefutedBy: `The same kernel with twice the warps, or loads taken out of a dependent chain, takes as long.`,
	Check:     checkMemoryLatency,
}

const (
	latencyMostly = 0.5  // of the warps' time
	latencyWorth  = 1.25 // gain asked for: the model errs by up to that here
	farFromLimit  = 0.4  // of the busiest resource: nearer, what is under way already fills much of it
	// cycles: the latency of DRAM is 400 to 900 on chips from V100 to H200, so that a warp that begins no load in
	// less has one under way
	oneLoad = 500
	// randomDRAM is the share of DRAM's peak that random sectors reach: eight lists a thread reached 0.52 (corpus,
	// H200) and were still waiting.
	randomDRAM = 0.58
)

func checkMemoryLatency(c *Case, out *Findings) {
	share := c.stall("long_scoreboard")
	if !c.latencyBound() || !(share >= latencyMostly) || !(c.us() >= coldStartUs) {
		return
	}
	r := asNow().removes(memoryReasons...)
	r.low, r.wait, r.high = atMost, 2*atMost, 4*atMost
	scattered := c.scattersAlways()
	if scattered {
		r.cap[kernel.DRAM] = randomDRAM
	}
	if p := c.predict(r); !(c.us() >= latencyWorth*p.us) {
		return
	}
	confidence := 0.45
	perLoad := c.cyclesPerLoad()
	at, most := c.limiter()
	if perLoad >= oneLoad && most < farFromLimit {
		confidence = 0.75
	}
	f := out.Add(confidence, "Memory latency: warps wait for loads (Long Scoreboard) for %s of their time, and no "+
		"resource is busy", percent(share))
	f.Because("the busiest resource, %s, is at %s", nameOf(at), percent(most))
	f.Because("%s of the possible warps are there on average; each waits for its own loads", percent(c.achieved()))
	if perLoad > 0 {
		f.Because("a warp starts a load every %.0f cycles; a load from DRAM takes %d or more", perLoad, oneLoad)
	}
	if scattered {
		f.Because("addresses are scattered: random sectors reach about %s of the peak of DRAM", percent(randomDRAM))
	}
	f.Places = c.HotStalls("long_scoreboard")
	c.expect(f, r)
}

// cyclesPerLoad is how many cycles pass in a warp from one load of global memory to the next.
func (c *Case) cyclesPerLoad() float64 {
	loads := c.number("smsp__sass_inst_executed_op_global_ld.sum", "sass__inst_executed_global_loads",
		"smsp__inst_executed_op_global_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")
	warps := c.number("sm__warps_active.avg.per_cycle_active")
	return warps * c.active() * c.cycles() / loads
}
