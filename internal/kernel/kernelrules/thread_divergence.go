package kernelrules

import (
	"fmt"
	"math"

	"lacuna/internal/kernel"
)

var threadDivergence = Rule{
	ID:    "thread_divergence",
	Title: "Warp divergence: lanes of a warp take different branches",
	Since: "0.2",
	Needs: []Need{needTime, needLanes, needIssue, needDRAM},
	Doc: `
A warp executes both sides of a branch, each with the lanes that take it. It is a finding when fewer than 24 of 32
lanes are active in the mean instruction (NVIDIA's threshold; a quarter is idle). Predicated-off lanes count as
idle: compilers often replace a short branch by a predicate. Where they are most, the title says so.

Where the machine code is in the report, the rule says what parts the lanes. Branches on the thread's index or on a
loaded kind can be fixed. Loops that lanes leave at different times by loaded lengths can be balanced or sorted:
confidence is lower, and nothing is priced where warps wait for loads whose addresses follow from data, since full
warps wait for as many sectors. Loops whose end is found on the way (rejection, iteration until convergence) are reported
as uneven, without a time and with a confidence of 0.3.

The time falls with the instructions that full warps save, at most in proportion to the lanes. Where issue does not
limit the kernel (under 60 %), at worst half of that is gained. Where warps also wait at barriers for a quarter of their
time, as in a tree reduction, the fix is another structure: shared-memory wavefronts go, and at best only the DRAM
traffic remains.`,
	Limits: `
Without the machine code, or without counts of each instruction, nothing is priced and confidence is under a half.
Lanes parted by loops of which some end by data and others not are counted for the one with fewer lanes. Idle lanes at
the edge of an array, or in the last warp of a block, cost nothing and are rarely a quarter. Where
trip counts differ between lanes the cause is uneven work, and load_imbalance comes first.`,
	Fix: `
Sort or bin the work so that the lanes of a warp take the same branch, or let the condition depend on the warp:

    if ((threadIdx.x / 32) % 2 == 0) ...            // not threadIdx.x % 2: whole warps take one side

In a reduction keep neighbouring lanes active and use warp shuffles:

    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);`,
	RefutedBy: `Work sorted by kind, with the same number of elements of each, takes as long.`,
	Check:     checkDivergence,
}

func checkDivergence(c *Case, out *Findings) {
	lanes := c.lanes()
	if !(lanes < lanesWasted) {
		return
	}
	full := lanes / lanesPerWarp
	f := out.Add(0.85, "Warp divergence: %s of 32 lanes are active on average", digits(lanes))
	plain := known(c.LanesBranched())
	if lanesPerWarp-plain < (lanesPerWarp-lanes)/2 { // most are in the branch
		f.Title = fmt.Sprintf("Idle lanes: %s of 32 work on average; most others are predicated off", digits(lanes))
	}
	if plain-lanes > 2 {
		f.Because("%s lanes are in the branch, and only %s are not predicated off", digits(plain), digits(lanes))
	}
	f.Because("instruction issue is at %s of its peak; with full warps the same work takes %s of the instructions",
		percent(c.use(kernel.Issue)), percent(full))
	f.Places = c.HotDivergence()
	if !c.repairable(f) {
		return
	}
	defer c.widen(f)
	if c.use(kernel.Issue) < limits && c.stall("barrier") >= barrierMatters {
		f.Confidence = math.Min(f.Confidence, 0.75)
		c.expect(f, c.restructured(full))
		return
	}
	r := asNow().leave(full, kernel.Issue, kernel.FMA, kernel.Heavy, kernel.ALU, kernel.XU, kernel.FP64, kernel.FP16,
		kernel.LSUIn)
	if c.use(kernel.Issue) < limits {
		// Warps wait as well: with full ones there are fewer instructions to wait after, at best in proportion to
		// lanes.
		f.Confidence = math.Min(f.Confidence, 0.75)
		r.low, r.wait, r.high = full, full, (1+full)/2
		if idle := c.idle(); idle.thread+idle.trips() >= mostLanes {
			// Work that is dealt out otherwise can also have fewer warps with more loads each: short_sums of the
			// held-out kernels, 17 of 32 lanes, became 7 times as fast with fewer lanes per row.
			anew := c.restructured(full)
			r.low = c.waitsStill(anew)
			r.atBest(anew.leastLeft(kernel.Issue), kernel.Issue, kernel.FMA, kernel.Heavy, kernel.ALU, kernel.LSUIn,
				kernel.L1)
		}
	}
	c.expect(f, r)
}

const (
	mostLanes = 0.5 // of the idle lanes: a cause of that many is the one to name
	// sortedTrips is the confidence where loops take as long as loaded values say: sorting by them costs something too
	sortedTrips = 0.65
)

// repairable says whether a time can be predicted: whether what idles the lanes can be changed. It adds why.
func (c *Case) repairable(f *Finding) bool {
	idle := c.idle()
	uneven := fmt.Sprintf("Uneven trip counts: %s of 32 lanes are active on average", digits(c.lanes()))
	switch {
	case !idle.known:
		f.Confidence = withoutCode
		f.Because("no time is predicted: whether lanes part by the thread's index, by kinds of data or by trip counts " +
			"is in the machine code with counts of each instruction, and this report lacks them or its code is not understood")
		return false
	case idle.walked >= mostLanes:
		f.Title = uneven
		f.Confidence = notRepairable
		f.Because("%s of the idle lanes wait for longer loops of other lanes, whose ends follow from values worked out "+
			"on the way: how long they take is not known before, and no order of branches changes that",
			percent(idle.trips()))
		f.Fix = walkedFix
		return false
	case idle.trips() >= mostLanes && c.waitsForScattered():
		f.Title = uneven
		f.Confidence = notRepairable
		f.Because("%s of the idle lanes wait for longer loops of other lanes, by loaded lengths", percent(idle.trips()))
		f.Because("no time is predicted: warps wait for %s of their time for loads, and %s of the sectors that are "+
			"needed lie where data says; they are to come with full warps too",
			percent(c.stalls("long_scoreboard", "lg_throttle")), percent(c.scattered().left()))
		f.Fix = countedFix
		return false
	case idle.trips() >= mostLanes:
		f.Title = uneven
		f.Confidence = sortedTrips
		f.Because("%s of the idle lanes wait for longer loops of other lanes, by loaded lengths, which are known before",
			percent(idle.trips()))
		f.Fix = countedFix
	case idle.thread >= mostLanes:
		f.Because("%s of the idle lanes are parted by the thread's index alone", percent(idle.thread))
	case idle.data >= mostLanes:
		f.Because("%s of the idle lanes are parted by data: work sorted by its kind brings them together",
			percent(idle.data))
	}
	return true
}

// widen allows that half of the gain is lost where work has to be sorted by its length: sorted rows are found through
// an index and lie apart.
func (c *Case) widen(f *Finding) {
	if f.Fix == countedFix && f.PredictedUs > 0 {
		f.HighUs = math.Max(f.HighUs, (f.PredictedUs+c.us())/2)
	}
}

// notRepairable is the confidence that anything is to gain where data alone idles lanes.
const notRepairable = 0.3

const (
	countedFix = `Give lanes equal work: sort or bin rows by their length, give short rows few lanes and long ones a
warp or a block, or split the entries, not the rows, into equal pieces (merge path).`
	walkedFix = `Nothing for sure. A lane that is done may fetch the next piece from a queue while others go on
(persistent threads), which costs instructions and coalescing: measure.`
)

// streamingInstructions is what kernels that load, combine and store execute for each access to global memory: 10 to
// 14 in those of the corpus.
const streamingInstructions = 12

// atMost is what remains at least of the time of a kernel that waits and in which nothing is busy: throughput says
// nothing of it then, and of those that were rewritten in the corpus and held-out sets the most became 7 times as fast.
const atMost = 1.0 / 16

// restructured is a kernel written anew around what it reads and writes: shared memory is no longer in the way, full
// warps do the arithmetic. At best DRAM and L2 alone remain, at worst what full lanes gain of the time of now.
func (c *Case) restructured(worst float64) *repair {
	r := asNow()
	r.blocks = true
	lanes := math.Min(1, c.lanes()/lanesPerWarp)
	r.leave(math.Min(lanes, streamingInstructions*c.globalInstructions()/c.instructions()), kernel.Issue, kernel.ALU,
		kernel.FMA, kernel.Heavy)
	shared := orZero(c.number("smsp__sass_inst_executed_op_shared.sum", "smsp__inst_executed_op_shared.sum"))
	if global := c.globalInstructions(); global > 0 {
		r.leave(global/(global+shared), kernel.LSUIn)
	}
	if passes, _, _, ok := c.SharedWavefronts(); ok {
		r.leave(math.Max(0, 1-passes/c.wavefronts()), kernel.L1)
	}
	r.atBest(0, kernel.L1, kernel.LSUIn, kernel.L1Req, kernel.L1Fill, kernel.L2Tag, kernel.L2In, kernel.Tex)
	r.removes(memoryReasons...).removes("branch_resolving")
	r.wait, r.low, r.high = atMost, atMost/2, math.Max(worst, 2*atMost)
	return r
}
