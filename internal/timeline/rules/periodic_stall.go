package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var periodicStall = Rule{
	ID:    "periodic_stall",
	Title: "Periodic stalls: some steps take far longer than the others",
	Since: "0.2",
	Needs: []Need{needWork, needSteps},
	Doc: `
Most steps are alike, and a few take far longer: on the thread that feeds the GPU a checkpoint is written, the model
is evaluated, Python collects garbage, or logs are flushed. The mean hides that, and so does a single step.
Where nothing with a name is in those steps only, the finding says which CUDA calls are, and names no cause.

A step stalls if it is longer than the median by more than half of it (nsys-ai's bound for a spike) and by more than
three robust standard deviations. The cause is looked for in what has a name and is not in the other steps: a range
of the user, else of the framework, else an operator, else kernels. All stalls together must cost 2 % of the mean
step. Where the GPU works longer in the long steps with the same kernels, batches differ, and the rule is silent.`,
	Limits: `
A run of long steps at the beginning or the end is a start or an end, and one or two long steps do not stand out among
steps that are not alike anyway (three robust standard deviations are more than half of the median): the rule is silent.
It needs 4 steps, and a capture long enough to hold a stall: a checkpoint every 1,000 steps is in no short
capture. A single long step is reported only if something with a name ran in it, and not at the edge of the capture,
where the profiler itself works. Stalls at no fixed distance, or fewer than three, say little of how often they come
in a long run: the lower bound of the gain, by which it is ranked as high or low, is that of so many chance events.
Garbage collection has no name in any format: it is a guess where nothing else ran.`,
	Fix: `
Do it rarely, elsewhere, or in the background:

    state = {k: v.to("cpu", non_blocking=True)
             for k, v in model.state_dict().items()}
    torch.cuda.current_stream().synchronize()
    threading.Thread(target=torch.save, args=(state, path)).start()   # or torch.distributed.checkpoint.async_save

    gc.freeze(); gc.disable()                                         # and gc.collect() every few hundred steps`,
	FixC:      `Copy the data to pinned memory on a stream of its own and let another thread write it.`,
	Confirm:   `The longest step is within the spread of the others.`,
	RefutedBy: `The same steps are long without the suspected work.`,
	Check:     checkPeriodicStall,
}

func checkPeriodicStall(c *Case, out *Findings) {
	steps := c.Steps.Steady()
	if len(steps) < minSteps {
		out.Cannot(fmt.Sprintf("%s: too few to recognize a stall", unit.Counted(len(steps), "step", "steps")),
			"more steps", "a capture of 20 steps or more")
		return
	}
	stalls := c.stalls()
	var which []int
	median, spread := medianAndSpread(steps)
	excess := 0.0
	for i, s := range steps {
		if stalls[i] {
			which = append(which, i)
			excess += float64(s.LenNs()) - median
		}
	}
	atMost := excess * c.PerStep
	if len(which) == 0 || atMost < minIdleShare*c.StepNs || atEdge(which, len(steps)) ||
		len(which) < minPeriods && !alikeSteps(median, spread) {
		return
	}
	ran := c.onlyIn(stalls)
	if ran.name == "" && (len(which) == 1 || !c.waitsLonger(stalls)) {
		return // an accident, or more work of the same kind: batches differ
	}
	if ran.name != "" && compiling.MatchString(ran.name) {
		return // recompilation's
	}
	if 2*c.waitsForBatchesIn(stalls) > excess {
		return // worker_bound's: batches of several workers come in bursts
	}
	c.addStalls(out, which, median, atMost, ran)
}

// atEdge says whether the marked steps are one run at the beginning or the end of those looked at: a start, or the
// profiler's own work.
func atEdge(which []int, n int) bool {
	last := len(which) - 1
	return which[last]-which[0] == last && (which[0] == 0 || which[last] == n-1)
}

// alikeSteps says whether steps are so much alike, by the median of their lengths and of the distances from it, that a
// long one stands out: what is usual among them is less than what a stall is longer by.
func alikeSteps(median, spread float64) bool { return stallSpread*spread <= stallExcess*median }

// addStalls adds the finding.
func (c *Case) addStalls(out *Findings, which []int, median, atMost float64, ran stranger) {
	steps := c.Steps.Steady()
	confidence, what := 0.9, ran.name
	if len(which) == 1 {
		confidence = 0.7
	}
	cause := ""
	if what == "" {
		cause = c.waitsMoreFor()
		confidence, what = confidence-0.3, inWords(cause)
	}
	var rows []string
	for _, i := range which[:min(len(which), 5)] {
		row := fmt.Sprintf("step %d: %s instead of %s", i+c.Steps.First, ms(float64(steps[i].LenNs())), ms(median))
		if ran.name != "" {
			row += fmt.Sprintf(", %s in %s", ms(ran.byStep[i]), ran.name)
		}
		rows = append(rows, row)
	}
	f := out.Add(confidence, atMost, "%s %s for %s: %s of the mean step of %s", howOften(which, len(steps)), stallVerb(which), what,
		ms(atMost), ms(c.StepNs))
	f.Because(fmt.Sprintf("%d of %d steps are far longer than the others", len(which), len(steps)), rows...)
	switch {
	case ran.name != "":
		f.Because(fmt.Sprintf("%s %s runs in those steps and not in the others", ran.kind, ran.name))
	case cause == facts.CauseHost:
		f.Because("the host makes no call then and is in no range or operator: Python's garbage collection looks " +
			"like this, and so does anything else without a range")
	default:
		f.Because("no range, operator or kernel is in those steps only; the GPU is then idle mostly while the host is in " +
			inWords(cause))
	}
	if ran.name == "" && cause != facts.CauseHost {
		more, waits := c.moreCalls(c.stalls())
		if len(more) > 0 {
			f.Because("what the host calls more often in those steps than in the others", more...)
		}
		if f.Fix = fixStallUnknown; waits {
			f.Fix = fixStallWaits
		}
	}
	if ran.isRange {
		f.Repair("drop-range:" + regexp.QuoteMeta(ran.name))
	}
	f.Repair(c.evenSteps(which))
	if len(which) < minPeriods || periodOf(which) <= 1 {
		f.Occasions = len(which)
	}
}

// minPeriods is how many stalls at one distance make a period: two have one distance, whatever it is.
const minPeriods = 3

// evenSteps is the change that takes out of steps, given by their place among the steady ones, what the host does
// beyond the usual.
func (c *Case) evenSteps(which []int) string {
	var steps []string
	for _, i := range which {
		steps = append(steps, strconv.Itoa(i+c.Steps.First))
	}
	return "even-steps:" + strings.Join(steps, ",")
}

// waitsForBatchesIn is for how long devices wait in the marked steps for batches that workers make, in ns.
func (c *Case) waitsForBatchesIn(marked []bool) (ns float64) {
	for _, s := range c.sites() {
		if confidence, _ := c.waitsForBatches(s); confidence == 0 {
			continue
		}
		for i, v := range s.idle.byStep {
			if marked[i] {
				ns += v
			}
		}
	}
	return ns
}

// waitsMoreFor is the cause for which devices wait longest in stalled steps beyond what they do in others.
func (c *Case) waitsMoreFor() string {
	best, bestNs := facts.CauseHost, 0.0
	for cause, t := range c.starved().byCause {
		usual, ns := t.median(), 0.0
		for i, v := range t.byStep {
			if c.stalls()[i] {
				ns += v - usual
			}
		}
		if ns > bestNs || ns == bestNs && cause < best {
			best, bestNs = cause, ns
		}
	}
	return best
}

// inWords is a cause of idle time for people.
func inWords(cause string) string {
	switch cause {
	case facts.CauseSync:
		return "synchronisations"
	case facts.CauseAlloc:
		return "allocations by the driver"
	case facts.CauseCopyCall:
		return "blocking copies"
	case facts.CauseLaunch:
		return "launches"
	case facts.CauseOS:
		return "operating system calls"
	case facts.CauseHost:
		return "host work without a name"
	}
	_, name, _ := strings.Cut(cause, ":")
	return name
}

// stallVerb is the verb for what howOften says.
func stallVerb(which []int) string {
	if len(which) < 2 || periodOf(which) > 1 {
		return "stalls"
	}
	return "stall"
}

// howOften says which of n steps are meant: "Every 8th step", "2 of 16 steps".
func howOften(which []int, n int) string {
	if len(which) < 2 {
		return fmt.Sprintf("1 of %d steps", n)
	}
	period := periodOf(which)
	switch {
	case period == 1:
		return fmt.Sprintf("%d of %d steps in a row", len(which), n)
	case period == 0:
		return fmt.Sprintf("%d of %d steps", len(which), n)
	case period%10 == 1 && period%100 != 11:
		return fmt.Sprintf("Every %dst step", period)
	case period%10 == 2 && period%100 != 12:
		return fmt.Sprintf("Every %dnd step", period)
	case period%10 == 3 && period%100 != 13:
		return fmt.Sprintf("Every %drd step", period)
	}
	return fmt.Sprintf("Every %dth step", period)
}

// A stranger is something that runs in stalled steps and hardly in others.
type stranger struct {
	name, kind string
	isRange    bool
	byStep     []float64 // ns
	ns         float64
}

// onlyIn is what took most time of the marked steps and is not in the others; its name is "" if there is no such thing.
func (c *Case) onlyIn(marked []bool) stranger {
	t, class := c.Trace, c.Facts.RangeClasses()
	w := c.Facts.Work()
	for _, src := range []struct {
		kind    string
		isRange bool
		strict  bool // whether it must not run in the other steps at all
		each    func(add func(id model.StringID, s interval.Span))
	}{
		{"the range", true, false, func(add func(model.StringID, interval.Span)) {
			c.eachRange(class, facts.RangeUser,
				add)
		}},
		{"the range", true, false, func(add func(model.StringID, interval.Span)) {
			c.eachRange(class,
				facts.RangeFramework, add)
		}},
		{"the operator", false, false, func(add func(model.StringID, interval.Span)) {
			for i, id := range t.Ops.Name {
				add(id, interval.Span{StartNs: t.Ops.StartNs[i], EndNs: t.Ops.EndNs(i)})
			}
		}},
		{"the kernel", false, true, func(add func(model.StringID, interval.Span)) {
			for i := range w.Len() {
				if w.Kind[i] == facts.WorkKernel {
					add(t.Kernels.Name[w.Row[i]], interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]})
				}
			}
		}},
	} {
		if best := c.strangest(marked, src.strict, src.each); best.name != "" {
			if best.kind, best.isRange = src.kind, src.isRange; !src.isRange {
				best.name = shortName(best.name)
			}
			return best
		}
	}
	return stranger{}
}

func (c *Case) eachRange(class []facts.RangeClass, want facts.RangeClass, add func(model.StringID, interval.Span)) {
	r := &c.Trace.Ranges
	for i, id := range r.Name {
		if class[i] == want && r.DurNs[i] != model.OpenDurNs {
			add(id, interval.Span{StartNs: r.StartNs[i], EndNs: r.EndNs(i)})
		}
	}
}

// What runs in the stalled steps explains them if it takes a good part of what they take longer, and is strange if
// the other steps have next to none of it.
const (
	explains = 0.3
	nextToNo = 0.1
)

// strangest is the name whose spans take most of the marked steps and next to nothing of the others.
func (c *Case) strangest(marked []bool, strict bool, each func(add func(model.StringID, interval.Span))) stranger {
	byName := make(map[model.StringID][]float64)
	steps := c.Steps.Steady()
	each(func(id model.StringID, s interval.Span) {
		for i := max(0, c.firstStepBehind(s.StartNs)); i < len(steps) && steps[i].StartNs < s.EndNs; i++ {
			if byName[id] == nil {
				byName[id] = make([]float64, len(steps))
			}
			byName[id][i] += float64(s.Clip(steps[i]).LenNs())
		}
	})
	median, _ := medianAndSpread(steps)
	var excess float64
	for i, m := range marked {
		if m {
			excess += float64(steps[i].LenNs()) - median
		}
	}
	var all []stranger
	for id, v := range byName {
		var in, others, nIn, nOthers float64
		for i, ns := range v {
			if marked[i] {
				in, nIn = in+ns, nIn+1
			} else {
				others, nOthers = others+ns, nOthers+1
			}
		}
		if in >= explains*excess && others/max(1, nOthers) <= nextToNo*in/nIn && (!strict || others == 0) {
			all = append(all, stranger{name: c.Trace.Strings.Text(id), byStep: v, ns: in})
		}
	}
	if len(all) == 0 {
		return stranger{}
	}
	return slices.MinFunc(all, func(a, b stranger) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns),
			cmp.Compare(a.name, b.name))
	})
}

// firstStepBehind is the first steady step that ends after an instant.
func (c *Case) firstStepBehind(ns int64) int {
	i, _ := slices.BinarySearchFunc(c.Steps.Steady(), ns, func(s interval.Span, ns int64) int {
		if s.EndNs <= ns {
			return -1
		}
		return 1
	})
	return i
}

// waitsLonger says whether most of what the marked steps take longer is time in which the device waits for the host.
func (c *Case) waitsLonger(marked []bool) bool {
	steps, total := c.Steps.Steady(), c.starved().total
	median, _ := medianAndSpread(steps)
	usual := total.median()
	var excess, waited float64
	for i, m := range marked {
		if m {
			excess += float64(steps[i].LenNs()) - median
			waited += total.byStep[i] - usual
		}
	}
	return 2*waited > excess
}

// periodOf is the distance between steps, where it is one; else 0.
func periodOf(which []int) int {
	if len(which) < 2 {
		return 0
	}
	period := which[1] - which[0]
	for i := 2; i < len(which); i++ {
		if which[i]-which[i-1] != period {
			return 0
		}
	}
	return period
}
