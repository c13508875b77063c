package kernelrules

import "math"

var tailEffect = Rule{
	ID:    "tail_effect",
	Title: "Tail effect: the last wave of blocks fills few SMs",
	Since: "0.2",
	Needs: []Need{needTime, needWaves, needSMs, needActive, needDRAM},
	Doc: `
Blocks run in waves: as many as fit, then the next. With 1.1 waves the second is nearly empty and takes as long as
the first. It is a finding with more than one and at most six waves (with more, the tail is under a sixth), when at
least a fifth of the slots of all waves are empty and SMs are really idle: the mean SM has work for less than 90 % of
the time.

The time after the fix is what full waves would take, or the SMs' busy time if that is more, plus 5 % for the
imbalance that remains.`,
	Limits: `
Blocks of uneven length fill a tail by themselves: waves then say little, and idle time decides. Persistent kernels
and clusters schedule themselves.`,
	Fix: `
Use smaller blocks, so that more fit and the last wave is a smaller part, or launch exactly one wave of blocks that
fetch work until none is left:

    kernel<<<grid * 4, block / 4>>>(...);

    int blocks; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0);
    kernel<<<blocks * sm_count, 256>>>(x, n);           // for (i = ...; i < n; i += gridDim.x * blockDim.x)`,
	RefutedBy: `SMs are busy all the time (cycles active near elapsed), or blocks of half the size change nothing.`,
	Check:     checkTail,
}

const (
	tailWaves   = 6    // beyond it the last wave is under a sixth of the time
	tailEmpty   = 0.2  // of all slots of the whole waves: what is lost
	tailLeft    = 1.05 // of the time of full waves: they are never exactly full
	tailMatches = 0.15 // idle time that the waves do not explain is another's
)

func checkTail(c *Case, out *Findings) {
	waves := c.waves()
	full := waves / math.Ceil(waves)
	if !c.hasTail() {
		return
	}
	confidence := 0.85
	if c.lanes() < lanesWasted {
		confidence = 0.6 // uneven work: blocks end at different times anyway
	}
	f := out.Add(confidence, "Tail effect: %.2f waves of blocks, and the last one leaves %s of all slots empty", waves,
		percent(1-full))
	f.Because("%s blocks on %s SMs; %s of the slots of %s waves have a block", digits(c.grid()), digits(c.sms()),
		percent(full), digits(math.Ceil(waves)))
	f.Because("the mean SM has work for %s of the time", percent(c.active()))
	r := asNow()
	r.spreads = true
	even := math.Max(full, c.active()) // SMs that work longer than full waves say have that work to do
	r.wait = math.Min(1, even*tailLeft)
	r.low, r.high = even*imbalanceOwn, math.Min(1, even*imbalanceWorst)
	c.expect(f, r)
}

// hasTail says that SMs are idle because the last wave is nearly empty.
func (c *Case) hasTail() bool {
	waves := c.waves()
	full := waves / math.Ceil(waves)
	return c.grid() >= c.sms() && waves > 1 && waves <= tailWaves && 1-full >= tailEmpty && c.active() < idleMatters &&
		c.active() >= full-tailMatches
}
