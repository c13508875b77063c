package changes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/timeline/replay"
)

var evenSteps = Change{
	Name:   "even-steps",
	Syntax: "even-steps[:STEP,STEP,…]",
	Title:  "in steps that stall the host works as long as in the others",
	Doc: `Stalled steps are those given by number, or those longer than 1.5 times the median. Host work in them, and in
the step after, beyond the median of the other steps is left out: the longest pauses between two calls first, down
to a usual pause; then calls that take ten times as long as the same call elsewhere, or that no other step makes.
Work on the device stays: use drop-range where the stall launches work.`,
	Assumes: "the extra host work of those steps can be left out, done elsewhere or in the background",
	NotWhen: "long steps are long because their batches are larger",
	Example: "even-steps",
	Apply:   applyEvenSteps,
}

const (
	// stallFactor is from how many medians on a step stalls, as the rule periodic_stall has it.
	stallFactor = 1.5
	// minUsualSteps is how many usual steps it takes to know what is usual.
	minUsualSteps = 3
)

func applyEvenSteps(e *replay.Edit, arg string) (int, error) {
	stalled, err := stalledSteps(e, arg)
	if err != nil {
		return 0, err
	}
	u := usualHost(e, stalled)
	if len(stalled) == 0 || u == nil {
		return 0, ErrNoMatch
	}
	evened, ns := 0, int64(0)
	for step := range stalled {
		if cut := u.even(e, step); cut > 0 {
			evened++
			ns += cut
		}
	}
	if evened > 0 {
		e.Assume("%s lose %.3g ms of host work in all, which the others do not have", one(evened, "step"),
			float64(ns)/1e6)
	}
	return matched(evened)
}

// stalledSteps is the steps that are named, or those that are far longer than the median.
func stalledSteps(e *replay.Edit, arg string) (map[int32]bool, error) {
	out := make(map[int32]bool)
	for text := range strings.SplitSeq(arg, ",") {
		if arg == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("even-steps:%s: %q is not a number of a step; write even-steps:8,16", arg, text)
		}
		addStall(e, out, n)
	}
	if arg != "" {
		return out, nil
	}
	var lens []int64
	for _, s := range e.Steps.Steady() {
		lens = append(lens, s.LenNs())
	}
	slices.Sort(lens)
	for i, s := range e.Steps.Steady() {
		if float64(s.LenNs()) > stallFactor*float64(lens[len(lens)/2]) {
			addStall(e, out, e.Steps.First+i)
		}
	}
	return out, nil
}

// addStall adds a step and the one behind it: a step of the device lasts until the first kernel of the next, and what
// stalls it may be what the host does in front of that.
func addStall(e *replay.Edit, out map[int32]bool, step int) {
	if step >= e.Steps.First && step < e.Steps.Last {
		out[int32(step)], out[int32(step+1)] = true, true
	}
}

// hostUse is what the host does in usual steps, in ns.
type hostUse struct {
	totalNs int64            // of all pauses in a step, in the median
	calls   map[string]int64 // what a call takes without waiting, in the median, by name
}

// usualHost looks at the steps that do not stall; nil if they are too few.
func usualHost(e *replay.Edit, stalled map[int32]bool) *hostUse {
	u := &hostUse{calls: make(map[string]int64)}
	totals, owns := make(map[int32]int64), make(map[string][]int64)
	for i := range e.Calls {
		c := &e.Calls[i]
		if !e.InWindow(int32(i)) || stalled[c.Step] || c.Dropped {
			continue
		}
		owns[e.CallName(int32(i))] = append(owns[e.CallName(int32(i))], c.OwnNs)
		totals[c.Step] += pauseNs(e, int32(i))
	}
	if len(totals) < minUsualSteps {
		return nil
	}
	var all []int64
	for _, ns := range totals {
		all = append(all, ns)
	}
	slices.Sort(all)
	u.totalNs = all[len(all)/2]
	for name, ns := range owns {
		slices.Sort(ns)
		u.calls[name] = ns[len(ns)/2]
	}
	return u
}

// pauseNs is the host work before a call; none is known of what comes before the first.
func pauseNs(e *replay.Edit, i int32) int64 {
	if c := &e.Calls[i]; c.Pred >= 0 {
		return c.GapNs
	}
	return 0
}

// even takes out of a step what usual ones do not have, and says how much that was.
func (u *hostUse) even(e *replay.Edit, step int32) (cutNs int64) {
	var calls []int32
	total := int64(0)
	for i := range e.Calls {
		if c := &e.Calls[i]; c.Step == step && !c.Dropped {
			calls = append(calls, int32(i))
			total += pauseNs(e, int32(i))
		}
	}
	slices.SortStableFunc(calls, func(a, b int32) int { return cmp.Compare(pauseNs(e, b), pauseNs(e, a)) })
	excess := total - u.totalNs
	for _, i := range calls {
		if cut := min(excess, pauseNs(e, i)-e.UsualPauseNs(e.Calls[i].Thread)); cut > 0 {
			e.DropGap(i, pauseNs(e, i)-cut)
			excess -= cut
			cutNs += cut
		}
		c := &e.Calls[i]
		usual, known := u.calls[e.CallName(i)]
		if !known {
			usual = e.Rules.StubNs
		}
		if c.OwnNs > longCall*max(usual, e.Rules.StubNs) {
			cutNs += c.OwnNs - usual
			c.OwnNs = usual
		}
	}
	return cutNs
}

// longCall is how many times what is usual a call must take to be a part of a stall.
const longCall = 10
