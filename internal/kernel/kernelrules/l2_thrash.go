package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var l2Thrash = Rule{
	ID:    "l2_thrash",
	Title: "What is read again no longer lies in L2",
	Since: "0.2",
	Needs: []Need{needTime, needDRAM, needDRAMBytes, needReachable, needGlobal},
	Doc: `
The kernel moves more bytes to and from DRAM than it has memory, by 15 % or more: by the pigeonhole principle some bytes were moved twice. DRAM is what limits it (60 % or more),
accesses are coalesced (else the excess is that), and there is no local memory. The data was read again after L2 had dropped it: its passes are larger than L2.

Loads tell this from extra_passes: a line of the source whose loads alone ask for more than all of the kernel's memory runs in a loop over it, and blocking that loop keeps a piece in
L2. Both are named, the likelier first.

After the repair DRAM moves each byte once; L2 does what it did.`,
	Limits: `
One-sided: the memory that a kernel can touch holds arrays that it does not use, so that fewer passes stay unseen. Memory written and read again in another kernel is not this.`,
	Fix: `
Block the loop: do all passes over a piece that fits L2 (half of it, to be safe) before going to the next:

    for (size_t begin = 0; begin < n; begin += piece)        // piece * 4 bytes < l2_bytes / 2
        for (int pass = 0; pass < passes; pass++)
            work(x + begin, piece);

Or combine the passes in registers; or keep the part that is read again with an L2 access policy window.`,
	RefutedBy: `With arrays small enough for L2 (a tenth of its size) the time an element stays the same.`,
	Check:     checkL2Thrash,
}

// reachableTwice is how many times what a kernel can touch DRAM moves at least when bytes move twice: counters
// differ by a few per cent, and prefetching takes some.
const reachableTwice = 1.15

// movedTwice says that the kernel moves bytes twice, and returns how many there are and how many once would do.
func (c *Case) movedTwice() (dram, once float64, ok bool) {
	dram, _ = c.dramBytes()
	once = c.reachable()
	loads, stores, local := c.LocalSectors()
	if local && loads+stores > 0 || c.gather() >= gatherMatters {
		return dram, once, false
	}
	return dram, once, c.use(kernel.DRAM) >= limits && dram > reachableTwice*once && c.excessShare() < excessMatters
}

func checkL2Thrash(c *Case, out *Findings) {
	dram, once, ok := c.movedTwice()
	loops := c.loopsOverMemory()
	if !ok {
		return
	}
	confidence := map[answer]float64{yes: 0.85, maybe: 0.6, no: 0.5}[loops]
	f := out.Add(confidence, "DRAM moves %s where the kernel has %s: bytes are read again after L2 dropped them", bytesText(dram), bytesText(once))
	f.Because("DRAM is at %s of its peak; %.1f times the memory of the kernel passes through it", percent(c.use(kernel.DRAM)), dram/once)
	if l2 := c.number("device__attribute_l2_cache_size"); l2 > 0 {
		f.Because("L2 holds %s", bytesText(l2))
	}
	f.Places = c.Hot("memory_l2_theoretical_sectors_global")
	c.expect(f, blocked(once/dram))
}

// blocked is passes that find their data in L2; at best one pass does the work of all.
func blocked(share float64) *repair {
	r := asNow().leave(share, kernel.DRAM)
	r.only = []kernel.Resource{kernel.DRAM}
	return r
}

// An answer is what can be told of a kernel's code.
type answer uint8

const (
	no answer = iota
	maybe
	yes
)

// loopsOverMemory says whether the loads of one line ask for more bytes than the kernel has memory: it is in a loop over passes.
func (c *Case) loopsOverMemory() answer {
	once := c.reachable()
	most := unknown
	if total, _, ok := c.GlobalSectors(); ok {
		if at := c.Hot("memory_l2_theoretical_sectors_global"); len(at) > 0 { // an unrolled loop has several loads of one line
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
