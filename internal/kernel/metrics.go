package kernel

// This file, loads.go and opcodes.go are the one table of metric names. A quantity has a list of names,
// and the first that was collected counts: names differ between versions of the profiler and between
// chips. Everything returns (value, known); what was not collected is unknown, never zero. Shares are 0 to 1.
//
// Where a formula is from: the profiler's own section files (they travel in every report), and
// measurements on 128 launches from V100 to GB200, 2020.3 to 2025.3.

// number is the first of the names that was collected and can be a measure: no counter, rate or share
// here is negative (differences of passes can be), and none is astronomically large or small.
func (k *Kernel) number(names ...string) (float64, bool) {
	for _, name := range names {
		if v, ok := plausible(k.Launch.Number(name)); ok {
			return v, true
		}
	}
	return 0, false
}

// plausible keeps sums, products and ratios of hostile numbers finite. The largest real one is FLOP a
// second, 1e17.
func plausible(v float64, ok bool) (float64, bool) {
	switch {
	case !ok || !(v >= 0) || v > 1e24:
		return 0, false
	case v < 1e-24:
		return 0, true
	}
	return v, true
}

// percent is a metric in per cent as a share.
func (k *Kernel) percent(names ...string) (float64, bool) {
	v, ok := k.number(names...)
	return v / 100, ok
}

// sum is known only if every name is.
func (k *Kernel) sum(names ...string) (total float64, known bool) {
	for _, name := range names {
		v, ok := k.number(name)
		if !ok {
			return 0, false
		}
		total += v
	}
	return total, true
}

// over is a/b, unknown if either is or if nothing was counted.
func over(a float64, aKnown bool, b float64, bKnown bool) (float64, bool) {
	if !aKnown || !bKnown || b <= 0 {
		return 0, false
	}
	return a / b, true
}

// Attribute is a device attribute by its name without prefix: "multiprocessor_count". It is in every
// report since 2020.3, with every launch, even where one section was collected.
func (k *Kernel) Attribute(name string) (float64, bool) {
	if v, ok := k.number("device__attribute_" + name); ok {
		return v, true
	}
	if k.Launch.Report == nil {
		return 0, false
	}
	for _, d := range k.Launch.Report.Session.Devices {
		if d.ID != k.Launch.Device {
			continue
		}
		for _, a := range d.Attributes {
			if a.Name == name {
				return plausible(a.Value.Number())
			}
		}
	}
	return 0, false
}

// DeviceName is the GPU's name; "" if the report does not say.
func (k *Kernel) DeviceName() string {
	if s, ok := k.Launch.Text("device__attribute_display_name"); ok {
		return s
	}
	if k.Launch.Report != nil {
		for _, d := range k.Launch.Report.Session.Devices {
			if d.ID == k.Launch.Device {
				return d.Name
			}
		}
	}
	return ""
}

// Capability is the compute capability, as 75 for 7.5.
func (k *Kernel) Capability() (int, bool) {
	major, ok1 := k.Attribute("compute_capability_major")
	minor, ok2 := k.Attribute("compute_capability_minor")
	if !ok1 || !ok2 {
		return 0, false
	}
	return int(major)*10 + int(minor), true
}

// SMs is how many multiprocessors the kernel could use.
func (k *Kernel) SMs() (float64, bool) {
	if v, ok := k.number("launch__sm_count"); ok && v > 0 {
		return v, true
	}
	v, ok := k.Attribute("multiprocessor_count")
	return v, ok && v > 0
}

// GridBlocks is the number of thread blocks of the grid.
func (k *Kernel) GridBlocks() (float64, bool) { return volume(k.Launch.Grid) }

// BlockThreads is the number of threads of a thread block.
func (k *Kernel) BlockThreads() (float64, bool) { return volume(k.Launch.Block) }

func volume(d [3]uint32) (float64, bool) {
	v := float64(d[0]) * float64(d[1]) * float64(d[2])
	return v, v > 0
}

// Waves is how many times the device is filled by the grid: blocks / (blocks an SM holds x SMs).
func (k *Kernel) Waves() (float64, bool) {
	if o := k.Occupancy(); o != nil {
		return o.Waves, o.Waves > 0
	}
	return k.number("launch__waves_per_multiprocessor")
}

// Cycles is SM cycles summed over SMs: what one unit an SM could count at most at one a cycle. Only
// some versions have the sum; without the other two forms a share of it would be wrong by the number
// of SMs.
func (k *Kernel) Cycles() (float64, bool) {
	if v, ok := k.number("sm__cycles_elapsed.sum"); ok {
		return v, true
	}
	if v, ok := k.number("smsp__cycles_elapsed.sum"); ok { // of the four quarters of each
		return v / 4, true
	}
	cycles, ok1 := k.number("sm__cycles_elapsed.avg", "sm__cycles_elapsed.max", "smsp__cycles_elapsed.avg",
		"smsp__cycles_elapsed.max", "gpc__cycles_elapsed.max")
	sms, ok2 := k.SMs()
	return cycles * sms, ok1 && ok2
}

// AccessibleBytes is all device memory that the kernel could touch: an upper bound of its footprint,
// so that more DRAM traffic than that is proof that bytes moved twice. Not in it: local memory. Traps:
// it may hold arrays that this kernel leaves alone.
func (k *Kernel) AccessibleBytes() (float64, bool) {
	const base = "profiler__replayer_bytes_mem_accessible" // its .sum is over passes
	v, ok := k.number(base+".avg", base+".max", base+".min")
	return v, ok && v > 0
}

// Lanes is how many of 32 threads do the work of an instruction on average, predication counted. The
// plain ratio misses predicated-off lanes (31.8 for 18.7 in a strided reduction).
func (k *Kernel) Lanes() (float64, bool) {
	return k.number("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")
}

// LanesBranched is how many of 32 threads are in the branch on average, predication not counted.
func (k *Kernel) LanesBranched() (float64, bool) {
	return k.number("smsp__thread_inst_executed_per_inst_executed.ratio")
}

// ActiveShare is how much of the launch the average SM had work.
func (k *Kernel) ActiveShare() (float64, bool) {
	a, ok1 := k.number("sm__cycles_active.avg")
	e, ok2 := k.number("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg", "smsp__cycles_elapsed.max",
		"smsp__cycles_elapsed.avg", "gpc__cycles_elapsed.max")
	v, ok := over(a, ok1, e, ok2)
	return min(v, 1), ok
}

// Imbalance is how much less than the busiest SM the average SM had work: 0 balanced, near 1 one SM
// works alone. Since 2024.1 only: older versions have no maximum.
func (k *Kernel) Imbalance() (float64, bool) {
	a, ok1 := k.number("sm__cycles_active.avg")
	m, ok2 := k.number("sm__cycles_active.max")
	v, ok := over(a, ok1, m, ok2)
	return max(0, 1-v), ok
}

// AtomicInput is the load of the busiest L2 slice's atomic unit, and of the average one: a large
// maximum with a small average is one address that all threads add to. Only since 2024.1 both.
func (k *Kernel) AtomicInput() (busiest, mean float64, known bool) {
	busiest, ok1 := k.percent("lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed")
	mean, ok2 := k.percent("lts__d_atomic_input_cycles_active" + ofPeak)
	return busiest, mean, ok1 && ok2
}

// GlobalSectors is the 32-byte sectors that global accesses ask for by their addresses, and how many
// of them a perfectly coalesced access would not need. Theoretical: L1 may absorb them. 2020.3 has
// the same under names without "theoretical" (39.1 e9 beside 38.9 e9 sectors counted by L1).
func (k *Kernel) GlobalSectors() (total, excessive float64, known bool) {
	for _, n := range [][2]string{
		{"memory_l2_theoretical_sectors_global", "derived__memory_l2_theoretical_sectors_global_excessive"},
		{"memory_l2_sectors_global", "derived__memory_l2_sectors_global_excessive"},
	} {
		t, ok1 := k.number(n[0])
		e, ok2 := k.number(n[1])
		if !ok2 {
			ideal, ok := k.number(n[0] + "_ideal")
			e, ok2 = t-ideal, ok
		}
		if ok1 && ok2 {
			return t, min(max(e, 0), t), true
		}
	}
	return 0, 0, false
}

// ExcessiveShare is the share of global sectors that are fetched or written for nothing.
func (k *Kernel) ExcessiveShare() (float64, bool) {
	t, e, ok := k.GlobalSectors()
	return over(e, ok, t, ok)
}

// UsefulBytes is what global accesses would move if they were coalesced, in sectors of 32 bytes.
func (k *Kernel) UsefulBytes() (float64, bool) {
	t, e, ok := k.GlobalSectors()
	return (t - e) * SectorBytes, ok
}

// SectorBytes is what L1, L2 and DRAM move at least.
const SectorBytes = 32

// LineBytes is a cache line: four sectors, one tag.
const LineBytes = 128

// TagRequests is the L1 cycles of global access: one for each line that a request touches, 32 where
// 32 lanes touch 32 lines. l1tex__t_output_wavefronts says 8 there: too small. Since 2021.2.
func (k *Kernel) TagRequests() (float64, bool) { return k.number("memory_l1_tag_requests_global") }

// SharedWavefronts is the passes of shared memory, and how many of them are due to bank conflicts.
// Exact says that both were computed from addresses; else (2020.3) conflicts include arbitration,
// 3 to 9 % on kernels without a conflict.
func (k *Kernel) SharedWavefronts() (total, excessive float64, exact, known bool) {
	t, ok1 := k.number("memory_l1_wavefronts_shared")
	e, ok2 := k.number("derived__memory_l1_wavefronts_shared_excessive")
	if ok1 && !ok2 {
		ideal, ok := k.number("memory_l1_wavefronts_shared_ideal")
		e, ok2 = t-ideal, ok
	}
	if ok1 && ok2 {
		return t, min(max(e, 0), t), true, true
	}
	t, ok1 = k.number("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
	e, ok2 = k.number("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")
	return t, min(max(e, 0), t), false, ok1 && ok2
}

// Wavefronts is all passes of L1 and shared memory: the share of the pipe x cycles, of which a pass takes one, and two
// on Turing.
func (k *Kernel) Wavefronts() (float64, bool) {
	if v, ok := k.number("l1tex__data_pipe_lsu_wavefronts.sum"); ok {
		return v, true
	}
	share, ok1 := k.Load(L1)
	cycles, ok2 := k.Cycles()
	return share * cycles / k.wavefrontClocks(), ok1 && ok2
}

// WavefrontShare is the share of L1's time that so many wavefronts take.
func (k *Kernel) WavefrontShare(wavefronts float64) (float64, bool) {
	cycles, ok := k.Cycles()
	return over(wavefronts*k.wavefrontClocks(), true, cycles, ok)
}

// DRAMBytes is what device memory read and wrote. Writes that are still in L2 when the kernel ends
// are not in it.
func (k *Kernel) DRAMBytes() (read, write float64, known bool) {
	read, ok1 := k.dram("read")
	write, ok2 := k.dram("write")
	return read, write, ok1 && ok2
}

func (k *Kernel) dram(op string) (float64, bool) {
	if v, ok := k.number("dram__bytes_" + op + ".sum"); ok {
		return v, true
	}
	v, ok := k.number("dram__sectors_" + op + ".sum")
	return v * SectorBytes, ok
}

// DRAMBytesByRate is all device memory traffic from its rate or its load: for reports without the
// counters of reads and writes.
func (k *Kernel) DRAMBytesByRate() (float64, bool) {
	us, ok := k.Microseconds()
	if !ok {
		return 0, false
	}
	if v, ok := k.number("dram__bytes.sum"); ok {
		return v, true
	}
	if v, ok := k.number("dram__bytes.sum.per_second"); ok {
		return v * us * 1e-6, true
	}
	return 0, false
}

// L2TexBytes is what L2 moved for the SMs in both directions: sectors x 32.
func (k *Kernel) L2TexBytes() (float64, bool) {
	v, ok := k.number("lts__t_sectors_srcunit_tex.sum")
	return v * SectorBytes, ok
}

// L2TexRequests is requests of SMs that L2 looked up.
func (k *Kernel) L2TexRequests() (float64, bool) {
	return k.number("lts__t_requests_srcunit_tex.sum")
}

// LocalSectors is L1 sectors of local memory (spills, arrays with dynamic index), loads and stores.
func (k *Kernel) LocalSectors() (loads, stores float64, known bool) {
	loads, ok1 := k.number("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum")
	stores, ok2 := k.number("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum")
	return loads, stores, ok1 && ok2
}

// Spilling is executed instructions that the compiler made to spill registers. Since 2025.1: local
// memory without any is an array with a dynamic index.
func (k *Kernel) Spilling() (float64, bool) { return k.number("sass__inst_executed_register_spilling") }

// Instructions is executed warp instructions.
func (k *Kernel) Instructions() (float64, bool) {
	return k.number("sass__inst_executed_per_opcode", "smsp__inst_executed.sum", "sm__inst_executed.sum",
		"inst_executed")
}

// Rate is a domain's measured clock in cycles a second: "sm", "lts", "dram", "l1tex".
func (k *Kernel) Rate(domain string) (float64, bool) {
	names := []string{domain + "__cycles_elapsed.avg.per_second"}
	if domain == "sm" {
		names = append(names, "smsp__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second")
	}
	v, ok := k.number(names...)
	return v, ok && v > 0
}
