package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var loopedOptimizer = Rule{
	ID:    "looped_optimizer",
	Title: "The optimizer updates parameters one by one",
	Since: "0.1",
	Needs: []Need{needKernels, needCalls},
	Doc: `
A run of pointwise kernels, in launch order, whose names repeat in cycles of up to 24 (the operators of one
parameter's update), at least 8 times in a row. It counts as the weight update if it is between backward and the
next step's forward, or in a range that names an optimizer; failing both, if the cycle has kernels that only
optimizers use (addcdiv, lerp, addcmul).

The same work takes a few launches over lists of parameters (foreach) or over all of them (fused). The fix saves at
most the time from a run's first kernel to its last. Threshold: 3 % of the step.`,
	Limits: `
Other loops over parameters after backward (averaging weights, clipping each gradient) look the same, and the same
fix, a foreach operator, helps them. Optimizers with one hand-written kernel per parameter are not found: only
PyTorch's pointwise kernels are.`,
	Fix: `
Use the fused implementation, or the foreach one:

    opt = torch.optim.AdamW(model.parameters(), lr, fused=True)      # or foreach=True
    torch._foreach_lerp_(averages, weights, 0.01)                    # own loops over parameters`,
	FixC: `One kernel that takes a table of pointers and lengths (apex' multi_tensor_apply), launched once for
hundreds of tensors.`,
	Confirm: `A few kernels named multi_tensor_apply replace hundreds of pointwise ones.`,
	RefutedBy: `
The optimizer already has fused=True or foreach=True: the loop is another one, such as gradient clipping.`,
	Check: checkLoopedOptimizer,
}

const (
	maxCycle  = 24 // kernels of one parameter's update: Adam without foreach takes 8 to 15
	minCycles = 8  // parameters, or repetitions of a few; lists of fewer gain a few launches
	// minInCycle is how much of a run must repeat: parameters without a gradient, or of another type, leave operators
	// out.
	minInCycle = 0.9
)

// adamKernels occur in the names of pointwise kernels that hardly anything but optimizers use.
var adamKernels = []string{"addcdiv", "addcmul", "lerp"}

func checkLoopedOptimizer(c *Case, out *Findings) {
	var spans int64
	var rows []int32
	runs, parameters := 0, 0
	for _, run := range c.updateRuns() {
		runs++
		rows = append(rows, run...)
		parameters += c.commonest(run)
		spans += c.spanNs(run)
	}
	if c.shareOfStep(spans) < minWorkShare {
		return
	}
	n := float64(len(rows)) * c.PerStep / c.deviceCount()
	f := out.Add(0.9, c.perStep(spans), "The optimizer updates parameters one by one: %s per step, %s of %s",
		several(n, "kernel", "kernels"), ms(c.perStep(spans)), ms(c.StepNs))
	f.Because(fmt.Sprintf("runs of pointwise kernels whose names repeat in cycles, about %s times per step; the "+
		"GPU is busy for %s of the %s that they take",
		number(float64(parameters)*c.PerStep/c.deviceCount()), ms(c.perStep(c.unionNs(rows))), ms(c.perStep(spans))),
		c.kernelRows(rows)...)
	if name := c.rangeAround(rows[0]); name != "" {
		f.Repair("fuse-optimizer:" + regexp.QuoteMeta(name))
	}
	f.Repair("fuse-optimizer")
}

// rangeAround is the user's range around the call that launched a piece of work, or "".
func (c *Case) rangeAround(row int32) string {
	call := c.work().Call[row]
	if call == facts.NoCall {
		return ""
	}
	where := c.Facts.Where(c.Trace.Calls.Thread[call], c.Trace.Calls.StartNs[call])
	for i, class := range c.Facts.RangeClasses() {
		if class == facts.RangeUser && c.Trace.Strings.Text(c.Trace.Ranges.Name[i]) == where {
			return where
		}
	}
	return ""
}

// spanNs is from the first kernel of a run to the end of its last, within the steps looked at.
func (c *Case) spanNs(run []int32) int64 {
	w := c.work()
	s := interval.Span{StartNs: w.StartNs[run[0]], EndNs: w.EndNs[run[0]]}
	for _, r := range run {
		s.StartNs, s.EndNs = min(s.StartNs, w.StartNs[r]), max(s.EndNs, w.EndNs[r])
	}
	return s.Clip(c.Steps.Window()).LenNs()
}

// commonest is how often the commonest kernel of a run occurs in it: the number of parameters, or a small multiple.
func (c *Case) commonest(run []int32) int {
	n, most := make(map[model.StringID]int), 0
	for _, r := range run {
		id := c.kernelName(r)
		n[id]++
		most = max(most, n[id])
	}
	return most
}

// updateRuns is the runs of pointwise kernels that repeat in cycles and update weights, in the order of their launches.
func (c *Case) updateRuns() [][]int32 {
	passes := c.Facts.Passes()
	var out [][]int32
	for _, rows := range c.lanes() {
		launched := c.byLaunch(rows)
		for from := 0; from < len(launched); {
			to := from
			for to < len(launched) && c.kind(launched[to]).Class == facts.ClassPointwise &&
				(!passes.Trains || passes.Of[launched[to]] == facts.PassUpdate) {
				to++
			}
			if run := c.cyclic(launched[from:to]); len(run) > 0 &&
				(passes.Of[run[0]] == facts.PassUpdate || c.adamLike(run)) {
				out = append(out, run)
			}
			from = max(to, from+1)
		}
	}
	return out
}

// byLaunch is rows in the order of the calls that launched them; rows without a call stay where they are among them.
func (c *Case) byLaunch(rows []int32) []int32 {
	w, t := c.work(), c.Trace
	at := func(r int32) int64 {
		if call := w.Call[r]; call != facts.NoCall {
			return t.Calls.StartNs[call]
		}
		return w.StartNs[r]
	}
	inOrder := func(a, b int32) int { return cmp.Compare(at(a), at(b)) }
	if slices.IsSortedFunc(rows, inOrder) {
		return rows
	}
	out := slices.Clone(rows)
	slices.SortStableFunc(out, inOrder)
	return out
}

// cyclic is a run if the names of its kernels repeat with some period, else nothing.
func (c *Case) cyclic(run []int32) []int32 {
	for period := 1; period <= maxCycle && period*minCycles <= len(run); period++ {
		same := 0
		for i := period; i < len(run); i++ {
			if c.kernelName(run[i]) == c.kernelName(run[i-period]) {
				same++
			}
		}
		if float64(same) >= minInCycle*float64(len(run)-period) {
			return run
		}
	}
	return nil
}

// adamLike says whether kernels that only optimizers use are among a run's.
func (c *Case) adamLike(run []int32) bool {
	for _, r := range run[:min(len(run), maxCycle)] {
		low := strings.ToLower(c.Trace.Strings.Text(c.kernelName(r)))
		for _, a := range adamKernels {
			if strings.Contains(low, a) {
				return true
			}
		}
	}
	return false
}
