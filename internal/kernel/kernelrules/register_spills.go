package kernelrules

import (
	"fmt"
	"math"

	"lacuna/internal/kernel"
)

var registerSpills = Rule{
	ID:    "register_spills",
	Title: "Register spills, or arrays in local memory",
	Since: "0.2",
	Needs: []Need{needTime, needLocal},
	Doc: `
Local memory is a thread's stack. It is in DRAM behind L1 and L2, and holds what the compiler could not keep in
registers, and arrays whose index is known only at run time. It is a finding when at least a tenth of the sectors
that L1 moves for local and global memory are local, and the kernel suffers from it: a unit that local memory goes
through (L1 to DRAM) is what limits it, at 60 % or more, or warps wait for local memory for 30 % of their time. That is
the part of Long Scoreboard that local loads have among all loads, one that leaves L1 counted eight times, and of LG
Throttle the part of local sectors. Otherwise it is only mentioned. There is no threshold for instructions: local stores
go through L1 to L2 at once, and 4 % of the instructions were seen to cause 95 % of the L2 traffic.

The count of spilling instructions (since 2025.1) separates spills from indexed arrays. The time after the fix
leaves out the local wavefronts of L1, the local sectors of L2 and the local instructions; DRAM moves at most what
the kernel can touch, and at most the sectors that its global accesses ask for.`,
	Limits: `
More registers per thread mean fewer warps: the fixed kernel may wait more, which the range does not include. Spills
in code that rarely runs are not reported, on purpose.`,
	Fix: `
Spills: allow more registers, even if occupancy falls, or keep fewer values live (less unrolling, smaller tiles):

    __launch_bounds__(256, 2)             // not (256, 8), which caps a thread at 32 registers
    nvcc -maxrregcount=128                // the same for a file

An array with an index known at run time: unroll the loop so that indices are constants, or put the array in shared
memory, one column per thread:

    __shared__ int cnt[64][256];          // cnt[bin][threadIdx.x]: no conflicts, no local memory`,
	RefutedBy: `Compiling with -Xptxas -v shows no stack frame and no spills for this kernel.`,
	Check:     checkSpills,
}

// localMatters is the share of L1 sectors that are local from which the stack is worth a word: a tenth of the traffic.
const localMatters = 0.1

func checkSpills(c *Case, out *Findings) {
	loads, stores, ok := c.LocalSectors()
	global := c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") +
		c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
	share := (loads + stores) / (loads + stores + global)
	if !ok || !(share >= localMatters) {
		return
	}
	spilled := known(c.Spilling())
	what, fix := "local memory", ""
	switch {
	case spilled > 0:
		what = "registers spilled to local memory"
	case spilled == 0:
		what, fix = "an array in local memory, indexed at run time",
			"Keep the array out of local memory: unroll so that its indices are constants, or put it in shared "+
				"memory with one column per thread. More registers per thread do not help: nothing is spilled."
	}
	f := out.Add(0.9, "%s: %s of L1's traffic", what, percent(share))
	f.Fix = fix
	f.Because("%s sectors of local loads and %s of local stores, beside %s of global memory", digits(loads),
		digits(stores), digits(global))
	if n := c.number("smsp__sass_inst_executed_op_local_ld.sum", "sass__inst_executed_local_loads") +
		c.number("smsp__sass_inst_executed_op_local_st.sum", "sass__inst_executed_local_stores"); n > 0 {
		f.Because("%s of the instructions are local loads and stores", percent(n/c.instructions()))
	}
	if spilled >= 0 {
		f.Because("%s executed instructions are the compiler's spills; the kernel has %s registers per thread",
			digits(spilled), digits(c.number("launch__registers_per_thread")))
	}
	if dram, _ := c.dramBytes(); dram > reachableTwice*c.reachable() {
		f.Because("DRAM moved %s, and the kernel's arrays are at most %s: the rest is local memory", bytesText(dram),
			bytesText(c.reachable()))
	}
	f.Places = c.HotOpcodes("LDL", "STL")
	r := c.withoutStack(loads, stores, spilled == 0)
	if !c.limitedBy(localPath...) {
		waits := c.waitsForLocal(loads, stores, global)
		if !(waits >= localWaited) {
			f.Because("it is not what limits the kernel: %s", c.notLocal(waits))
			out.mention()
			return
		}
		r.low, r.wait = 1-waits, 1-waits
	}
	if words := c.roomForRegisters(); words != "" && spilled != 0 {
		f.Because("%s", words)
		f.Fix = fewerLive
	}
	c.expect(f, r)
}

// localPath is what local memory goes through: where none of it is the busiest unit, warps may still wait for it.
var localPath = []kernel.Resource{kernel.L1, kernel.LSUIn, kernel.L1Req, kernel.L1Fill, kernel.L2, kernel.L2Tag,
	kernel.L2In, kernel.L2Out, kernel.DRAM}

// localWaited is the share of the warps' time that they wait for local memory from which it is to blame where no unit
// is at its limit: NVIDIA's line for a stall reason.
const localWaited = 0.3

// missWeighs is the latency of a load that L1 does not hold over that of one that it does: about 260 cycles to L2 and
// 33 to L1 on chips from V100 to H100, as microbenchmarks found.
const missWeighs = 8

// waitsForLocal is the share of the warps' time that they wait for local memory: of Long Scoreboard the part of local
// loads, those that leave L1 weighted by how much longer they take, and of the queue's the part of local sectors.
func (c *Case) waitsForLocal(loads, stores, global float64) float64 {
	local := c.weighed(loads, "local")
	others := c.weighed(c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), "global")
	waits := c.stall("lg_throttle") * (loads + stores) / (loads + stores + global)
	if local+others > 0 {
		waits += c.stall("long_scoreboard") * local / (local + others)
	}
	return waits
}

func (c *Case) weighed(loads float64, space string) float64 {
	hit := orZero(c.number("l1tex__t_sector_pipe_lsu_mem_"+space+"_op_ld_hit_rate.pct")) / 100
	return loads * (hit + (1-hit)*missWeighs)
}

// notLocal is why local memory does not limit a kernel, in words.
func (c *Case) notLocal(waits float64) string {
	at, most := c.limiter()
	words := fmt.Sprintf("the busiest unit, %s, is at %s", nameOf(at), percent(most))
	if waits >= 0 {
		words += fmt.Sprintf(", and warps wait for local memory for %s of their time", percent(waits))
	}
	return words
}

// roomForRegisters says that a thread cannot have more registers with as many threads as the block has; "": it can.
func (c *Case) roomForRegisters() string {
	now, threads := c.number("launch__registers_per_thread"), lanesPerWarp*c.warpsPerBlock()
	file := c.number("device__attribute_max_registers_per_multiprocessor")
	most := c.number("device__attribute_max_registers_per_thread")
	if !(now > 0 && threads > 0 && file > 0) {
		return ""
	}
	possible := math.Floor(file/threads/registerStep) * registerStep
	if most > 0 {
		possible = math.Min(possible, most)
	}
	if now+registerStep <= possible {
		return ""
	}
	return fmt.Sprintf("a thread has %s registers, and cannot have more in blocks of %s threads", digits(now),
		digits(threads))
}

// registerStep is in what steps a thread's registers are allocated.
const registerStep = 8

const fewerLive = `Keep fewer values live: unroll less, use smaller tiles, put what is used seldom in shared memory. Or use
smaller blocks, so that a thread may have more registers: 256 threads may have 255 each.`

// withoutStack takes local memory out. An array moves to shared memory: its accesses stay, a pass each.
func (c *Case) withoutStack(loads, stores float64, array bool) *repair {
	r := asNow()
	r.removes(memoryReasons...)
	instructions := orZero(c.number("smsp__sass_inst_executed_op_local_ld.sum", "sass__inst_executed_local_loads")) +
		orZero(c.number("smsp__sass_inst_executed_op_local_st.sum", "sass__inst_executed_local_stores"))
	passes := localPasses(loads+stores, instructions)
	if array {
		passes -= instructions
	} else {
		r.leave(1-instructions/c.instructions(), kernel.Issue)
		requests := orZero(c.globalInstructions()) + orZero(c.number("smsp__sass_inst_executed_op_shared.sum"))
		r.leave(requests/(requests+instructions), kernel.LSUIn)
	}
	if w := c.wavefronts(); w > 0 && passes > 0 {
		r.leave(math.Max(0, w-passes)/w, kernel.L1)
	}
	// L1 writes local stores through; loads go on only if they miss.
	missed := loads * (1 - orZero(c.number("l1tex__t_sector_pipe_lsu_mem_local_op_ld_hit_rate.pct"))/100)
	if v := c.number("l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_miss.sum"); v >= 0 {
		missed = v
	}
	sectors := known(c.L2TexBytes()) / sectorBytes
	r.leave(math.Max(0, sectors-missed-stores)/sectors, kernel.L2, kernel.L2Tag, kernel.L2Out, kernel.L2In,
		kernel.L1Req, kernel.L1Fill)
	dram, _ := c.dramBytes()
	r.leave(math.Min(atLeast(c.reachable()), atLeast(c.globalSectors()*sectorBytes))/dram, kernel.DRAM)
	return r
}

// globalSectors is the sectors that L1 looks up for global memory: what DRAM moves without local memory is no more.
func (c *Case) globalSectors() float64 {
	sectors := c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") +
		c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
	for _, op := range []string{"red", "atom"} {
		sectors += orZero(c.number("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum"))
	}
	return sectors
}

// localPasses is the cycles of L1 of local accesses: a full line of four sectors in one pass, and one
// pass a sector where lanes touch rows of their own.
func localPasses(sectors, instructions float64) float64 {
	if instructions > 0 && sectors/instructions > 2*lineBytes/sectorBytes {
		return sectors
	}
	return sectors * sectorBytes / lineBytes
}
