package rules

import (
	"slices"
	"sort"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

// memo is what several rules look at, found once for a Case.
type memo struct {
	stalls  []bool // by steady step
	starved *starvation
	waits   []wait
	syncs   *waitCost // of what host_sync found
	copies  []copied
	peers   []copied
	few     *fewSum
	sleeps  map[string]*tally
	signs   *codeSigns

	excess     *excessCost
	excessDone bool
	lanes      []lane
	work       *facts.Work
	kinds      []facts.KernelKind
	devices    *Ranks
	ranks      *rankWaits
}

// A step is a stall if it is longer than the median by more than the spread and a share of it.
const (
	// stallSpread is in robust standard deviations; 3 is the usual bound of an outlier.
	stallSpread = 3 * 1.4826
	// stallExcess keeps the ordinary unrest of steps out: batches differ, other jobs share the machine.
	// nsys-ai calls an iteration a spike from 1.5 times the median on.
	stallExcess = 0.5
	// minSteps is how many steps it takes to say that one of them is unlike the rest.
	minSteps = 4
)

// stalls says of each steady step whether it is far longer than most: what happens in those only is the
// matter of periodic_stall, and no other rule counts it.
func (c *Case) stalls() []bool {
	if c.memo.stalls != nil {
		return c.memo.stalls
	}
	steps := c.Steps.Steady()
	out := make([]bool, len(steps))
	c.memo.stalls = out
	if len(steps) < minSteps {
		return out
	}
	median, mad := medianAndSpread(steps)
	n := 0
	for i, s := range steps {
		over := float64(s.LenNs()) - median
		if out[i] = over > stallSpread*mad && over > stallExcess*median; out[i] {
			n++
		}
	}
	if 2*n >= len(steps) { // two kinds of steps, not steps and stalls
		clear(out)
	}
	return out
}

// medianAndSpread is the median of the steps' lengths and the median of the distances from it, in ns.
func medianAndSpread(steps []interval.Span) (median, mad float64) {
	d := make([]float64, len(steps))
	for i, s := range steps {
		d[i] = float64(s.LenNs())
	}
	slices.Sort(d)
	median = d[(len(d)-1)/2]
	for i := range d {
		d[i] = max(d[i]-median, median-d[i])
	}
	slices.Sort(d)
	return median, d[(len(d)-1)/2]
}

// stepAt is the steady step that an instant lies in, or -1.
func (c *Case) stepAt(ns int64) int {
	steps := c.Steps.Steady()
	i := sort.Search(len(steps), func(i int) bool { return steps[i].EndNs > ns })
	if i == len(steps) || !steps[i].Contains(ns) {
		return -1
	}
	return i
}

// typical is how many of the steps are no stalls.
func (c *Case) typical() int {
	n := 0
	for _, s := range c.stalls() {
		if !s {
			n++
		}
	}
	return n
}

// A tally adds something up by step.
type tally struct {
	c      *Case
	byStep []float64
}

func (c *Case) newTally() *tally { return &tally{c, make([]float64, len(c.Steps.Steady()))} }

// add counts v in the step that an instant lies in; outside the steps looked at it counts nowhere.
func (t *tally) add(ns int64, v float64) {
	if i := t.c.stepAt(ns); i >= 0 {
		t.byStep[i] += v
	}
}

// perStep is the sum over the steps that are no stalls, by all steps: what a mean step holds of it.
func (t *tally) perStep() float64 {
	var sum float64
	for i, v := range t.byStep {
		if !t.c.stalls()[i] {
			sum += v
		}
	}
	return sum * t.c.PerStep
}

// everyStep is the sum over all steps, stalled ones too, by all steps; and in how many steps there is any.
func (t *tally) everyStep() (perStep float64, steps int) {
	for _, v := range t.byStep {
		if v > 0 {
			steps++
		}
		perStep += v * t.c.PerStep
	}
	return perStep, steps
}

// amount is everyStep without the count: how much there is of something, as tables have it. What a fix of the loop can
// gain is perStep.
func (t *tally) amount() float64 {
	perStep, _ := t.everyStep()
	return perStep
}

// share is perStep of the mean step, 0 to 1, of a tally of ns.
func (t *tally) share() float64 { return t.perStep() / max(1, t.c.StepNs) }

// usual says whether at least half of the steps that are no stalls have some of it: what a loop does, not what
// happens to it.
func (t *tally) usual() bool { return t.usualFrom(0) }

// usualFrom is usual of those steps that have more than least of it: else one step could make a mean that no other
// shows.
func (t *tally) usualFrom(least float64) bool {
	n := 0
	for i, v := range t.byStep {
		if v > least && !t.c.stalls()[i] {
			n++
		}
	}
	return 2*n >= t.c.typical() && n > 0
}

// median is the median over the steps that are no stalls.
func (t *tally) median() float64 {
	var v []float64
	for i, x := range t.byStep {
		if !t.c.stalls()[i] {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
