package changes

import (
	"regexp"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var fuseOptimizer = Change{
	Name:   "fuse-optimizer",
	Syntax: "fuse-optimizer[:RANGE]",
	Title:  "an optimizer that loops over its parameters becomes a fused one",
	Doc: `The pointwise kernels that an optimizer launches for each parameter become a few launches on lists of
parameters (torch.optim's fused=True): one per 36 parameters, and one per 110 that counts steps. The change looks
for runs of pointwise kernels in ranges whose name says optimizer, or in RANGE; without such a range, for runs of at
least 32 that contain Adam's or RMSprop's addcdiv or addcmul. Fused kernels move parameter, gradient and states
once. The host still loops over all parameters, for 1.5 to 5 µs each.`,
	Assumes: "the optimizer has a fused version; all parameters are on one device and of one type",
	NotWhen: "parameters have hooks that run between their updates",
	Example: "fuse-optimizer",
	Apply:   applyFuseOptimizer,
}

// PyTorch passes lists of tensors to kernels as arguments, which hold so many (MultiTensorApply.cuh:
// depth_to_max_tensors): of four lists, as fused Adam's parameter, gradient and two states, and of one, the step
// counters.
const (
	listOfFour = 36
	listOfOne  = 110
)

// What the host needs in all for each parameter of a fused optimizer, in ns: grouping by device and type, and packing
// lists. One H200 host, 322 parameters of fused Adam: 3 µs besides launches; the bounds are half of it and nearly
// twice.
const (
	fusedHostNs, fusedHostLowNs, fusedHostHighNs = 3_000, 1_500, 5_000
)

// fusedOperands is how many tensors fused Adam moves for each parameter: it reads all four and writes three.
const fusedOperands = 7

// minLooped is how many pointwise kernels in a row are an optimizer's loop where no range says so; minParameters is
// from how many updates it is worth being fused.
const minLooped, minParameters = 32, 4

// optimizerRange is what ranges and annotations of optimizers are called: optimizer, Optimizer.step#Adam.step,
// opt_step.
var optimizerRange = regexp.MustCompile(`(?i)optim|^opt([_ .-]|$)`)

func applyFuseOptimizer(e *replay.Edit, arg string) (int, error) {
	re := optimizerRange
	if arg != "" {
		only, err := pattern("fuse-optimizer", arg)
		if err != nil {
			return 0, err
		}
		re = only
	}
	sets := rangeSets(e, re)
	inRange := func(i int32) bool {
		c := e.Works[i].Call
		if c < 0 {
			return false
		}
		call := &e.Calls[c]
		return within(sets[call.Thread], call.StartNs)
	}
	ordinary := ordinaryPause(e)
	n, updates, loops := 0, 0, 0
	for _, works := range onLanes(e) {
		from := 0
		for k := 1; k <= len(works); k++ {
			if k < len(works) && loopable(e, works[k-1]) && loopable(e, works[k]) && calm(e, works[k-1], works[k]) &&
				inRange(works[k-1]) == inRange(works[k]) {
				continue
			}
			run := works[from:k]
			from = k
			if l, ok := loopOf(e, run, inRange(run[0])); ok {
				l.fuse(e, ordinary)
				n += len(run)
				updates += l.parameters
				loops++
			}
		}
	}
	if loops > 0 {
		e.Assume("%d parameters per step in the median; the host needs 3 µs for each, 1.5 to 5", updates/loops)
	}
	return matched(n)
}

// loopable says whether a kernel may be one of an optimizer's loop over parameters.
func loopable(e *replay.Edit, i int32) bool {
	k := kindOf(e, i)
	return e.Works[i].Call >= 0 && e.Calls[e.Works[i].Call].N == 1 &&
		(k.Class == facts.ClassPointwise || k.Class == facts.ClassCast)
}

// A loop is the kernels of an optimizer that goes over its parameters.
type loop struct {
	run        []int32
	parameters int
	moved      float64 // time to move each of fusedOperands once, as long as such kernels took to move theirs
}

// loopOf looks at a run of pointwise kernels.
func loopOf(e *replay.Edit, run []int32, named bool) (loop, bool) {
	counts := make(map[string]int)
	operands, ns, adam := 0.0, 0.0, 0
	for _, i := range run {
		name := e.WorkName(i)
		counts[name]++
		if strings.Contains(name, "addcdiv") || strings.Contains(name, "addcmul") {
			adam++
		}
		o := float64(kindOf(e, i).Operands)
		if o == 0 {
			o = facts.UsualOperands
		}
		operands += o
		ns += float64(e.Works[i].DurNs)
	}
	if len(run) == 0 || !named && (len(run) < minLooped || adam < minParameters) {
		return loop{}, false
	}
	l := loop{run: run, parameters: updatesOf(e, run, counts)}
	if l.parameters < minParameters || len(run) < 2*l.parameters {
		return loop{}, false
	}
	l.moved = ns * min(1, fusedOperands*float64(l.parameters)/operands)
	return l, true
}

// maxCycle is of how many kernels the update of one parameter may be; inCycle is the share of them that must repeat.
const (
	maxCycle = 24
	inCycle  = 0.9
)

// updatesOf is how many parameters are updated: as often as the names of the kernels repeat, where they do; else as
// often as the kernel that divides by the root of the second moment runs, or as the commonest.
func updatesOf(e *replay.Edit, run []int32, counts map[string]int) int {
	for period := 2; period <= maxCycle && period*minParameters <= len(run); period++ {
		same := 0
		for k := period; k < len(run); k++ {
			if e.WorkName(run[k]) == e.WorkName(run[k-period]) {
				same++
			}
		}
		if float64(same) >= inCycle*float64(len(run)-period) {
			return len(run) / period
		}
	}
	most, divides := 0, 0
	for name, n := range counts {
		most = max(most, n)
		if strings.Contains(name, "addcdiv") {
			divides += n
		}
	}
	if divides > 0 {
		return divides
	}
	return most
}

// fuse keeps as many launches as the fused optimizer makes.
func (l *loop) fuse(e *replay.Edit, ordinary func(int32) int64) {
	launches := (l.parameters+listOfFour-1)/listOfFour + (l.parameters+listOfOne-1)/listOfOne
	launches = min(launches, len(l.run))
	each := l.moved / float64(launches)
	// What the host does before the first launch, it does already for all parameters: grouping them.
	already := float64(hostBefore(e, e.Works[l.run[0]].Call))
	between := func(each int) int64 {
		return int64(max(0, float64(each*l.parameters)-already) / float64(max(1, launches-1)))
	}
	for k, i := range l.run {
		call := e.Works[i].Call
		if k > 0 {
			dropBetween(e, e.Works[l.run[k-1]].Call, call, ordinary)
		}
		if k > 0 && e.Calls[call].Pred >= 0 {
			if k < launches {
				e.SetGap(call, between(fusedHostNs), between(fusedHostLowNs), between(fusedHostHighNs))
			} else {
				e.DropGap(call, 0)
			}
		}
		if k >= launches {
			e.DropCall(call)
			continue
		}
		e.SetDur(i, int64(each), int64(each/2), int64(each*1.5))
	}
}

// hostBefore is the host work of a thread before a launch, back to its launch before or to where another thread
// handed over.
func hostBefore(e *replay.Edit, call int32) (ns int64) {
	for i := call; ; {
		c := &e.Calls[i]
		if c.Pred < 0 || e.Calls[c.Pred].Thread != c.Thread {
			return ns
		}
		ns += c.GapNs
		if i = c.Pred; e.Calls[i].N > 0 {
			return ns
		}
	}
}
