package kernel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Chip is what an SM has for blocks to share, and what a block may have at most.
type Chip struct {
	SMs               int
	Warps, Blocks     int // an SM holds at most
	Registers         int // of an SM: four quarters, one a scheduler, and a warp lives in one
	SharedBytes       int // of an SM, at the largest carveout
	SharedDriverBytes int // what the driver takes of each block: 1,024 since 8.0
	SharedStep        int // bytes to which a block's share is rounded up
	MostThreads       int // of a block
	MostRegisters     int // of a thread
	MostSharedBytes   int // of a block, with opt-in
	MostSharedWithout int // of a block, without opt-in: more needs cudaFuncSetAttribute
}

// Resources is what a launch asks of an SM.
type Resources struct {
	Threads     int // a block
	Registers   int // a thread
	SharedBytes int // a block, static and dynamic, without the driver's
}

// Limits is how many blocks each resource lets an SM hold.
type Limits struct {
	Warps, Registers, Shared, Blocks int
	Barriers                         int // -1: not known (before 2025)
}

// Least is the number of blocks that an SM holds.
func (l Limits) Least() int {
	n := min(l.Warps, l.Registers, l.Shared, l.Blocks)
	if l.Barriers >= 0 {
		n = min(n, l.Barriers)
	}
	return n
}

// Names of what limits occupancy.
const (
	LimitWarps     = "warps"
	LimitRegisters = "registers"
	LimitShared    = "shared memory"
	LimitBlocks    = "blocks"
	LimitBarriers  = "barriers"
)

// Limiting is the resources that let an SM hold the fewest blocks, as names.
func (l Limits) Limiting() []string {
	var out []string
	least := l.Least()
	for _, r := range []struct {
		name string
		n    int
	}{{LimitRegisters, l.Registers}, {LimitShared, l.Shared}, {LimitBarriers, l.Barriers}, {LimitWarps, l.Warps},
		{LimitBlocks, l.Blocks}} {
		if r.n == least {
			out = append(out, r.name)
		}
	}
	return out
}

const (
	warpThreads  = 32
	registerStep = 256 // registers of a warp are allocated in steps of it
)

// Chip is what the launch's device has; false: attributes are missing.
func (k *Kernel) Chip() (Chip, bool) {
	var c Chip
	known := true
	get := func(name string, otherwise float64) int {
		v, ok := k.Attribute(name)
		if !ok || v < 0 || v > math.MaxInt32 {
			known = known && otherwise >= 0
			v = otherwise
		}
		return int(v)
	}
	c.Warps = get("max_warps_per_multiprocessor", -1)
	// Reports before 2020.3 lack the attribute; the profiler's limit by blocks is the same number.
	blocks, ok := k.number("launch__occupancy_limit_blocks")
	if !ok || blocks < 1 {
		blocks = -1
	}
	c.Blocks = get("max_blocks_per_multiprocessor", blocks)
	c.Registers = get("max_registers_per_multiprocessor", -1)
	c.SharedBytes = get("max_shared_memory_per_multiprocessor", -1)
	c.SharedDriverBytes = get("reserved_shared_memory_per_block", 0)
	c.MostThreads = get("max_threads_per_block", 1024)
	c.MostRegisters = get("max_registers_per_thread", 255)
	c.MostSharedWithout = get("max_shared_memory_per_block", 49152)
	c.MostSharedBytes = get("max_shared_memory_per_block_optin", float64(max(0, c.SharedBytes-c.SharedDriverBytes)))
	sms, ok := k.SMs()
	c.SMs = int(sms)
	c.SharedStep = 128
	if cc, ok := k.Capability(); ok && cc < 80 {
		c.SharedStep = 256
	}
	return c, known && ok && c.Warps > 0 && c.Blocks > 0
}

// blockWarps is the warps of a block: the last may be part empty.
func blockWarps(threads int) int { return (threads + warpThreads - 1) / warpThreads }

func roundUp(n, step int) int { return (n + step - 1) / step * step }

// Limits is how many blocks an SM of the chip holds. The register file is four quarters, one a
// scheduler: a single division over the whole file is wrong.
func (c Chip) Limits(r Resources) Limits {
	warps := max(1, blockWarps(r.Threads))
	l := Limits{Warps: c.Warps / warps, Blocks: c.Blocks, Registers: c.Blocks, Shared: c.Blocks, Barriers: -1}
	if perWarp := roundUp(warpThreads*r.Registers, registerStep); perWarp > 0 {
		l.Registers = schedulers * (c.Registers / schedulers / perWarp) / warps
	}
	if perBlock := roundUp(r.SharedBytes+c.SharedDriverBytes, c.SharedStep); perBlock > 0 {
		l.Shared = c.SharedBytes / perBlock
	}
	return l
}

// Share is the theoretical occupancy with so many blocks on an SM, 0 to 1.
func (c Chip) Share(blocks int, threads int) float64 {
	return min(1, float64(blocks*blockWarps(threads))/float64(c.Warps))
}

// Fits says why a launch with such resources is impossible; nil: it is not.
func (c Chip) Fits(r Resources) error {
	switch {
	case r.Threads < 1 || r.Threads > c.MostThreads:
		return fmt.Errorf("block=%d: a block has 1 to %d threads on this device", r.Threads, c.MostThreads)
	case r.Registers < 1 || r.Registers > c.MostRegisters:
		return fmt.Errorf("regs=%d: a thread has 1 to %d registers on this device", r.Registers, c.MostRegisters)
	case r.SharedBytes < 0 || r.SharedBytes > c.MostSharedBytes:
		return fmt.Errorf("smem=%d: a block has at most %d bytes of shared memory on this device", r.SharedBytes,
			c.MostSharedBytes)
	case c.Limits(r).Registers == 0:
		return fmt.Errorf("regs=%d, block=%d: the block's registers do not fit into an SM, which has %d; try fewer "+
			"of either", r.Registers, r.Threads, c.Registers)
	}
	return nil
}

// A WhatIf is resources to try in place of the launch's own; -1: unchanged.
type WhatIf struct {
	Registers, SharedBytes, Threads int
}

// ParseWhatIf reads "regs=64,smem=32k,block=256": any of the three, in any order. Sizes take k and m
// as 1,024 and 1,024².
func ParseWhatIf(text string) (WhatIf, error) {
	w := WhatIf{Registers: -1, SharedBytes: -1, Threads: -1}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return w, fmt.Errorf("%s: %q is not NAME=NUMBER; try regs=64,smem=32k,block=256", text, part)
		}
		var into *int
		factor := 1
		value = strings.ToLower(strings.TrimSpace(value))
		switch strings.TrimSpace(name) {
		case "regs", "registers":
			into = &w.Registers
		case "block", "threads":
			into = &w.Threads
		case "smem", "shared":
			into = &w.SharedBytes
			value, factor = sizeSuffix(value)
		default:
			return w, fmt.Errorf("%s: %q is nothing to vary; there are regs (registers per thread), smem (bytes of "+
				"shared memory per block) and block (threads per block)", text, name)
		}
		if *into >= 0 {
			return w, fmt.Errorf("%s: %s is given twice", text, name)
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || n > math.MaxInt32/uint64(factor) {
			return w, fmt.Errorf("%s: %q is not a number that %s can be; try regs=64,smem=32k,block=256", text, part,
				name)
		}
		*into = int(n) * factor
	}
	return w, nil
}

func sizeSuffix(value string) (number string, factor int) {
	value = strings.TrimSuffix(strings.TrimSuffix(value, "b"), "i")
	if n, ok := strings.CutSuffix(value, "k"); ok {
		return n, 1 << 10
	}
	if n, ok := strings.CutSuffix(value, "m"); ok {
		return n, 1 << 20
	}
	return value, 1
}

// A Calculation is what other resources would make of the occupancy. It says nothing about time.
type Calculation struct {
	Resources Resources
	Limits    Limits
	Blocks    int     // an SM
	Share     float64 // theoretical occupancy, 0 to 1
	Limiting  []string
	Grid      float64 // blocks, for the same number of threads
	Waves     float64
	Notes     []string
}

// WhatIf calculates the occupancy that other resources would give. The driver then chooses the
// carveout anew, so that the largest is what counts. A block of another size changes the grid: the
// number of threads stays.
func (k *Kernel) WhatIf(w WhatIf) (*Calculation, error) {
	chip, ok := k.Chip()
	if !ok {
		return nil, fmt.Errorf("%s: its report lacks the device attributes that occupancy is calculated from",
			k.Launch.Base)
	}
	now, ok := k.Resources()
	if !ok {
		return nil, fmt.Errorf("%s: its report does not say how many registers and how much shared memory it uses; "+
			"try ncu --section LaunchStats", k.Launch.Base)
	}
	r := now
	for _, change := range []struct {
		to   *int
		from int
	}{{&r.Registers, w.Registers}, {&r.SharedBytes, w.SharedBytes}, {&r.Threads, w.Threads}} {
		if change.from >= 0 {
			*change.to = change.from
		}
	}
	if err := chip.Fits(r); err != nil {
		return nil, err
	}
	c := k.calculate(chip, r)
	if w.SharedBytes > chip.MostSharedWithout {
		c.Notes = append(c.Notes, fmt.Sprintf("more than %d bytes per block need dynamic shared memory and "+
			"cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, %d)", chip.MostSharedWithout,
			r.SharedBytes))
	}
	if w.Registers >= 0 && w.Registers < now.Registers {
		c.Notes = append(c.Notes, fmt.Sprintf("fewer registers than the compiler chose (%d) may spill to local "+
			"memory: look at ptxas -v after __launch_bounds__ or -maxrregcount", now.Registers))
	}
	if w.Threads >= 0 && w.SharedBytes < 0 && r.SharedBytes > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("shared memory was left at %d bytes per block: give smem= if it "+
			"grows with the block size", r.SharedBytes))
	}
	if r.Threads%warpThreads != 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("the last warp of each block has %d idle lanes",
			warpThreads-r.Threads%warpThreads))
	}
	return c, nil
}

func (k *Kernel) calculate(chip Chip, r Resources) *Calculation {
	c := &Calculation{Resources: r, Limits: chip.Limits(r)}
	if n, ok := k.number("launch__occupancy_limit_barriers"); ok {
		c.Limits.Barriers = int(min(n, math.MaxInt32))
	}
	c.Blocks = c.Limits.Least()
	c.Share = chip.Share(c.Blocks, r.Threads)
	c.Limiting = c.Limits.Limiting()
	grid, ok1 := k.GridBlocks()
	threads, ok2 := k.BlockThreads()
	if ok1 && ok2 {
		c.Grid = grid
		if float64(r.Threads) != threads {
			c.Grid = math.Ceil(grid * threads / float64(r.Threads))
		}
		c.Waves = c.Grid / float64(max(1, c.Blocks)*max(1, chip.SMs))
	}
	return c
}
