package kernelrules

import (
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
that L1 moves for local and global memory are local. There is no threshold for instructions: local stores go through
L1 to L2 at once, and 4 % of the instructions were seen to cause 95 % of the L2 traffic.

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
	c.expect(f, c.withoutStack(loads, stores, spilled == 0))
}

// withoutStack takes local memory out. An array moves to shared memory: its accesses stay, a pass each.
func (c *Case) withoutStack(loads, stores float64, array bool) *repair {
	r := asNow()
	// the addresses of the stack go too, at best
	r.only = []kernel.Resource{kernel.DRAM, kernel.L2, kernel.L2Out, kernel.FMA}
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
