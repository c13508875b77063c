package facts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"lacuna/internal/interval"
	"lacuna/internal/model"
)

// Trust is what speaks against believing a capture. Counts are over the whole capture.
type Trust struct {
	Work              int   // kernels, graphs, copies, sets
	WithoutCall       int   // of them, not launched by a recorded call
	BeforeFirstCall   int   // of those, started before the first recorded call: launched before the capture
	NoCalls           bool  // there is GPU work and not one call
	Launches          int   // calls that launch work
	WithoutWork       int   // of them, launches that nothing was recorded for
	HeadWithoutWork   int   // of those, before the first launch that has work
	GraphLaunches     int   // calls that launch a CUDA graph
	GraphsWhole       int   // graph executions recorded as a whole: their inner gaps are invisible
	GraphsUneven      int   // launches of a graph for which fewer kernels were recorded than for others of that graph
	OverlapsOnStream  int   // kernels that start before the one before them on their stream has ended
	StartBeforeLaunch int   // GPU work that starts before its call does: clocks disagree
	WorstEarlyNs      int64 // by how much, at worst
	WindowsApart      bool  // GPU work and host calls do not overlap in time at all
	Duplicates        int   // calls with a correlation ID that another call has
}

// launchCall is the calls that must lead to work on the device.
var launchCall = regexp.MustCompile(`^(cuda|cu|hip)Launch(Cooperative)?Kernel|^(cuda|cu|hip)GraphLaunch|^hip(Ext)?(Module)?LaunchKernel`)

var graphLaunchCall = regexp.MustCompile(`^(cuda|cu|hip)GraphLaunch`)

// Trust examines the capture.
func (f *Facts) Trust() *Trust {
	return fact(f, "trust", func() *Trust {
		tr := &Trust{Duplicates: f.Launches().Duplicates}
		f.trustWork(tr)
		f.trustLaunches(tr)
		f.trustStreams(tr)
		return tr
	})
}

// trustWork looks at the device's side: work without a call, before its call, outside the host's time.
func (f *Facts) trustWork(tr *Trust) {
	t, w := f.Trace, f.Work()
	tr.Work, tr.GraphsWhole = w.Len(), t.GraphRuns.Len()
	tr.NoCalls = w.Len() > 0 && t.Calls.Len() == 0
	if w.Len() == 0 || t.Calls.Len() == 0 {
		return
	}
	firstCallNs := t.Calls.StartNs[0]
	var gpuEndNs, hostEndNs int64 = minTime, minTime
	for i := range w.Len() {
		gpuEndNs = max(gpuEndNs, w.EndNs[i])
		call := w.Call[i]
		if call == NoCall {
			tr.WithoutCall++
			if w.StartNs[i] < firstCallNs {
				tr.BeforeFirstCall++
			}
			continue
		}
		if early := t.Calls.StartNs[call] - w.StartNs[i]; early > 0 {
			tr.StartBeforeLaunch++
			tr.WorstEarlyNs = max(tr.WorstEarlyNs, early)
		}
	}
	for i := range t.Calls.Len() {
		hostEndNs = max(hostEndNs, t.Calls.EndNs(i))
	}
	tr.WindowsApart = w.StartNs[0] >= hostEndNs || gpuEndNs <= firstCallNs
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
	is := judge(&t.Strings, func(name string) uint8 {
		switch {
		case graphLaunchCall.MatchString(name):
			return 2
		case launchCall.MatchString(name):
			return 1
		}
		return 0
	})
	graphOf := f.graphOfCalls()
	most := make(map[uint32]uint32)
	seenWork := false
	for i, id := range t.Calls.Name {
		kind := is(id)
		if kind == 0 {
			continue
		}
		tr.Launches++
		if kind == 2 {
			tr.GraphLaunches++
			if g := graphOf[int32(i)]; g != model.NoGraph {
				most[g] = max(most[g], perCall[i])
			}
		}
		if perCall[i] > 0 {
			seenWork = true
			continue
		}
		if at(t.Calls.Return, i, 0) != 0 {
			continue // the call failed: it launched nothing
		}
		tr.WithoutWork++
		if !seenWork {
			tr.HeadWithoutWork++
		}
	}
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

// Thresholds of what is worth a sentence.
const (
	noticeShare   = 0.01    // of launches or work; fewer are the edge of the capture
	noticeEarlyNs = 100_000 // clocks that disagree by less do not move a budget
)

// Warnings says in sentences for people what of Trust is worth knowing.
func (tr *Trust) Warnings(info *model.Info) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	if tr.NoCalls {
		add("no CUDA or HIP calls were recorded: who launched the GPU work, and why the GPU waited, cannot be told")
	}
	if tr.WindowsApart {
		add("GPU work and host calls do not overlap in time: their clocks do not agree (kineto#996); idle time by host means nothing here")
	}
	if n := tr.WithoutCall; !tr.NoCalls && share(n, tr.Work) > noticeShare {
		add("%d of %d GPU operations have no launching call (%d of them started before the first recorded call, so were launched before the capture)", n, tr.Work, tr.BeforeFirstCall)
	}
	if n := tr.WithoutWork; share(n, tr.Launches) > noticeShare {
		text := fmt.Sprintf("%d of %d launches have no recorded GPU work", n, tr.Launches)
		if tr.HeadWithoutWork > n/2 && cuptiBefore(info, 13, 1) {
			text += fmt.Sprintf("; %d of them open the capture, as when CUPTI before 13.1 loses the first kernels (pytorch#192021)", tr.HeadWithoutWork)
		}
		out = append(out, text+": GPU time is missing, and idle time is too large by it")
	}
	if tr.GraphsWhole > 0 {
		add("%d CUDA graphs were recorded as a whole: they count as compute, and gaps inside them cannot be seen; record with nsys profile --cuda-graph-trace=node to see them", tr.GraphsWhole)
	}
	if tr.GraphsUneven > 0 {
		add("%d CUDA graph launches have fewer recorded kernels than other launches of the same graph: their idle time is not to be believed", tr.GraphsUneven)
	}
	if tr.StartBeforeLaunch > 0 && tr.WorstEarlyNs > noticeEarlyNs {
		add("%d GPU operations start before their launching call does, by up to %.3f ms: the clocks of host and GPU disagree by that much", tr.StartBeforeLaunch, float64(tr.WorstEarlyNs)/1e6)
	}
	if tr.Duplicates > 0 {
		add("%d calls share a correlation ID with an earlier call: work is given to the first", tr.Duplicates)
	}
	return out
}

// cuptiBefore says whether the capture was made by a CUPTI older than major.minor, or may have been.
// Kineto writes CUPTI's API version: 28 for CUDA 12.9, from 13 on major*10000 + minor*100 + patch.
func cuptiBefore(info *model.Info, major, minor int) bool {
	switch {
	case info.CUPTI >= 10_000:
		return info.CUPTI < major*10_000+minor*100
	case info.CUPTI > 0:
		return true
	case info.Runtime > 0:
		return info.Runtime < major*1000+minor*10
	}
	return true
}

// BlockingCalls is the calls in which the host waits for a device: synchronisations by their own
// name, and blocking copies. Rows of Calls, in order.
func (f *Facts) BlockingCalls() []int32 {
	var out []int32
	for i, c := range f.CallCauses() {
		if CauseKind(c) == causeSync {
			out = append(out, int32(i))
		}
	}
	return out
}

// Where is the innermost user range on a thread at an instant, else the outermost operator, else the
// innermost range of the framework; failing those, of another thread of the process that feeds a GPU. "" if there is none.
func (f *Facts) Where(thread model.ThreadRow, ns int64) string {
	threads := f.hostThreads()
	for _, th := range append([]model.ThreadRow{thread}, f.feeders(thread)...) {
		h := threadAt(threads, th)
		if h == nil {
			continue
		}
		for _, spans := range [][]named{h.user, h.ops, h.framework} {
			if i := firstNamedAfter(spans, ns); i < len(spans) && spans[i].Contains(ns) {
				return f.NameText(spans[i].name)
			}
		}
	}
	return ""
}

// LongestCall is the call of a thread that lasts longest inside span, or NoCall, and for how long.
func (f *Facts) LongestCall(thread model.ThreadRow, span interval.Span) (row int32, ns int64) {
	row = NoCall
	h := threadAt(f.hostThreads(), thread)
	if h == nil {
		return row, 0
	}
	for i := firstEndingAfter(h.calls, span.StartNs); i < len(h.calls) && h.calls[i].StartNs < span.EndNs; i++ {
		if d := h.calls[i].Clip(span).LenNs(); d > ns {
			row, ns = h.callRow[i], d
		}
	}
	return row, ns
}

// LongestGaps is the n longest of gaps, longest first.
func LongestGaps(gaps []IdleGap, n int) []IdleGap {
	out := slices.Clone(gaps)
	slices.SortStableFunc(out, func(a, b IdleGap) int { return cmp.Compare(b.LenNs(), a.LenNs()) })
	return out[:min(n, len(out))]
}
