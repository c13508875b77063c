package kernelrules

import (
	"fmt"
	"math"

	"lacuna/internal/base/unit"
	"lacuna/internal/kernel"
)

var l2Thrash = Rule{
	ID:    "l2_thrash",
	Title: "L2 thrashing: data leaves L2 before it is read again",
	Since: "0.2",
	Needs: []Need{needTime, needDRAM, needDRAMBytes, needReachable, needGlobal},
	Doc: `
DRAM reads or writes at least 15 % more bytes than the kernel's arrays have, so some moved twice; both together count
where the machine code shows that the kernel does not store where it has loaded. DRAM limits the kernel
(60 % or more), accesses are coalesced (else that explains the excess), and there is no local memory traffic. The
data was read again after L2 had evicted it: a pass is larger than L2.

Loads separate this from extra_passes: a source line whose loads alone request more than all of the kernel's memory
is in a loop over it, and blocking that loop keeps a piece in L2. Both are reported, the likelier first.

After the fix DRAM reads each byte once and writes each once, as an update in place must; L2 traffic stays.`,
	Limits: `
One-sided: the memory that a kernel can touch includes arrays that it does not use, which hides some passes. Memory
written by one kernel and read by another does not count.`,
	Fix: `
Block the loop: do all passes over a piece that fits in L2 (half of it, to be safe) before the next piece:

    for (size_t begin = 0; begin < n; begin += piece)        // piece * 4 bytes < l2_bytes / 2
        for (int pass = 0; pass < passes; pass++)
            work(x + begin, piece);

Or combine the passes in registers, or keep the reused part in L2 with an access policy window.`,
	RefutedBy: `With arrays small enough for L2 (a tenth of its size) the time per element stays the same.`,
	Check:     checkL2Thrash,
}

// evicted says that bytes move twice because L2 has lost them, and returns what moves and what one pass would, at
// least and at most.
func (c *Case) evicted() (dram, least, most float64, ok bool) {
	dram, least, most, ok = c.movedTwice()
	loads, stores, local := c.LocalSectors()
	if local && loads+stores > 0 || c.gather() >= gatherMatters {
		return dram, least, most, false
	}
	return dram, least, most, ok && c.use(kernel.DRAM) >= limits && c.excessShare() < excessMatters
}

func checkL2Thrash(c *Case, out *Findings) {
	dram, least, most, ok := c.evicted()
	once := c.reachable()
	loops := c.loopsOverMemory()
	if !ok {
		return
	}
	confidence := map[answer]float64{yes: 0.85, maybe: 0.6, no: 0.5}[loops]
	f := out.Add(confidence, "L2 thrashing: DRAM moves %s for arrays of %s, since L2 evicts data before it is "+
		"read again", bytesText(dram), bytesText(once))
	f.Because("DRAM is at %s of its peak; %.1f times the kernel's memory goes through it", percent(c.use(kernel.DRAM)),
		dram/once)
	if l2 := c.number("device__attribute_l2_cache_size"); l2 > 0 {
		f.Because("L2 holds %s", unit.FormatMemory(int64(l2)))
	}
	f.Places = c.Hot("memory_l2_theoretical_sectors_global")
	f.Because("%s", onePass(least, most))
	c.expect(f, blocked(most/dram, least/dram))
}

// onePass says what one pass moves.
func onePass(least, most float64) string {
	if most > least {
		return fmt.Sprintf("one pass moves at least %s, and %s where each byte that is written was read before",
			bytesText(least), bytesText(most))
	}
	return fmt.Sprintf("one pass moves %s", bytesText(most))
}

// blocked is passes that find their data in L2; at best one pass does the work of all. share is what is surely left of
// DRAM's bytes, least what is left at best.
func blocked(share, least float64) *repair {
	r := asNow().leave(share, kernel.DRAM)
	for _, x := range resources {
		r.atBest(least, x.id)
	}
	r.removes(memoryReasons...)
	return r
}

// An answer is what can be told of a kernel's code.
type answer uint8

const (
	no answer = iota
	maybe
	yes
)

// loopsOverMemory says whether the loads of one line ask for more bytes than the kernel has memory: it is in a loop
// over passes.
func (c *Case) loopsOverMemory() answer {
	once := c.reachable()
	most := unknown
	if total, _, ok := c.GlobalSectors(); ok {
		// an unrolled loop has several loads of one line
		if at := c.Hot("memory_l2_theoretical_sectors_global"); len(at) > 0 {
			most = at[0].Share * total
		}
	}
	switch {
	case math.IsNaN(most):
		return maybe
	case most*sectorBytes > reachableTwice*once:
		return yes
	}
	return no
}
