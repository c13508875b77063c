package kernelrules

import (
	"math"
	"strings"

	"lacuna/internal/kernel"
)

var extraPasses = Rule{
	ID:    "extra_passes",
	Title: "Extra passes: the same data is read from DRAM several times",
	Since: "0.2",
	Needs: []Need{needTime, needDRAM, needDRAMBytes, needReachable, needGlobal},
	Doc: `
Within a kernel: DRAM reads or writes at least 15 % more bytes than the kernel's arrays have, so some moved twice (both
together count where the machine code shows that no update is in place), and DRAM limits the kernel (60 % or more). Several loads go over the same data, as in a softmax that reads its row for the
maximum, the sum and the result. Where the loads of one source line request more than all of the memory, a loop over
passes is likelier, and l2_thrash comes first.

Over two launches: the first reads and hardly writes (statistics: mean, norm, maximum); the next, another kernel,
reads as much again and writes a result. Both are DRAM-bound, and together they move at least 15 % more than all
memory that they can touch. Each is healthy alone; a fused kernel reads the data once. The predicted time of each is
its share of the fused kernel's.

After the fix DRAM and L2 read each byte once and write each once.`,
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
	if dram, least, most, ok := c.evicted(); ok {
		loops := c.loopsOverMemory()
		confidence := 0.8
		if loops != no {
			confidence = 0.55
		}
		f := out.Add(confidence, "Extra passes: DRAM moves %s, and one pass over the data is at most %s",
			bytesText(dram), bytesText(most))
		f.Because("loads and stores request %s from L2 in all", bytesText(c.usedBytes()))
		f.Because("%s", onePass(least, most))
		f.Places = c.Hot("memory_l2_theoretical_sectors_global")
		if !c.reduces() {
			f.Fix = reuseFix
		}
		if loops == yes { // l2_thrash: passes stay, and find their data in L2
			c.expect(f, blocked(most/dram, least/dram))
			return
		}
		l2 := known(c.L2TexBytes())
		way := []kernel.Resource{kernel.L2, kernel.L2Tag, kernel.L2Out, kernel.L2In, kernel.L1Req, kernel.L1Fill}
		c.expect(f, asNow().removes(memoryReasons...).leave(most/dram, kernel.DRAM).leave(most/l2, way...).
			atBest(least/dram, kernel.DRAM).atBest(least/l2, way...))
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

// reduces says that threads combine values, as for the maximum or the sum of a row. SHFL.IDX is none: Volta's compilers
// make one of a value that all lanes share.
func (c *Case) reduces() bool {
	between := c.modified(func(name string) bool {
		return strings.HasPrefix(name, "SHFL.BFLY") || strings.HasPrefix(name, "SHFL.DOWN") ||
			strings.HasPrefix(name, "REDUX")
	})
	return between > 0 || c.mix("BAR") > 0 && c.sharedShare() > 0
}

const reuseFix = `Use a piece of data for all that needs it while it is on the chip: put the loop that reuses it inside,
fuse loops that read the same array, or block them so that a piece fits in registers, shared memory or half of L2:

    for (size_t begin = 0; begin < n; begin += piece)        // piece * 4 bytes < l2_bytes / 2
        for (int use = 0; use < uses; use++)                  // not: all of the data for each use
            work(x + begin, piece, use);`

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
	if b.updatesInPlace() != no { // what is read is written too
		once = math.Max(once, math.Max(readA, readB)+db*wb)
	}
	moved = da + db
	ok = a.use(kernel.DRAM) >= limits && b.use(kernel.DRAM) >= limits && a.excessShare() < excessMatters &&
		b.excessShare() < excessMatters &&
		moved > reachableTwice*once && da*wa < statisticsWrite*readA && readB >= readsAgain*readA &&
		db*wb >= writesResult*readB
	return once, moved, ok
}
