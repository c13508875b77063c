package kernelrules

import (
	"math"

	"lacuna/internal/kernel/cubin"
)

// This file is what one pass over a kernel's data moves. A kernel can read each byte that there is once, and write each
// once: one that updates data in place moves up to twice what it touches, in one pass.

// reachableTwice is how many times what a kernel can touch DRAM moves at least when bytes move twice: counters
// differ by a few per cent, and prefetching takes some.
const reachableTwice = 1.15

// movedTwice says that the kernel moves bytes twice, and returns how many it moves and how many one pass would, at
// least and at most.
func (c *Case) movedTwice() (dram, least, most float64, ok bool) {
	dram, share := c.dramBytes()
	all := c.reachable()
	wrote := dram * share
	read := dram - wrote
	least, most = math.Min(dram, all), math.Min(read, all)+math.Min(wrote, all)
	again := read > reachableTwice*all || wrote > reachableTwice*all
	switch c.updatesInPlace() {
	case yes:
		least = most
	case no:
		most = least
		again = dram > reachableTwice*all
	}
	return dram, least, most, again
}

// mostStores is how much of what is stored goes where the kernel has read before: then it updates its data.
const mostStores = 0.5

// updatesInPlace says whether most stores go to addresses that the same thread has loaded from: by the registers that
// hold them. Maybe: the code is not in the report.
func (c *Case) updatesInPlace() answer {
	k := c.Code()
	if k == nil {
		return maybe
	}
	executed := k.Counts("inst_executed")
	var stores, same, named, all float64
	for first, body := range functions(k) {
		for i, in := range body {
			weight := 1.0
			if executed != nil {
				weight = executed[first+i]
			}
			all += weight
			if in.Name != "" {
				named += weight
			}
			if in.Kind != cubin.StoreGlobal {
				continue
			}
			stores += weight
			if loadedFrom(body, i) {
				same += weight
			}
		}
	}
	switch {
	case !(named >= mostlyNamed*all) || all == 0:
		return maybe
	case same >= mostStores*stores && stores > 0:
		return yes
	}
	return no
}

// loadedFrom says that a load of the function has the address of a store: the same register, set by the same
// instruction.
func loadedFrom(body []cubin.Instruction, store int) bool {
	address := body[store].Uses[0]
	if address.Count == 0 {
		return false
	}
	set := setBefore(body, store, address.First)
	for i, in := range body {
		if in.Kind == cubin.LoadGlobal && in.Uses[0].First == address.First && in.Uses[0].Count > 0 &&
			setBefore(body, i, address.First) == set {
			return true
		}
	}
	return false
}

// setBefore is the instruction above another that sets a register; -1: none.
func setBefore(body []cubin.Instruction, at int, register uint16) int {
	for i := at - 1; i >= 0; i-- {
		if body[i].Dest.Has(register) {
			return i
		}
	}
	return -1
}
