package kernelrules

import (
	"lacuna/internal/kernel"
	"lacuna/internal/kernel/cubin"
)

// This file is what rules ask of the machine code: facts of data flow that no counter holds.

// gather is the share of executed loads of global memory whose address comes from loaded data; unknown without the
// code.
func (c *Case) gather() float64 { return known(c.GatherShare()) }

// scattered is accesses of global memory that no layout and no order of threads brings together: single loads, stores
// and atomics whose address follows from loaded data or from a hash. A row that an index names and a thread then walks
// is none.
type scattered struct {
	known           bool
	sectors, excess float64 // of all sectors that global accesses ask for: theirs, and those beyond the ideal
	ideal           float64 // likewise, of all accesses: what would do
}

func (c *Case) scattered() (all scattered) {
	k := c.Code()
	total, _, ok := c.GlobalSectors()
	if k == nil || !ok || total <= 0 {
		return all
	}
	executed, asked, ideal := k.Counts("inst_executed"), k.Counts("memory_l2_theoretical_sectors_global"),
		k.Counts("memory_l2_theoretical_sectors_global_ideal")
	if executed == nil || asked == nil || ideal == nil {
		return all
	}
	working := k.Counts("thread_inst_executed_true")
	var named, understood float64
	for first, body := range functions(k) {
		n := accessCounts{executed[first : first+len(body)], asked[first : first+len(body)], nil}
		if working != nil {
			n.lanes = working[first : first+len(body)]
		}
		for i, random := range randomAccesses(body, n) {
			at := first + i
			named += executed[at]
			if body[i].Name != "" {
				understood += executed[at]
			}
			all.ideal += ideal[at] / total
			if random {
				all.sectors += asked[at] / total
				all.excess += max(0, asked[at]-ideal[at]) / total
			}
		}
	}
	all.known = named > 0 && understood >= mostlyNamed*named
	return all
}

// left is what of the sectors is scattered once all others are coalesced.
func (s scattered) left() float64 {
	if s.sectors <= 0 {
		return 0
	}
	return s.sectors / (s.ideal + s.excess)
}

// waitsForScattered says that warps wait for loads, and that most sectors that are needed lie where data says: with
// all lanes at work as many are still to come.
func (c *Case) waitsForScattered() bool {
	return c.scattered().left() >= gatherMatters && c.latencyBound() &&
		c.stalls("long_scoreboard", "lg_throttle") >= waitsForMemory
}

const (
	// walksRow is how many accesses there are for each loaded index from which it names a row that is walked.
	walksRow = 4
	// sharedIndex is the share of the sectors of different values under which lanes load the same one: a row that they
	// walk together
	sharedIndex = 0.5
)

// accessCounts are counts by instruction: by warps, the sectors that were asked for, and lanes that worked; nil: not
// collected.
type accessCounts struct{ executed, asked, lanes []float64 }

// shared says that a load brings many lanes the same value.
func (n accessCounts) shared(i int, load cubin.Instruction) bool {
	if n.lanes == nil || !(n.executed[i] > 0) {
		return false
	}
	different := n.lanes[i] / n.executed[i] * float64(load.Bytes) / sectorBytes // sectors, if they lie side by side
	return different >= 2 && n.asked[i]/n.executed[i] < sharedIndex*different
}

// randomAccesses says of each instruction of a function whether it is a scattered access: its address is a hash of
// something, or has a fresh index in it, one that each lane loads, about as often as it is used.
func randomAccesses(body []cubin.Instruction, n accessCounts) []bool {
	trail := cubin.Trace(body)
	random := make([]bool, len(body))
	uses := make(map[int32]float64) // of loaded values, by accesses
	for i, in := range body {
		if global(in) {
			for _, f := range trail.Feeds[i] {
				uses[f] += n.executed[i]
			}
		}
	}
	for i, in := range body {
		if !global(in) || !trail.Address[i].Scattered() {
			continue
		}
		random[i] = trail.Address[i]&cubin.FromLoad == 0 // a hash
		for _, f := range trail.Feeds[i] {
			const index = 4 // bytes, of the smallest kind: a wide load brings several
			values := n.executed[f] * max(1, float64(body[f].Bytes)/index)
			random[i] = random[i] || uses[f] <= walksRow*values && !n.shared(int(f), body[f])
		}
	}
	return random
}

// global says that an instruction accesses global memory.
func global(in cubin.Instruction) bool {
	return in.Kind == cubin.LoadGlobal || in.Kind == cubin.StoreGlobal || in.Kind == cubin.Atomic
}

// functions is the functions of a launch's code, by the position of their first instruction.
func functions(k *kernel.Code) func(yield func(int, []cubin.Instruction) bool) {
	return func(yield func(int, []cubin.Instruction) bool) {
		for first := 0; first < len(k.Instructions); {
			var body []cubin.Instruction
			for _, in := range k.Instructions[first:] {
				if in.Start != k.Instructions[first].Start {
					break
				}
				body = append(body, in.Instruction)
			}
			if !yield(first, body) {
				return
			}
			first += len(body)
		}
	}
}

// chained is the executed additions that alone use a product computed before in the same stretch of code without a
// branch, as a share of all instructions: those that can be fused. Unknown without the code.
func (c *Case) chained(add, mul string) float64 {
	k := c.Code()
	if k == nil {
		return unknown
	}
	executed := k.Counts("inst_executed")
	if executed == nil {
		return unknown
	}
	var all, some float64
	for first, body := range functions(k) {
		named := false
		for i, in := range body {
			all += executed[first+i]
			named = named || in.Name != ""
		}
		if !named {
			return unknown
		}
		for _, sum := range fusableSums(body, add, mul) {
			some += executed[first+sum]
		}
	}
	if all == 0 {
		return unknown
	}
	return some / all
}

// fusableSums is the additions whose product nobody else uses: of others the multiplication stays, and fusing saves
// nothing.
func fusableSums(body []cubin.Instruction, add, mul string) (out []int) {
	trail := cubin.Trace(body)
	product := make(map[uint16]int) // registers that hold one, and by which instruction
	uses := make([]int, len(body))  // of each product
	type sum struct{ at, of int }
	var sums []sum
	for i, in := range body {
		for _, u := range in.Uses {
			for r := u.First; r < u.First+u.Count; r++ {
				if from, ok := product[r]; ok {
					uses[from]++
					if in.Name == add {
						sums = append(sums, sum{i, from})
					}
				}
			}
		}
		for r := in.Dest.First; r < in.Dest.First+in.Dest.Count; r++ {
			delete(product, r)
			if in.Name == mul {
				product[r] = i
			}
		}
		if in.Branch || in.Ends {
			clear(product)
		}
	}
	for _, s := range sums {
		if uses[s.of] == 1 && len(trail.Readers(s.of)) <= 1 { // also around a loop
			out = append(out, s.at)
		}
	}
	return out
}
