package kernelrules

import (
	"lacuna/internal/kernel"
	"lacuna/internal/kernel/cubin"
)

// This file is what rules ask of the machine code: facts of data flow that no counter holds.

// gather is the share of executed loads of global memory whose address comes from loaded data; unknown without the
// code.
func (c *Case) gather() float64 { return known(c.GatherShare()) }

// inherent is the share of all sectors of global accesses that random single loads ask for in excess: loads whose
// address comes from loaded data, and that are not executed far more often than the loads of those addresses (a row
// that an index names and a thread then walks is no random load). 0 where the code is not known.
func (c *Case) inherent() float64 {
	k := c.Code()
	total, _, ok := c.GlobalSectors()
	if k == nil || !ok || total <= 0 {
		return 0
	}
	executed, asked, ideal := k.Counts("inst_executed"), k.Counts("memory_l2_theoretical_sectors_global"),
		k.Counts("memory_l2_theoretical_sectors_global_ideal")
	if executed == nil || asked == nil || ideal == nil {
		return 0
	}
	var random, plain, excess float64
	for first, body := range functions(k) {
		from := cubin.LoadedAddresses(body)
		for i, in := range body {
			switch at := first + i; {
			case in.Kind != cubin.LoadGlobal:
			case from[i]:
				random += executed[at]
				excess += max(0, asked[at]-ideal[at])
			default:
				plain += executed[at]
			}
		}
	}
	if plain > 0 && random > walksRow*plain && random < chases*plain {
		return 0
	}
	return excess / total
}

const (
	walksRow = 4    // loads for each index from which it names a row
	chases   = 1000 // beyond it hardly an index was loaded: each load names the next
)

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
		if uses[s.of] == 1 {
			out = append(out, s.at)
		}
	}
	return out
}
