package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var extraPasses = Rule{
	ID:    "extra_passes",
	Title: "Extra passes: the same data is read from DRAM several times",
	Since: "0.2",
	Needs: []Need{needTime, needDRAM, needDRAMBytes, needReachable, needGlobal},
	Doc: `
Within a kernel: DRAM moves at least 15 % more bytes than the kernel's arrays have, so some moved twice, and DRAM
limits the kernel (60 % or more). Several loads go over the same data, as in a softmax that reads its row for the
maximum, the sum and the result. Where the loads of one source line request more than all of the memory, a loop over
passes is likelier, and l2_thrash comes first.

Over two launches: the first reads and hardly writes (statistics: mean, norm, maximum); the next, another kernel,
reads as much again and writes a result. Both are DRAM-bound, and together they move at least 15 % more than all
memory that they can touch. Each is healthy alone; a fused kernel reads the data once. The predicted time of each is
its share of the fused kernel's.

After the fix DRAM and L2 move each byte once.`,
	Limits: `
One-sided: memory that a kernel can touch but does not use hides passes. The rule does not find chains in which one
kernel writes what the next reads, nor two kernels that read the same and both write little, since variants of one
computation look like that. A row must fit in registers or shared memory for one pass.`,
	Fix: `
Keep the row in registers between the passes, or compute what the second pass needs on the way (online softmax,
Welford's mean and variance):

    float m = -INFINITY, s = 0;
    for (...) { float n = fmaxf(m, x); s = s * __expf(m - n) + __expf(x - n); m = n; }

    // statistics and application in one kernel: a block loads its row once, reduces, and writes the result
    float4 v = row[threadIdx.x]; ... block_sum ...; out[threadIdx.x] = scale(v, mean, rstd);`,
	RefutedBy: `DRAM reads the input once.`,
	Check:     checkExtraPasses,
}

const (
	statisticsWrite = 0.1 // of what it reads: a kernel that only gathers statistics writes less
	readsAgain      = 0.8 // of what the first read: the second reads the same data
	writesResult    = 0.3 // of what it reads
)

func checkExtraPasses(c *Case, out *Findings) {
	if dram, once, ok := c.movedTwice(); ok {
		loops := c.loopsOverMemory()
		confidence := 0.8
		if loops != no {
			confidence = 0.55
		}
		f := out.Add(confidence, "Extra passes: DRAM moves %s, and one pass over the data is at most %s",
			bytesText(dram), bytesText(once))
		f.Because("loads and stores request %s from L2 in all", bytesText(c.usedBytes()))
		f.Places = c.Hot("memory_l2_theoretical_sectors_global")
		if loops == yes { // l2_thrash: passes stay, and find their data in L2
			c.expect(f, blocked(once/dram))
			return
		}
		c.expect(f, asNow().removes(memoryReasons...).leave(once/dram, kernel.DRAM).leave(once/known(c.L2TexBytes()), kernel.L2, kernel.L2Tag,
			kernel.L2Out, kernel.L2In, kernel.L1Req, kernel.L1Fill))
		return
	}
	for _, pair := range [][2]int{{c.At, c.At + 1}, {c.At - 1, c.At}} {
		if pair[0] < 0 || pair[1] >= len(c.All) {
			continue
		}
		first, second := NewCase(c.All, pair[0]), NewCase(c.All, pair[1])
		if once, sum, ok := readTwice(first, second); ok {
			f := out.Add(0.7, "Extra pass: %s and %s read the same data, together %s where one pass needs %s",
				first.Launch.Base, second.Launch.Base, bytesText(sum), bytesText(once))
			both := first.us() + second.us()
			f.Because("both are DRAM-bound, at %s and %s; they take %s together, and %s fused",
				percent(first.use(kernel.DRAM)), percent(second.use(kernel.DRAM)), usText(both), usText(both*once/sum))
			f.Because("%s writes %s and %s, after it, reads as much as it did", first.Launch.Base,
				bytesText(written(first)), second.Launch.Base)
			f.Places = c.Hot("memory_l2_theoretical_sectors_global")
			f.Fix = "Fuse the two kernels: a block loads its row once, keeps it in registers or shared memory, " +
				"reduces, and writes the result."
			c.expect(f, asNow().leave(once/sum, kernel.DRAM, kernel.L2, kernel.L2Tag, kernel.L2Out, kernel.L2In,
				kernel.L1Fill, kernel.L1, kernel.L1Req))
			c.asPair(f, once/sum)
			return
		}
	}
}

// asPair prices a launch's part of the fused kernel: both stream at the pace that they have.
func (c *Case) asPair(f *Finding, share float64) {
	f.PredictedUs = math.Max(f.LowUs, c.us()*share)
	f.HighUs = math.Max(f.HighUs, f.PredictedUs)
	f.LowUs = math.Min(f.LowUs, f.PredictedUs)
}

func written(c *Case) float64 {
	bytes, share := c.dramBytes()
	return bytes * share
}

// readTwice says that two launches read the same data, and returns the bytes of one pass and those moved.
func readTwice(a, b *Case) (once, moved float64, ok bool) {
	if a.Launch.Base == b.Launch.Base || a.Launch.Device != b.Launch.Device {
		return 0, 0, false
	}
	da, wa := a.dramBytes()
	db, wb := b.dramBytes()
	readA, readB := da*(1-wa), db*(1-wb)
	once = math.Max(a.reachable(), b.reachable())
	moved = da + db
	ok = a.use(kernel.DRAM) >= limits && b.use(kernel.DRAM) >= limits && a.excessShare() < excessMatters &&
		b.excessShare() < excessMatters &&
		moved > reachableTwice*once && da*wa < statisticsWrite*readA && readB >= readsAgain*readA &&
		db*wb >= writesResult*readB
	return once, moved, ok
}
