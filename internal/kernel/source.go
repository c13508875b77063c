package kernel

import (
	"cmp"
	"math"
	"slices"

	"lacuna/internal/kernel/cubin"
)

// This file says where in a kernel something is spent: by source line, most first. Samples of waiting warps are moved
// from the instruction that waited to the one that it waited for, since that is the line to change.

// Hot is where the metrics, added up, are counted: by source line, the most first, or by instruction where the module
// has no lines. Empty: none was collected per instruction, or all are 0.
func (k *Kernel) Hot(metrics ...string) []Place {
	c := k.Code()
	if c == nil {
		return nil
	}
	var sum []float64
	for _, m := range metrics {
		sum = add(sum, c.Counts(m))
	}
	return c.Places(sum)
}

// HotExcess is where a metric is above its ideal: sectors or wavefronts that another layout would not need.
func (k *Kernel) HotExcess(metric, ideal string) []Place {
	c := k.Code()
	if c == nil {
		return nil
	}
	have, need := c.Counts(metric), c.Counts(ideal)
	if have == nil || need == nil {
		return nil
	}
	excess := make([]float64, len(have))
	for i := range have {
		excess[i] = max(0, have[i]-need[i])
	}
	return c.Places(excess)
}

// HotUncoalesced is where sectors of global memory are fetched or stored in vain.
func (k *Kernel) HotUncoalesced() []Place {
	return k.HotExcess("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal")
}

// HotConflicts is where shared memory needs more passes than the width of the accesses asks for.
func (k *Kernel) HotConflicts() []Place {
	return k.HotExcess("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")
}

// HotOpcodes is where instructions of these names ("LDL", "MUFU", "IMAD.WIDE") are executed.
func (k *Kernel) HotOpcodes(names ...string) []Place {
	return k.HotWhere(func(i Instruction) bool { return slices.Contains(names, i.Name) })
}

// HotWhere is where the instructions that are asked for are executed, by warps.
func (k *Kernel) HotWhere(want func(Instruction) bool) []Place {
	c := k.Code()
	if c == nil {
		return nil
	}
	executed := c.Counts("inst_executed")
	counts := make([]float64, len(executed))
	for i, n := range executed {
		if want(c.Instructions[i]) {
			counts[i] = n
		}
	}
	return c.Places(counts)
}

// warpLanes is how many threads a warp has on every GPU that CUDA ran on.
const warpLanes = 32

// HotDivergence is where warps part ways: branches that sent threads of a warp both ways, else instructions that were
// executed with lanes switched off, by branches before them or by a predicate.
func (k *Kernel) HotDivergence() []Place {
	if places := k.Hot("smsp__branch_targets_threads_divergent"); len(places) > 0 {
		return places
	}
	return k.HotIdleLanes()
}

// HotIdleLanes is where lanes are switched off, counted in lanes.
func (k *Kernel) HotIdleLanes() []Place {
	c := k.Code()
	if c == nil {
		return nil
	}
	executed, on := c.Counts("inst_executed"), c.Counts("thread_inst_executed_true")
	if executed == nil || on == nil {
		return nil
	}
	idle := make([]float64, len(executed))
	for i := range executed {
		idle[i] = max(0, warpLanes*executed[i]-on[i])
	}
	return c.Places(idle)
}

// StallMetric is the samples of warps in a state, by instruction: "long_scoreboard". Samples and counters of one state
// differ in the number of a word.
func StallMetric(reason string) string {
	if reason == "no_instruction" {
		reason = "no_instructions"
	}
	return "smsp__pcsamp_warps_issue_stalled_" + reason
}

// HotStalls is where warps are made to wait for these reasons ("long_scoreboard", "barrier"): the load whose result
// they wait for, the barrier before the instruction at which they were sampled; for other reasons that instruction
// itself.
func (k *Kernel) HotStalls(reasons ...string) []Place {
	c := k.Code()
	if c == nil {
		return nil
	}
	var sum []float64
	for _, reason := range reasons {
		sum = add(sum, c.Caused(reason))
	}
	return c.Places(sum)
}

// Caused is the samples of a stall reason by the instruction that causes it; nil: not collected.
func (c *Code) Caused(reason string) []float64 {
	samples := c.Counts(StallMetric(reason))
	if samples == nil || !moves(reason) {
		return samples
	}
	caused := make([]float64, len(samples))
	first, body := -1, []cubin.Instruction(nil)
	for i, n := range samples {
		if n == 0 {
			continue
		}
		if c.Instructions[i].body != first || body == nil {
			first, body = c.body(i)
		}
		at := causes(body, i-first, reason)
		for _, p := range at {
			caused[first+p] += n / float64(len(at))
		}
	}
	return caused
}

// moves says whether samples of a reason sit at another instruction than the one that causes them.
func moves(reason string) bool {
	switch reason {
	case "barrier", "membar", "long_scoreboard", "short_scoreboard":
		return true
	}
	return false
}

// furthest is how many instructions back the barrier is looked for that a sample belongs to.
const furthest = 4096

// causes are the instructions that the i-th waits for; itself if none is found.
func causes(list []cubin.Instruction, i int, reason string) []int {
	switch reason {
	case "barrier", "membar":
		want := map[string]string{"barrier": "BAR", "membar": "MEMBAR"}[reason]
		for p := i - 1; p >= max(0, i-furthest); p-- {
			if list[p].Name == want {
				return []int{p}
			}
		}
		return []int{i}
	}
	all := cubin.Producers(list, i)
	fitting := slices.DeleteFunc(slices.Clone(all), func(p int) bool { return !brings(list[p], reason) })
	switch {
	case len(fitting) > 0:
		return fitting
	case len(all) > 0:
		return all
	}
	return []int{i}
}

// brings says whether an instruction's result is waited for under that reason: long is memory beyond the SM's shared
// memory, short is shared memory, shuffles and the special function unit.
func brings(i cubin.Instruction, reason string) bool {
	switch i.Kind {
	case cubin.LoadGlobal, cubin.LoadLocal, cubin.CopyToShared, cubin.Atomic, cubin.StoreGlobal, cubin.StoreLocal:
		return reason == "long_scoreboard"
	case cubin.LoadShared, cubin.StoreShared:
		return reason == "short_scoreboard"
	}
	return reason == "short_scoreboard" && i.Writes >= 0
}

// GatherShare is the share of executed global loads whose address comes from another load: indices or links in memory.
// Unknown without the module's code or without counts per instruction.
func (k *Kernel) GatherShare() (share float64, known bool) {
	c := k.Code()
	if c == nil {
		return 0, false
	}
	executed := c.Counts("inst_executed")
	var gathered, loads float64
	for first := 0; executed != nil && first < len(c.Instructions); {
		_, body := c.body(first)
		for i, yes := range cubin.LoadedAddresses(body) {
			if body[i].Kind == cubin.LoadGlobal {
				loads += executed[first+i]
				known = known || executed[first+i] > 0
			}
			if yes {
				gathered += executed[first+i]
			}
		}
		first += max(len(body), 1)
	}
	return over(gathered, known, loads, known)
}

// Places adds up by source line, or by instruction where there is no line, the most first.
func (c *Code) Places(counts []float64) []Place {
	var total float64
	for _, n := range counts {
		total += n
	}
	if total <= 0 || math.IsInf(total, 0) || math.IsNaN(total) {
		return nil
	}
	type key struct {
		file    string
		line    int
		address uint64 // only without a line
	}
	at := make(map[key]int)
	var places []Place
	worst := make([]float64, 0, 16)
	for n, v := range counts {
		if v <= 0 {
			continue
		}
		i := &c.Instructions[n]
		where := key{file: i.File, line: i.Line}
		if i.Line == 0 {
			where = key{address: i.Address}
		}
		p, ok := at[where]
		if !ok {
			p = len(places)
			at[where] = p
			places = append(places, Place{File: i.File, Line: i.Line, Text: c.Text(i.File, i.Line)})
			worst = append(worst, 0)
		}
		places[p].Share += v / total
		if v > worst[p] {
			worst[p] = v
			places[p].Function, places[p].Address, places[p].Offset = i.Function, i.Address, i.Offset
		}
	}
	slices.SortStableFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Address, b.Address))
	})
	return places
}

// add adds b to a; nil is nothing.
func add(a, b []float64) []float64 {
	if a == nil {
		return slices.Clone(b)
	}
	for i := range b {
		a[i] += b[i]
	}
	return a
}
