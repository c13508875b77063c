package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Trust is what speaks against believing a capture. Counts are over the whole capture.
type Trust struct {
	Work              int   // kernels, graphs, copies, sets
	WithoutCall       int   // of them, not launched by a recorded call
	LaunchedBefore    int   // of those, what must have been launched before the capture began
	NoCalls           bool  // there is GPU work and not one call
	Launches          int   // calls that launch work
	WithoutWork       int   // of them, launches that nothing was recorded for, although work of later ones was
	HeadWithoutWork   int   // of those, before the first launch that has work
	StillQueued       int   // a thread's last launches, of which nothing was recorded any more
	GraphLaunches     int   // calls that launch a CUDA graph
	GraphsWhole       int   // graph executions recorded at graph level: their inner gaps are invisible
	GraphsUneven      int   // launches of a graph for which fewer kernels were recorded than for others of that graph
	OverlapsOnStream  int   // kernels that start before the one before them on their stream has ended
	StartBeforeLaunch int   // GPU work that starts before its call does: clocks disagree
	WorstEarlyNs      int64 // by how much, at worst
	WindowsApart      bool  // GPU work and host calls lie so far apart that their clocks cannot agree
	Duplicates        int   // calls with a correlation ID that another call has, and that are not that call once more

	ClockShifts map[uint32]int64 // by how much each device's work was moved, in ns

	stillQueued []int32 // the calls of StillQueued, in their order
}

// Trust examines the capture.
func (f *Facts) Trust() *Trust {
	return f.kept.trust.of(f, func(f *Facts) *Trust {
		tr := &Trust{Duplicates: f.Launches().Duplicates - len(f.repeatedCalls()), ClockShifts: f.ClockShifts()}
		f.trustWork(tr)
		f.trustLaunches(tr)
		f.trustStreams(tr)
		return tr
	})
}

// repeatedCalls is the calls that lie within an earlier one of the same correlation ID: one call that was recorded
// twice, as by CUPTI versions that also record its wrapper.
func (f *Facts) repeatedCalls() map[int32]bool {
	c := &f.Trace.Calls
	out := make(map[int32]bool)
	for first, twins := range f.Twins() {
		for _, i := range twins {
			if c.Thread[i] == c.Thread[first] && c.EndNs(int(i)) <= c.EndNs(int(first)) {
				out[i] = true
			}
		}
	}
	return out
}

// trustWork looks at the device's side: work without a call, before its call, far from the host's time.
func (f *Facts) trustWork(tr *Trust) {
	t, w := f.Trace, f.Work()
	tr.Work, tr.GraphsWhole = w.Len(), t.GraphRuns.Len()
	tr.NoCalls = w.Len() > 0 && t.Calls.Len() == 0
	if w.Len() == 0 || t.Calls.Len() == 0 {
		return
	}
	host := interval.Span{StartNs: t.Calls.StartNs[0], EndNs: minTime}
	for i := range t.Calls.Len() {
		host.EndNs = max(host.EndNs, t.Calls.EndNs(i))
	}
	gpu := interval.Span{StartNs: w.StartNs[0], EndNs: minTime}
	launched := make(map[Lane]bool) // whether work with a call was seen on a stream
	for i := range w.Len() {
		gpu.EndNs = max(gpu.EndNs, w.EndNs[i])
		lane := Lane{w.Device[i], w.Stream[i]}
		if call := w.Call[i]; call != NoCall {
			launched[lane] = true
			if early := t.Calls.StartNs[call] - w.StartNs[i]; early > 0 {
				tr.StartBeforeLaunch++
				tr.WorstEarlyNs = max(tr.WorstEarlyNs, early)
			}
			continue
		}
		if f.isMigration(i) {
			continue // the driver moves it: it has no launch
		}
		tr.WithoutCall++
		// A stream runs its work in the order of the launches.
		if !launched[lane] || w.StartNs[i] < host.StartNs {
			tr.LaunchedBefore++
		}
	}
	tr.WindowsApart = apart(host, gpu)
}

// apart says whether the GPU's time is too far from the host's to be of the same clock: a launch is followed by its
// work within the time that either side was watched, unless that was no time at all.
func apart(host, gpu interval.Span) bool {
	gap := max(gpu.StartNs-host.EndNs, host.StartNs-gpu.EndNs)
	return gap > max(host.LenNs(), gpu.LenNs(), apartNs)
}

// trustLaunches looks at the host's side: launches for which nothing was recorded, graphs that are short of kernels.
func (f *Facts) trustLaunches(tr *Trust) {
	t, w := f.Trace, f.Work()
	if w.Len() == 0 {
		return
	}
	perCall := make([]uint32, t.Calls.Len())
	for _, call := range w.Call {
		if call != NoCall {
			perCall[call]++
		}
	}
	graphOf := f.graphOfCalls()
	most := make(map[uint32]uint32)
	empty := make(map[model.ThreadRow][]int32) // launches without work since a thread's last with work
	hadWork := make(map[model.ThreadRow]bool)
	for _, l := range f.launchCalls() {
		tr.Launches++
		if l.graph {
			tr.GraphLaunches++
			if g := graphOf[l.call]; g != model.NoGraph {
				most[g] = max(most[g], perCall[l.call])
			}
		}
		th := t.Calls.Thread[l.call]
		switch {
		case perCall[l.call] > 0:
			hadWork[th] = true
			tr.WithoutWork += len(empty[th])
			empty[th] = empty[th][:0]
		case at(t.Calls.Return, int(l.call), 0) == 0: // else the call failed: it launched nothing
			empty[th] = append(empty[th], l.call)
			if len(hadWork) == 0 {
				tr.HeadWithoutWork++
			}
		}
	}
	for th, calls := range empty {
		if hadWork[th] {
			tr.stillQueued = append(tr.stillQueued, calls...)
		} else {
			tr.WithoutWork += len(calls)
		}
	}
	slices.Sort(tr.stillQueued)
	tr.StillQueued = len(tr.stillQueued)
	for call, g := range graphOf {
		if g != model.NoGraph && perCall[call] > 0 && perCall[call] < most[g] {
			tr.GraphsUneven++
		}
	}
}

// graphOfCalls is the graph that each call with kernels of a graph launched.
func (f *Facts) graphOfCalls() map[int32]uint32 {
	out := make(map[int32]uint32)
	for i, g := range f.Trace.Kernels.Graph {
		if call := f.Launches().Kernels[i]; call != NoCall && g != model.NoGraph {
			out[call] = g
		}
	}
	return out
}

// trustStreams counts kernels that overlap the one before them on their stream.
func (f *Facts) trustStreams(tr *Trust) {
	k := &f.Trace.Kernels
	ends := make(map[[3]uint32]int64)
	for i := range k.Len() {
		key := [3]uint32{at(k.Device, i, 0), at(k.Context, i, 0), at(k.Stream, i, 0)}
		if end, seen := ends[key]; seen && k.StartNs[i] < end {
			tr.OverlapsOnStream++
		}
		ends[key] = max(ends[key], k.EndNs(i))
	}
}
