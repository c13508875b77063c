package changes

import (
	"fmt"
	"regexp"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
	"lacuna/internal/timeline/replay"
)

// searching understands a regular expression that is searched in the names of kernels: those are too long to be
// matched whole.
func searching(change, arg string) (*regexp.Regexp, error) {
	if arg == "" {
		return nil, fmt.Errorf("%s: needs part of a kernel's name, or a regular expression, after the colon", change)
	}
	re, err := regexp.Compile(arg)
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", change, arg, err)
	}
	return re, nil
}

// named returns a function that says whether a piece of work is still there and re occurs in its name.
func named(e *replay.Edit, re *regexp.Regexp) func(i int32) bool {
	known := make(map[string]bool)
	return func(i int32) bool {
		if e.Works[i].Dropped {
			return false
		}
		name := e.WorkName(i)
		yes, seen := known[name]
		if !seen {
			yes = re.MatchString(name)
			known[name] = yes
		}
		return yes
	}
}

// kindOf is what a kernel does; of work that is no kernel, the zero value.
func kindOf(e *replay.Edit, i int32) facts.KernelKind {
	w := &e.Works[i]
	if w.Kind != facts.WorkKernel {
		return facts.KernelKind{}
	}
	return e.Facts.KernelKinds()[rowOf(e, i)]
}

// rowOf is the row of a piece of work in the table of its kind.
func rowOf(e *replay.Edit, i int32) uint32 { return e.Facts.Work().Row[e.Works[i].Row] }

// copyKind is the direction of a copy; of other work, CopyUnknown.
func copyKind(e *replay.Edit, i int32) model.CopyKind {
	row := int(rowOf(e, i))
	if kinds := e.Facts.Trace.Copies.Kind; e.Works[i].Kind == facts.WorkCopy && row < len(kinds) {
		return kinds[row]
	}
	return model.CopyUnknown
}

// threadsOf is how many threads a kernel has; 0: not recorded.
func threadsOf(e *replay.Edit, i int32) float64 {
	k, row := &e.Facts.Trace.Kernels, int(rowOf(e, i))
	if e.Works[i].Kind != facts.WorkKernel || row >= min(len(k.GridX), len(k.GridY), len(k.GridZ), len(k.BlockX),
		len(k.BlockY), len(k.BlockZ)) {
		return 0
	}
	return blocksOf(e, i) * float64(k.BlockX[row]) * float64(k.BlockY[row]) * float64(k.BlockZ[row])
}

// blocksOf is how many blocks a kernel has; 0: not recorded.
func blocksOf(e *replay.Edit, i int32) float64 {
	k, row := &e.Facts.Trace.Kernels, int(rowOf(e, i))
	if e.Works[i].Kind != facts.WorkKernel || row >= min(len(k.GridX), len(k.GridY), len(k.GridZ)) {
		return 0
	}
	return float64(k.GridX[row]) * float64(k.GridY[row]) * float64(k.GridZ[row])
}

// elementsOf is how many elements a pointwise kernel works on, as far as its grid says: its name need
// not say how many a thread takes, then it is the threads. 0: not recorded.
func elementsOf(e *replay.Edit, i int32) float64 {
	return threadsOf(e, i) * float64(max(1, kindOf(e, i).PerThread))
}

// elementsPerBlock is how many elements a block of a pointwise kernel takes; 0: not recorded.
func elementsPerBlock(e *replay.Edit, i int32) float64 {
	return elementsOf(e, i) / max(1, blocksOf(e, i))
}

// onLanes is the work of each stream that is still there, in the order in which it is issued.
func onLanes(e *replay.Edit) [][]int32 {
	out := make([][]int32, len(e.Lanes))
	for i := range e.Works {
		if w := &e.Works[i]; !w.Dropped {
			out[w.Lane] = append(out[w.Lane], int32(i))
		}
	}
	return out
}

// dropLaunch leaves a piece of work out with its launch and the ordinary host work before it, which
// prepared it. Of a call that issues more, only the work goes.
func dropLaunch(e *replay.Edit, i int32, ordinary func(thread int32) int64) {
	call := e.Works[i].Call
	if call < 0 || e.Calls[call].N > 1 {
		e.DropWork(i)
		return
	}
	c := &e.Calls[call]
	if c.GapNs <= ordinary(c.Thread) && c.Pred >= 0 && e.Calls[c.Pred].Thread == c.Thread {
		e.DropGap(call, 0)
	}
	e.DropCall(call)
}

// dropBetween leaves out what a thread calls between two launches of its own that become one and that issues no
// work: look-ups of kernels, checks of errors, with the ordinary host work before it.
func dropBetween(e *replay.Edit, from, to int32, ordinary func(thread int32) int64) {
	if from < 0 || to < 0 {
		return
	}
	thread := e.Calls[from].Thread
	for i := from + 1; i < to; i++ {
		c := &e.Calls[i]
		if c.Thread != thread || c.Dropped || c.N > 0 || c.Wait != replay.WaitNothing || c.Records >= 0 {
			continue
		}
		if c.GapNs <= ordinary(thread) && c.Pred >= 0 && e.Calls[c.Pred].Thread == thread {
			e.DropGap(i, 0)
		}
		e.DropCall(i)
	}
}

// usualPause returns a function that says what the host work between two calls of a thread is in the median; 0: too
// few.
func usualPause(e *replay.Edit) func(thread int32) int64 {
	known := make(map[int32]int64)
	return func(thread int32) int64 {
		ns, seen := known[thread]
		if !seen {
			ns = e.UsualPauseNs(thread)
			known[thread] = ns
		}
		return ns
	}
}

// ordinaryPause returns a function that says up to what length host work before a launch prepares that launch.
func ordinaryPause(e *replay.Edit) func(thread int32) int64 {
	usual := usualPause(e)
	return func(thread int32) int64 { return max(workOnValue*usual(thread), leastPauseNs) }
}

// leastPauseNs: host work of up to this much before a launch is an operator's, whatever the thread's usual pause.
const leastPauseNs = 100_000

// calm says whether the host waits for nothing between the launches of two pieces of work of one thread and step,
// so that they could be one.
func calm(e *replay.Edit, a, b int32) bool {
	from, to := e.Works[a].Call, e.Works[b].Call
	if from < 0 || to < from || e.Calls[from].Step != e.Calls[to].Step || e.Calls[from].Thread != e.Calls[to].Thread {
		return false
	}
	for i := from; i <= to; i++ {
		if c := &e.Calls[i]; c.Thread == e.Calls[from].Thread && c.Wait != replay.WaitNothing && !c.Dropped {
			return false
		}
	}
	return true
}

// deviceOf is a device as the capture describes it.
func deviceOf(e *replay.Edit, ordinal uint32) model.Device {
	for _, d := range e.Facts.Trace.Devices {
		if d.Ordinal == ordinal {
			return d
		}
	}
	return model.Device{}
}

// peakOf is what a device can do at most, or an error that says that this is not known.
func peakOf(e *replay.Edit, ordinal uint32, what string) (*peaks.Peak, error) {
	d := deviceOf(e, ordinal)
	if p, ok := peaks.Find(d.Name, d); ok {
		return p, nil
	}
	name := d.Name
	if name == "" {
		name = "the device, which the capture does not name,"
	}
	return nil, &NotAllowedError{Why: fmt.Sprintf(
		"%s is unknown: %s is not in the table of devices; capture one step with the change made and compare", what,
		name)}
}

// trains says whether the program computes gradients or updates weights: what it keeps for backward must be
// kept, and what it makes of weights must be made anew in each step.
func trains(e *replay.Edit) bool {
	t := e.Facts.Trace
	seen := make(map[model.StringID]bool)
	for i, k := range e.Facts.KernelKinds() {
		id := t.Kernels.Name[i]
		if seen[id] {
			continue
		}
		seen[id] = true
		if k.Class == facts.ClassForeach || k.Backward ||
			strings.Contains(strings.ToLower(t.Strings.Text(id)), "backward") {
			return true
		}
	}
	for _, id := range t.Ops.Name {
		if !seen[id] && strings.HasPrefix(t.Strings.Text(id), "autograd::engine") {
			return true
		}
		seen[id] = true
	}
	return false
}

// spread is a duration with its bounds, from a share of a peak: the higher the share, the shorter.
func spread(ns float64, s peaks.Share) (mid, low, high int64) {
	return int64(ns / s.Mid), int64(ns / s.High), int64(ns / s.Low)
}

// one is a word for a number: "1 kernel", "2 kernels".
func one(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
