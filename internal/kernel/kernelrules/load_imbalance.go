package kernelrules

import "math"

var loadImbalance = Rule{
	ID:    "load_imbalance",
	Title: "Load imbalance: some SMs or warps work long after the others are done",
	Since: "0.2",
	Needs: []Need{needTime, needActive, needSMs, needWaves, needDRAM},
	Doc: `
Every SM has blocks, but not the same amount of work. It is a finding when the mean SM has work for at least 15 %
and 5 µs less than the busiest, or, with a wave or more, when achieved occupancy is under 60 % of what the launch
allows: a few long blocks keep their SMs nearly empty. Blocks that live less than 1,270 cycles in the mean (a load, an
operation and a store) say nothing of it: slots are empty because new blocks do not come faster.

The time after the fix is that of evenly spread work: the busiest SM's time falls to the mean. It also falls by the
idle lanes, where trip counts differ (fewer than 24 of 32 active), and by the empty slots, where nothing is near its
limit and the last blocks run alone on their SMs.`,
	Limits: `
Instructions per SM are not evidence: in memory-bound kernels they differ by 20 to 32 % while all SMs work to the
end. Reports before 2024.1 hold no maximum over SMs: only the second condition can be judged then. In a kernel of a
few µs, start and end look like imbalance. Where all SMs work to the end and warps wait for loads whose addresses
follow from data, emptier SMs are reported without a time.`,
	Fix: `
Split the work into equal pieces rather than equal index ranges. In a sparse matrix give each warp the same number
of entries, not of rows; interleave costly rows between blocks; or let blocks fetch the next piece:

    for (int row = blockIdx.x; row < rows; row += gridDim.x)     // not a contiguous span per block

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
	// of the time of evenly spread work: at best blocks also end a little earlier, at worst pieces stay as unequal as
	// NVIDIA calls balanced.
	imbalanceOwn, imbalanceWorst = 0.9, 1.15
)

func checkImbalance(c *Case, out *Findings) {
	imb := c.imbalance()
	uneven := imb >= unevenSMs && imb*c.us() >= startSkewUs
	empty := c.waves() >= 1 && c.achieved() < emptySlots*c.theoretical() && !(c.blockCycles() < waveCycles)
	if !(c.grid() >= c.sms()) || !uneven && !empty || c.hasTail() {
		return
	}
	var f *Finding
	if uneven {
		f = out.Add(0.85, "Load imbalance: the mean SM has work for %s less time than the busiest", percent(imb))
	} else {
		f = out.Add(0.6, "Load imbalance: warps end at very different times; occupancy is %s where %s is possible",
			percent(c.achieved()), percent(c.theoretical()))
	}
	f.Because("%s on %s, %s; occupancy %s of a possible %s", several(c.grid(), "block"), several(c.sms(), "SM"),
		several(c.waves(), "wave"), percent(c.achieved()), percent(c.theoretical()))
	if !uneven && c.waitsForScattered() {
		f.Confidence = notRepairable
		f.Because("no time is predicted: every SM has work to the end, and warps wait for loads whose addresses follow "+
			"from data (%s of the needed sectors); fuller SMs may only wait longer", percent(c.scattered().left()))
		f.Places = c.HotStalls("long_scoreboard")
		return
	}
	left := math.Min(1, 1-orZero(imb))
	r := asNow()
	r.spreads = true
	r.high = left
	if lanes := c.lanes(); lanes < lanesWasted && c.idle().walked < mostLanes {
		f.Because("%s of 32 lanes are active: trip counts differ within warps too", digits(lanes))
		left *= lanes / lanesPerWarp
	}
	if !uneven {
		left, r.high = math.Max(c.achieved()/c.theoretical(), left), 1
	}
	if filled := c.achieved() / (c.theoretical() * math.Min(1, c.waves()) * usuallyFilled); uneven && filled < 1 &&
		c.latencyBound() {
		f.Because("busy SMs have %s of the warps that fit: the last blocks run alone", percent(filled*usuallyFilled))
		left *= filled // nothing is near its limit, so that more blocks on an SM do not slow each other
	}
	r.wait, r.low = math.Min(1, left*tailLeft), left*imbalanceOwn
	r.high = math.Max(r.high, math.Min(1, left*imbalanceWorst))
	f.Places = c.HotStalls("long_scoreboard")
	c.expect(f, r)
}
