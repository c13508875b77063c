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
		again := loadedFrom(body)
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
			if again[i] {
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

// loadedFrom says of each instruction of a function whether it stores where a load of the function loads from: the same
// register has both addresses, set by the same instruction.
func loadedFrom(body []cubin.Instruction) []bool {
	type address struct {
		register uint16
		set      int // by which instruction; -1: by none of the function
	}
	var last [cubin.Registers]int
	for r := range last {
		last[r] = -1
	}
	loaded := make(map[address]bool)
	stored := make(map[int]address)
	for i, in := range body {
		if at := in.Uses[0]; at.Count > 0 && int(at.First) < len(last) {
			switch here := (address{at.First, last[at.First]}); in.Kind {
			case cubin.LoadGlobal:
				loaded[here] = true
			case cubin.StoreGlobal:
				stored[i] = here
			}
		}
		for r := int(in.Dest.First); r < int(in.Dest.First+in.Dest.Count) && r < len(last); r++ {
			last[r] = i
		}
	}
	out := make([]bool, len(body))
	for i, at := range stored {
		out[i] = loaded[at]
	}
	return out
}
