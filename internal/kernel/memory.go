package kernel

import "fmt"

// A Measure is a number that may not have been collected.
type Measure struct {
	Value float64
	Known bool
}

func measure(v float64, ok bool) Measure { return Measure{v, ok} }

// Memory is the traffic of a kernel between the levels of memory: what a memory chart shows.
type Memory struct {
	Accesses []Access // what instructions asked for, by space and direction; only those that occur
	Links    []Link   // what moved between levels, from the kernel outwards
	Shared   *Shared  // nil: not collected, or no shared memory used
	// Excessive is the share of global sectors that coalesced accesses would not ask for. L1 may
	// absorb them: then they cost passes of L1 and nothing behind it.
	Excessive Measure
	// Local is the share of L1's sectors that is local memory: spilled registers and arrays with a
	// dynamic index.
	Local Measure
	// Spills is executed instructions that the compiler made to spill registers; since 2025.
	Spills Measure
	// Reuse is DRAM bytes over all bytes that the kernel could touch: over 1 proves that bytes moved twice.
	Reuse Measure
	// AtomicBusiest and AtomicMean are the loads of L2's atomic units, the busiest slice and the mean.
	AtomicBusiest, AtomicMean Measure
}

// An Access is loads or stores of one space.
type Access struct {
	Space    string // "global", "local"
	Op       string // "load", "store", "reduction", "atomic"
	Requests float64
	Sectors  float64 // of 32 bytes, looked up in L1
	// PerRequest is sectors a request: 4 is ideal for 4 bytes a lane, 16 for 16, and 32 is a sector a lane.
	PerRequest float64
	Hit        Measure // share of sectors found in L1
	Used       Measure // bytes of a sector that lanes asked for, of 32; since 2024
}

// A Link is what moved between two levels.
type Link struct {
	From, To    string  // "kernel", "L1", "shared memory", "L2", "DRAM", "system memory", "other GPUs"
	Read, Write Measure // bytes, towards and away from the kernel
	Hit         Measure // share of what arrived at To that was found there
}

// Shared is shared memory. A wavefront is one pass; what needs several has bank conflicts.
type Shared struct {
	Loads, Stores, Atomics Measure // wavefronts by what asked
	Wavefronts, Excessive  float64
	// excessive ones are from addresses; else they include arbitration (3 to 9 % without any conflict)
	Exact     bool
	Conflicts float64
	Ways      float64 // wavefronts over those needed: 32 where all lanes meet in one bank
	OfCycles  Measure // share of all L1 cycles that the excessive ones take
}

// Memory is the traffic; nil: none of it was collected.
func (k *Kernel) Memory() *Memory {
	m := &Memory{Accesses: k.accesses(), Links: k.links(), Shared: k.shared()}
	if len(m.Accesses) == 0 && len(m.Links) == 0 && m.Shared == nil {
		return nil
	}
	m.Excessive = measure(k.ExcessiveShare())
	ld, st, ok := k.LocalSectors()
	global, known := k.sum("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
		"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
	m.Local = measure(over(ld+st, ok, ld+st+global, known))
	m.Spills = measure(k.Spilling())
	read, write, ok1 := k.DRAMBytes()
	touched, ok2 := k.AccessibleBytes()
	m.Reuse = measure(over(max(read, write), ok1, touched, ok2))
	if busiest, mean, ok := k.AtomicInput(); ok {
		m.AtomicBusiest, m.AtomicMean = Measure{busiest, true}, Measure{mean, true}
	} else {
		m.AtomicMean = measure(k.percent("lts__d_atomic_input_cycles_active" + ofPeak))
	}
	return m
}

// lsuAccesses is the accesses through the load/store unit, as the profiler's table lists them.
var lsuAccesses = []struct{ Space, Op, metric string }{
	{"global", "load", "global_op_ld"},
	{"global", "store", "global_op_st"},
	{"global", "reduction", "global_op_red"},
	{"global", "atomic", "global_op_atom"},
	{"local", "load", "local_op_ld"},
	{"local", "store", "local_op_st"},
}

func (k *Kernel) accesses() []Access {
	var out []Access
	for _, x := range lsuAccesses {
		requests, ok1 := k.number("l1tex__t_requests_pipe_lsu_mem_" + x.metric + ".sum")
		sectors, ok2 := k.number("l1tex__t_sectors_pipe_lsu_mem_" + x.metric + ".sum")
		if !ok1 || !ok2 || requests <= 0 {
			continue
		}
		a := Access{Space: x.Space, Op: x.Op, Requests: requests, Sectors: sectors, PerRequest: sectors / requests}
		hits, ok1 := k.number("l1tex__t_sectors_pipe_lsu_mem_" + x.metric + "_lookup_hit.sum")
		a.Hit = share01(over(hits, ok1, sectors, ok1))
		if !ok1 {
			a.Hit = share01(k.percent("l1tex__t_sector_pipe_lsu_mem_" + x.metric + "_hit_rate.pct"))
		}
		// Local memory interleaves lanes, which its counter does not know: it says 1 where all 32 are used.
		used, ok := k.number("smsp__sass_average_data_bytes_per_sector_mem_" + x.metric + ".ratio")
		a.Used = Measure{min(used, SectorBytes), ok && used > 0 && x.Space == "global"}
		out = append(out, a)
	}
	return out
}

// share01 is a share that passes of a measurement may have put slightly outside of 0 to 1.
func share01(v float64, ok bool) Measure { return Measure{min(max(v, 0), 1), ok} }

func (k *Kernel) links() []Link {
	var out []Link
	add := func(l Link) {
		if l.Read.Known || l.Write.Known {
			out = append(out, l)
		}
	}
	sectorBytes := func(metrics ...string) Measure {
		v, ok := k.sum(metrics...)
		return Measure{v * SectorBytes, ok}
	}
	add(Link{From: "kernel", To: "L1",
		Read: sectorBytes("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
			"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"),
		Write: sectorBytes("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
			"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"),
		Hit: share01(k.percent("l1tex__t_sector_hit_rate.pct"))})
	add(Link{From: "L1", To: "L2",
		Read:  measure(k.number("l1tex__m_xbar2l1tex_read_bytes.sum")),
		Write: measure(k.number("l1tex__m_l1tex2xbar_write_bytes.sum")),
		Hit:   k.l2Hit()})
	dram := Link{From: "L2", To: "DRAM", Read: measure(k.dram("read")), Write: measure(k.dram("write"))}
	if !dram.Read.Known && !dram.Write.Known {
		dram.Read = measure(k.DRAMBytesByRate()) // both directions: all that this report has
	}
	add(dram)
	for _, x := range []struct{ to, metric string }{{"system memory", "sysmem"}, {"other GPUs", "peer"}} {
		v, ok := k.number("lts__t_sectors_aperture_" + x.metric + "_lookup_miss.sum")
		if ok && v*SectorBytes >= worthALink {
			add(Link{From: "L2", To: x.to, Read: Measure{v * SectorBytes, true}})
		}
	}
	return out
}

// worthALink is bytes below which traffic to other memories is the launch's own bookkeeping: on every
// kernel of the corpus a few sectors of system memory are read.
const worthALink = 64 << 10

// l2Hit is the share of sectors found in L2. Traps: writes may be counted over 100 %, and data on its
// way between the two halves of an A100's or H100's L2 counts too.
func (k *Kernel) l2Hit() Measure {
	if v, ok := k.percent("lts__t_sector_hit_rate.pct"); ok {
		return share01(v, true)
	}
	hit, ok1 := k.number("lts__t_sectors_lookup_hit.sum")
	miss, ok2 := k.number("lts__t_sectors_lookup_miss.sum")
	return share01(over(hit, ok1, hit+miss, ok2))
}

func (k *Kernel) shared() *Shared {
	total, excessive, exact, ok := k.SharedWavefronts()
	if !ok || total <= 0 {
		return nil
	}
	s := &Shared{
		Loads:      measure(k.number("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")),
		Stores:     measure(k.number("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")),
		Atomics:    measure(k.number("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum")),
		Wavefronts: total, Excessive: excessive, Exact: exact,
		Conflicts: excessive / total, Ways: 1,
	}
	if needed := total - excessive; needed > 0 {
		s.Ways = total / needed
	}
	s.OfCycles = share01(k.WavefrontShare(excessive))
	return s
}

// Notes says in sentences what of the traffic stands out.
func (m *Memory) Notes() []string {
	var out []string
	for _, a := range m.Accesses {
		text := fmt.Sprintf("%s %ss: %s sectors per request", a.Space, a.Op, few(a.PerRequest))
		if a.Used.Known {
			text += fmt.Sprintf(", %s of %d bytes of a sector used", few(a.Used.Value), SectorBytes)
		}
		if a.Hit.Known && (a.Op == "load") {
			text += ", " + percentText(a.Hit.Value) + " found in L1"
		}
		out = append(out, text)
	}
	if m.Excessive.Known && m.Excessive.Value >= 0.05 {
		out = append(out, percentText(m.Excessive.Value)+
			" of the sectors that global accesses request would not be needed if accesses were coalesced")
	}
	if s := m.Shared; s != nil {
		text := fmt.Sprintf("shared memory: %s of its wavefronts are bank conflicts", percentText(s.Conflicts))
		if s.Conflicts >= 0.05 {
			text += fmt.Sprintf(" (%s-way on average)", few(s.Ways))
		}
		if !s.Exact {
			text += ", arbitration included"
		}
		out = append(out, text)
	}
	if m.Local.Known && m.Local.Value > 0 {
		text := percentText(m.Local.Value) + " of L1's sectors are local memory"
		if m.Spills.Known && m.Spills.Value > 0 {
			text += ", from spilled registers"
		} else if m.Spills.Known {
			text += ", from arrays with a dynamic index"
		}
		out = append(out, text)
	}
	if m.Reuse.Known && m.Reuse.Value > movedTwice {
		out = append(out, "DRAM moved "+few(m.Reuse.Value)+" times the bytes that the kernel can touch, in one direction")
	}
	if m.AtomicBusiest.Known && m.AtomicBusiest.Value >= 0.1 {
		out = append(out, fmt.Sprintf("atomics: the busiest L2 slice is %s busy with them, the mean slice %s",
			percentText(m.AtomicBusiest.Value), percentText(m.AtomicMean.Value)))
	}
	return out
}
