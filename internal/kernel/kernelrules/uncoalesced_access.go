package kernelrules

import (
	"fmt"
	"math"
	"slices"

	"lacuna/internal/kernel"
)

var uncoalescedAccess = Rule{
	ID:    "uncoalesced_access",
	Title: "Uncoalesced global accesses: threads of a warp read or write far apart",
	Since: "0.2",
	Needs: []Need{needTime, needDRAM, needGlobal},
	Doc: `
The 32 lanes of a warp access addresses that are not adjacent, so more sectors of 32 bytes move than the used bytes
need. It is a finding when at least a quarter of the sectors that global loads and stores request are not used, and
the kernel's limit moves in proportion to sectors (DRAM, L2 or L1, at 60 % of its peak or more, NVIDIA's threshold).
Where none of these is near its limit, L1 absorbs the excess at no cost, with one exception: at least half of the
sectors are in excess, L2 moves twice the bytes that are used, warps wait for global memory (Long Scoreboard) for 60
% of their time, and for room in its queue (LG Throttle) for 20 %.

The time after the fix is what is left when only used bytes move: DRAM and L2 move those, L1 takes one wavefront per
full line of 128 bytes.`,
	Limits: `
Loads, stores and atomics whose addresses come from loaded data (a linked list, a gather of single values, a
histogram of many bins) or from a hash are left out: their spread is inherent, and is mentioned only. A row that is
found by an index and then walked (more than four accesses for each index, or by lanes that share the index) is not
such an access. This is read from
the machine code; of a report without it (a CSV) nothing is priced, and the confidence is under a half. Values are not
followed through shared memory or called functions.
Reports of 2020.3 count sectors differently; older ones have none. The prediction assumes that every sector can be
filled: a new layout does that, a shuffle may not.`,
	Fix: `
Let neighbouring threads access neighbouring addresses. Change an array of structures to a structure of arrays:

    struct Particle { float x, y, z, m, rest[12]; };      // 64 bytes apart: lanes use 4 of every 64
    float v = p[i].x;

    float *x;                                              // side by side: all bytes are used
    float v = x[i];

Let a warp walk a row together (i = lane; i < n; i += 32) instead of one thread per row. Transpose through a tile in
shared memory.`,
	RefutedBy: `Sectors per request are near the ideal for the access width (4 for 4-byte loads, 16 for 16-byte ones),
or the kernel does not get faster when the strided array is replaced by a dense one of the same length.`,
	Check: checkUncoalesced,
}

const (
	// excessMatters is the share of sectors fetched or stored for nothing from which coalescing is worth a word: a
	// quarter.
	excessMatters = 0.25
	// gatherMatters is the share of loads whose addresses come from loaded data from which a kernel counts as random.
	gatherMatters = 0.5
	// A kernel without a limiter waits for wasted sectors if they are most, L1 does not absorb them, and warps do
	// little else.
	mostlyWaste, waitsForMemory, wasteReachesL2 = 0.5, 0.6, 2
	// of the waiting: loads whose addresses follow from data, as in a search, wait for each other and leave room
	queueFull = 0.2
)

func checkUncoalesced(c *Case, out *Findings) {
	exc := c.excessShare()
	if !(exc >= excessMatters) {
		return
	}
	spread := c.scattered()
	if inherent := spread.excess; inherent >= exc-excessMatters {
		if !(inherent >= excessMatters) {
			return
		}
		f := out.Add(0.8, "Accesses scattered by data: %s of the sectors hold nothing else that their warp asks for, "+
			"and no layout changes that", percent(inherent))
		f.Because("the addresses follow from loaded data or from a hash: neighbouring threads have no neighbouring ones")
		f.Fix = "Layout alone gains nothing. Sorted indices, smaller elements, or data that fits L2 or shared memory " +
			"may: measure."
		out.mention()
		return
	}
	limited := c.limitedBy(kernel.DRAM, kernel.L2, kernel.L2Tag, kernel.L2Out, kernel.L2In, kernel.L1, kernel.L1Req,
		kernel.L1Fill, kernel.LSUIn)
	if !limited && !c.waitsForWaste(exc) {
		return
	}
	if !limited && c.Code() == nil { // whether its loads are random by nature is in the code
		out.abstain(needCode)
		return
	}
	at, most := c.limiter()
	total, _, _ := c.GlobalSectors()
	f := out.Add(0.9, "Uncoalesced global accesses: %s of the sectors are not used", percent(exc))
	again := c.usedBytes() / known(c.L2TexBytes())
	reused := again >= tilingReuse && slices.Contains(inL1, at)
	if reused {
		f.Title = fmt.Sprintf("Uncoalesced global accesses: %s of the requested sectors are asked for more than once", percent(exc))
		f.Fix = onceFix
	}
	f.Because("global loads and stores request %s sectors of 32 bytes; %s would do", digits(total),
		digits(total*(1-exc)))
	for _, op := range []struct{ op, words string }{{"ld", "load"}, {"st", "store"}} {
		if n := c.sectorsPerRequest(op.op); n > 0 {
			used := c.number("smsp__sass_average_data_bytes_per_sector_mem_global_op_"+op.op+".ratio",
				"smsp__sass_average_data_bytes_per_sector_mem_global_op_"+op.op+".pct")
			if math.IsNaN(used) {
				f.Because("%s sectors per warp %s", digits(n), op.words)
				continue
			}
			f.Because("%s sectors per warp %s; %s of the 32 bytes of a sector are used", digits(n), op.words,
				digits(used))
		}
	}
	switch {
	case reused:
		f.Because("L1 serves them: each byte that comes from L2 is loaded %s times; what it costs is passes of L1, one for "+
			"each line that a request touches", digits(math.Floor(again)))
		f.Because("%s is at %s of its peak", nameOf(at), percent(most))
	case limited:
		f.Because("%s is at %s of its peak, and moves in proportion to sectors", nameOf(at), percent(most))
	default:
		f.Because("warps wait for global memory (Long Scoreboard) for %s of their time, and L2 moves %s for %s "+
			"that are used", percent(c.stalls("long_scoreboard", "lg_throttle")), bytesText(known(c.L2TexBytes())),
			bytesText(c.usedBytes()))
	}
	f.Places = c.HotUncoalesced()
	if !spread.known {
		f.Confidence = withoutCode
		f.Because("no time is predicted: whether addresses follow from data, which no layout changes, is in the " +
			"machine code with counts of each instruction, and this report lacks them or its code is not understood")
		return
	}
	c.expect(f, c.coalesced())
}

// inL1 is what limits a kernel whose excess of sectors does not get behind L1.
var inL1 = []kernel.Resource{kernel.L1, kernel.LSUIn}

// onceFix is for data that is loaded many times: another layout leaves the loads.
const onceFix = `Each value is loaded many times: bring it once. Copy a tile to shared memory in rows that neighbouring
threads read side by side (16 bytes per thread where addresses allow), compute from there, and keep several results per
thread in registers. A product of matrices or a convolution is also in a library (cuBLAS, cuDNN, CUTLASS). A smaller step:
let neighbouring threads take neighbouring columns, so that one load of a warp touches few lines.

    __shared__ float b[8][128];
    for (int k = 0; k < K; k += 8) {
        load(b, B, k); __syncthreads();                    // side by side: 128 bytes per warp and row
        for (int i = 0; i < 8; i++) for (c...) acc[c] += a[i] * b[i][x + 16 * c];
        __syncthreads();
    }`

// waitsForWaste says that nothing is near its peak because warps wait for accesses most of whose sectors are for
// nothing: queues fill with the sectors of a few instructions, and DRAM opens rows for single sectors.
func (c *Case) waitsForWaste(excess float64) bool {
	total, _, _ := c.GlobalSectors()
	if c.atomicSectors() >= mostlyWaste*total {
		return false
	}
	return excess >= mostlyWaste && c.latencyBound() && c.stall("lg_throttle") >= queueFull &&
		c.stalls("long_scoreboard", "lg_throttle") >= waitsForMemory &&
		known(c.L2TexBytes()) >= wasteReachesL2*c.usedBytes()
}

// coalesced is what is left when accesses move only the bytes that are used.
func (c *Case) coalesced() *repair {
	total, _, _ := c.GlobalSectors()
	stays := c.scattered().excess * total // sectors of accesses that data scatters
	used := c.usedBytes() + stays*sectorBytes
	dram, _ := c.dramBytes()
	lines := c.usedBytes()/lineBytes + stays
	r := asNow().removes(memoryReasons...).
		leave(math.Min(used, atLeast(c.reachable()))/dram, kernel.DRAM).
		leave(used/known(c.L2TexBytes()), kernel.L2, kernel.L2Out, kernel.L1Fill)
	requests := known(c.L2TexRequests())
	r.leave(lines/requests, kernel.L2Tag)
	// A partly filled sector of a store costs a whole one on the way to L2.
	stored := orZero(c.number("lts__t_sectors_srcunit_tex_op_write.sum"))
	full := stored * math.Min(1, c.storedUse())
	r.leave((lines+full)/(requests+stored), kernel.L2In, kernel.L1Req)
	// Passes of L1 fall from one a line touched to one a line used.
	if w := c.wavefronts(); w > 0 {
		r.leave(math.Max(0, w-math.Max(0, known(c.TagRequests())-lines))/w, kernel.L1)
	}
	return r
}

// atLeast is an upper bound, infinite where it is unknown.
func atLeast(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// storedUse is the share of the bytes of stored sectors that a store fills, 1 where that is not known.
func (c *Case) storedUse() float64 {
	if n := c.number("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"); n > 0 {
		return n / sectorBytes
	}
	return 1
}

// nameOf is a resource in words.
func nameOf(id kernel.Resource) string {
	for _, r := range resources {
		if r.id == id {
			return r.name
		}
	}
	return string(id)
}
