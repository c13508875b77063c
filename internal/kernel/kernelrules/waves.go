package kernelrules

import "math"

// waveCycles is what a wave of blocks that load, compute and store once lives at least: the latency of
// DRAM, launch and drain. invert_bytes of the corpus is 1,986 waves of 1,270 cycles, and nothing else
// limits it; no kernel of the corpus with ten waves or more is below it.
const waveCycles = 1270

// waveGap is the part of it in which the slots of blocks that ended are empty: occupancy of such kernels is 74 to 80
// %, and arithmetic stands still meanwhile.
const waveGap = 0.24

// waveFloor is the share of the time that waves of short blocks need whatever they compute; 0 where blocks loop
// over much work (few waves), or where it is not known.
func (c *Case) waveFloor() float64 {
	clock := c.number("sm__cycles_elapsed.avg", "smsp__cycles_elapsed.max", "smsp__cycles_elapsed.avg",
		"sm__cycles_elapsed.max")
	v := math.Floor(c.waves()) * waveCycles / clock
	if !(v > 0) {
		return 0
	}
	return math.Min(1, v)
}

// blockCycles is how long a block lives in the mean; unknown without occupancy or waves.
func (c *Case) blockCycles() float64 {
	clock := c.number("sm__cycles_active.avg", "sm__cycles_elapsed.avg", "smsp__cycles_elapsed.max")
	return clock * c.achieved() / c.theoretical() / c.waves()
}
