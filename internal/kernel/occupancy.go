package kernel

import (
	"fmt"
	"math"
	"strings"
)

// Occupancy is how many warps an SM can hold and held. It is a means to hide latency, not a goal.
type Occupancy struct {
	Theoretical float64 // share of the SM's warps that the launch's resources allow, 0 to 1
	Achieved    float64 // measured, mean while SMs were active; -1: not collected
	Blocks      int     // an SM holds, by resources
	Limits      Limits
	Limiting    []string // names of what limits, registers first; the last one is hardware
	Waves       float64  // -1: not known
	// TailShare is the share of block slots that stay empty in the last wave, if there is more than
	// one: what a grid with whole waves, or blocks that loop, would save at most if all blocks are alike.
	TailShare float64
	// FilledShare is the share of block slots that the grid fills where there is not even one wave;
	// 1 with a wave or more.
	FilledShare float64
	Resources   Resources
	Steps       []Step // ways to the next step up, the smallest change first
}

// A Step is a change that lets an SM hold more warps.
type Step struct {
	Registers   int // a thread at most; 0: as now
	SharedBytes int // a block at most; -1: as now
	Threads     int // a block; 0: as now
	Share       float64
	Words       string // "at most 40 registers a thread (now 46)"
}

// Resources is what the launch asks of an SM.
func (k *Kernel) Resources() (Resources, bool) {
	threads, ok1 := k.BlockThreads()
	if !ok1 {
		threads, ok1 = k.number("launch__block_size")
	}
	regs, ok2 := k.number("launch__registers_per_thread")
	static, ok3 := k.number("launch__shared_mem_per_block_static")
	dynamic, ok4 := k.number("launch__shared_mem_per_block_dynamic")
	if !ok3 || !ok4 {
		all, ok := k.number("launch__shared_mem_per_block")
		driver, _ := k.number("launch__shared_mem_per_block_driver")
		static, dynamic, ok3 = max(0, all-driver), 0, ok
		ok4 = ok3
	}
	shared := static + dynamic
	if !ok1 || !ok2 || !ok3 || !ok4 || threads > 1<<16 || regs > 1<<16 || shared > 1<<30 {
		return Resources{}, false
	}
	return Resources{Threads: int(threads), Registers: int(regs), SharedBytes: int(shared)}, true
}

// Occupancy is calculated from the launch's resources and the device's attributes: equal to the
// profiler's own theoretical occupancy, limits and waves on 7.0 to 10.0. Nil: they are not there.
func (k *Kernel) Occupancy() *Occupancy { return k.occupancy.get(k.deriveOccupancy) }

func (k *Kernel) deriveOccupancy() *Occupancy {
	chip, ok1 := k.Chip()
	r, ok2 := k.Resources()
	if !ok1 || !ok2 || r.Threads < 1 {
		return nil
	}
	o := &Occupancy{Resources: r, Limits: k.limits(chip, r), Achieved: -1, Waves: -1, FilledShare: 1}
	o.Blocks, o.Limiting = o.Limits.Least(), o.Limits.Limiting()
	o.Theoretical = chip.Share(o.Blocks, r.Threads)
	if v, ok := k.percent("sm__warps_active.avg.pct_of_peak_sustained_active"); ok {
		o.Achieved = min(v, 1)
	}
	if w, ok := k.waves(chip, o.Blocks); ok {
		o.Waves = w
		if w > 1 {
			o.TailShare = 1 - w/math.Ceil(w)
		} else {
			o.FilledShare = w
		}
	}
	o.Steps = steps(chip, r, o)
	return o
}

// waves is calculated where the profiler's number says the same, since pages print it with two
// decimals; where it differs (clusters, part of the device), the profiler's counts.
func (k *Kernel) waves(chip Chip, blocks int) (float64, bool) {
	said, ok := k.number("launch__waves_per_multiprocessor")
	grid, known := k.GridBlocks()
	if !known || blocks < 1 || chip.SMs < 1 {
		return said, ok && said > 0
	}
	w := grid / float64(blocks*chip.SMs)
	if ok && math.Abs(said-w) > 0.006 {
		return said, said > 0
	}
	return w, true
}

// limits are calculated, but for the carveout: what the driver, or the code, chose for this launch
// may hold fewer blocks than the largest would.
func (k *Kernel) limits(chip Chip, r Resources) Limits {
	l := chip.Limits(r)
	if n, ok := k.number("launch__occupancy_limit_barriers"); ok {
		l.Barriers = int(min(n, math.MaxInt32))
	}
	config, ok := k.number("launch__shared_mem_config_size")
	if perBlock := roundUp(r.SharedBytes+chip.SharedDriverBytes, chip.SharedStep); ok && config > 0 && perBlock > 0 {
		l.Shared = min(l.Shared, int(min(config, math.MaxInt32))/perBlock)
	}
	return l
}

// steps are the ways to a higher theoretical occupancy.
func steps(chip Chip, r Resources, o *Occupancy) []Step {
	var out []Step
	if s, ok := sameBlock(chip, r, o.Blocks); ok {
		out = append(out, s)
	}
	// Another block size, all else equal: only where it gets more warps onto the SM.
	best := Step{SharedBytes: -1, Share: o.Theoretical + 0.05}
	for _, threads := range []int{64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024} {
		try := Resources{Threads: threads, Registers: r.Registers, SharedBytes: r.SharedBytes}
		if threads == r.Threads || chip.Fits(try) != nil {
			continue
		}
		if share := chip.Share(chip.Limits(try).Least(), threads); share > best.Share {
			best.Threads, best.Share = threads, share
		}
	}
	if best.Threads > 0 {
		best.Words = fmt.Sprintf("blocks of %d threads (now %d)", best.Threads, r.Threads)
		if r.SharedBytes > 0 {
			best.Words += " with the same shared memory per block"
		}
		out = append(out, best)
	}
	return out
}

// sameBlock is what registers and shared memory must come down to so that one more block fits.
func sameBlock(chip Chip, r Resources, blocks int) (Step, bool) {
	target := blocks + 1
	now := chip.Limits(r)
	if now.Warps < target || now.Blocks < target {
		return Step{}, false // no more blocks of this size, whatever they use
	}
	s := Step{SharedBytes: -1}
	var words []string
	if now.Registers < target {
		fits := r
		for fits.Registers > 0 && chip.Limits(fits).Registers < target {
			fits.Registers--
		}
		if fits.Registers < leastRegisters {
			return Step{}, false
		}
		s.Registers = fits.Registers
		words = append(words, fmt.Sprintf("at most %d registers per thread (now %d)", s.Registers, r.Registers))
	}
	if now.Shared < target {
		most := chip.SharedBytes/target/chip.SharedStep*chip.SharedStep - chip.SharedDriverBytes
		if most < 0 {
			return Step{}, false
		}
		s.SharedBytes = most
		words = append(words, fmt.Sprintf("at most %d bytes of shared memory per block (now %d)", most, r.SharedBytes))
	}
	if words == nil { // the carveout alone is too small
		words = append(words, "a larger shared memory carveout (cudaFuncAttributePreferredSharedMemoryCarveout)")
	}
	changed := r
	if s.Registers > 0 {
		changed.Registers = s.Registers
	}
	if s.SharedBytes >= 0 {
		changed.SharedBytes = s.SharedBytes
	}
	s.Share = chip.Share(chip.Limits(changed).Least(), r.Threads)
	s.Words = strings.Join(words, " and ")
	return s, true
}

// leastRegisters is fewer than which no real kernel can do with: the ABI alone takes 16 to 24.
const leastRegisters = 16

// Limiter is the first of what limits, "" at full occupancy: then nothing does.
func (o *Occupancy) Limiter() string {
	if o.Theoretical >= 1 || len(o.Limiting) == 0 {
		return ""
	}
	return o.Limiting[0]
}
