package kernelrules

import "math"

var loadImbalance = Rule{
	ID:    "load_imbalance",
	Title: "Some SMs or warps work long after the others are done",
	Since: "0.2",
	Needs: []Need{needTime, needActive, needSMs, needWaves, needDRAM},
	Doc: `
Every SM has blocks, but not the same amount of work. It is a finding when the mean SM has work for at least 15 % and 5 us less time than the busiest, or, with a wave or more, when the warps
really there are under 60 % of those that the launch allows: a few long blocks keep their SMs nearly empty.

The time after the repair is that of evenly spread work: the busiest SM's time falls to the mean, and, where lanes are idle because of trip counts (fewer than 24 of 32
active), by the idle lanes too; and where nothing is near its limit and the last blocks run alone on their SMs, by the places that they leave empty.`,
	Limits: `
Instructions an SM are no evidence: with memory-bound kernels they differ by 20 to 32 % while all SMs work to the end. Before 2024.1 reports hold no maximum over SMs; then only the second condition can
be judged. In a kernel of a few us, starting and ending look like imbalance.`,
	Fix: `
Cut the work into equal pieces rather than equal indices. Of a sparse matrix give each warp as many entries rather than as many rows; interleave costly
rows between blocks; or let blocks fetch the next piece:

    for (int row = blockIdx.x; row < rows; row += gridDim.x)     // not a contiguous span a block

    __shared__ int piece;
    if (threadIdx.x == 0) piece = atomicAdd(next, 1);            // work queue`,
	RefutedBy: `Cycles active of all SMs are within 10 % of each other.`,
	Check:     checkImbalance,
}

const (
	usuallyFilled = 0.9  // achieved of possible occupancy in kernels with even blocks
	startSkewUs   = 5    // blocks of one launch start, and kernels drain, over 2 to 4 us
	unevenSMs     = 0.15 // mean against busiest SM: healthy kernels of 20 us or more stay under 10 %
	emptySlots    = 0.6  // achieved against theoretical occupancy, likewise seen at 0.72 and more
	lanesWasted   = 24   // active lanes of 32, NVIDIA's line: a quarter idle
	// of the time of evenly spread work: at best blocks also end a little earlier, at worst pieces stay as unequal as NVIDIA calls balanced.
	imbalanceOwn, imbalanceWorst = 0.9, 1.15
)

func checkImbalance(c *Case, out *Findings) {
	imb := c.imbalance()
	uneven := imb >= unevenSMs && imb*c.us() >= startSkewUs
	empty := c.waves() >= 1 && c.achieved() < emptySlots*c.theoretical()
	if !(c.grid() >= c.sms()) || !uneven && !empty || c.hasTail() {
		return
	}
	var f *Finding
	if uneven {
		f = out.Add(0.85, "the mean SM has work for %s less time than the busiest", percent(imb))
	} else {
		f = out.Add(0.6, "warps end at very different times: %s of the slots are in use where %s could be", percent(c.achieved()), percent(c.theoretical()))
	}
	f.Because("%s on %s, %s; occupancy %s of a possible %s", several(c.grid(), "block"), several(c.sms(), "SM"), several(c.waves(), "wave"), percent(c.achieved()), percent(c.theoretical()))
	left := math.Min(1, 1-orZero(imb))
	r := asNow()
	r.high = left
	if lanes := c.lanes(); lanes < lanesWasted {
		f.Because("%s of 32 lanes are active: trip counts differ inside warps too", digits(lanes))
		left *= lanes / lanesPerWarp
	}
	if !uneven {
		left, r.high = math.Max(c.achieved()/c.theoretical(), left), 1
	}
	if filled := c.achieved() / (c.theoretical() * math.Min(1, c.waves()) * usuallyFilled); uneven && filled < 1 && c.latencyBound() {
		f.Because("busy SMs hold %s of the warps that they could: the last blocks run alone", percent(filled*usuallyFilled))
		left *= filled // nothing is near its limit, so that more blocks on an SM do not slow each other
	}
	r.wait, r.low = math.Min(1, left*tailLeft), left*imbalanceOwn
	r.high = math.Max(r.high, math.Min(1, left*imbalanceWorst))
	f.Places = c.HotStalls("long_scoreboard")
	c.expect(f, r)
}
