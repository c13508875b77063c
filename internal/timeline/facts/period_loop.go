package facts

import (
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// isLoop says whether pieces that resemble each other are steps. What repeats within a step, as the layers
// of a model do, would make steps that are too short by a factor: worse than none. So:
//
//   - Enough repeats, and it is what the capture is about.
//   - Each step is launched by calls of its own: pieces of one graph launch are none.
//   - No operator, and no range that recurs, holds several pieces: it would be the step. No range tells of each piece
//     that it is another part of a model.
//   - An optimizer that runs in some of the pieces runs in each.
//   - What follows the last piece is part of a piece. Where it is not, the repetition has ended in the
//     capture, as that of layers does, and is believed only if the host takes part in every piece.
func (f *Facts) isLoop(p *period, seen []int32) bool {
	if (p.pieces()-1)*p.median < minRepeated || float64(len(p.tail())) > maxTail*float64(p.median) ||
		!slices.IsSorted(f.startsAt(p)) {
		return false
	}
	calls, distinct := f.edgeCalls(p)
	if !distinct || !f.coversWork(p) || f.isBrief(p, p.window(f)) {
		return false
	}
	held, pass := f.heldByRange(calls)
	if p.pass = pass; held || f.updatesUnevenly(p) || f.capturesGraphs(p) || p.ends(seen) && !f.hostTakesPart(p) {
		return false
	}
	p.parts = f.partsOf(calls)
	return p.parts == ""
}

// edgeCalls is the known launches of the pieces' first kernels, in order, and whether they are different ones.
func (f *Facts) edgeCalls(p *period) (calls []int32, distinct bool) {
	w := f.Work()
	for _, e := range p.edges {
		if call := w.Call[p.lane[e]]; call != NoCall {
			calls = append(calls, call)
		}
	}
	slices.Sort(calls)
	n := len(calls)
	calls = slices.Compact(calls)
	return calls, len(calls) == n
}

// coversWork says whether the pieces hold enough of the capture's GPU work.
func (f *Facts) coversWork(p *period) bool {
	return f.WorkShare(p.window(f)) >= minCovered
}

// WorkShare is how much of the capture's GPU work lies within span, by the sum of durations.
func (f *Facts) WorkShare(span interval.Span) float64 {
	inside, all := f.workWithin(span)
	return float64(inside) / float64(max(1, all))
}

// workWithin is the GPU work within span and all of it, by the sum of durations.
func (f *Facts) workWithin(span interval.Span) (inside, all int64) {
	w := f.Work()
	for i := range w.Len() {
		s := interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}
		inside, all = inside+s.Clip(span).LenNs(), all+s.LenNs()
	}
	return inside, all
}

// heldByRange says whether something on the launching thread encloses several of calls: an operator, a module of the
// model, an update of the weights, or a range whose name does so again and again, one after the other. Another range
// that does it once may be the whole run, and one within another of its name was not closed. pass says which
// module or update it is.
func (f *Facts) heldByRange(calls []int32) (held bool, pass string) {
	starts := make(map[model.ThreadRow][]int64)
	for _, c := range calls {
		th := f.Trace.Calls.Thread[c]
		starts[th] = append(starts[th], f.Trace.Calls.StartNs[c])
	}
	return f.heldOn(starts)
}

// heldOn is heldByRange of pieces that begin on threads at times.
func (f *Facts) heldOn(starts map[model.ThreadRow][]int64) (held bool, pass string) {
	t := f.Trace
	holds := func(th model.ThreadRow, startNs, endNs int64) bool {
		at := starts[th]
		i, _ := slices.BinarySearch(at, startNs)
		return i+1 < len(at) && at[i+1] < endNs
	}
	isModule := judge(&t.Strings, func(name string) bool { return strings.HasPrefix(name, modulePrefix) })
	for i, th := range t.PyCalls.Thread {
		if isModule(t.PyCalls.Name[i]) && holds(th, t.PyCalls.StartNs[i], t.PyCalls.StartNs[i]+t.PyCalls.DurNs[i]) {
			return true, "pass over a model, " + t.Strings.Text(t.PyCalls.Name[i])
		}
	}
	until := make(map[model.StringID]int64) // when the first one of a name that holds several has ended
	names := f.RangeNames()
	isOnePass := judge(&t.Strings, onePass.MatchString)
	for i, th := range t.Ranges.Thread {
		if t.Ranges.DurNs[i] == model.OpenDurNs || !holds(th, t.Ranges.StartNs[i], t.Ranges.EndNs(i)) {
			continue
		}
		if isOnePass(t.Ranges.Name[i]) {
			return true, "pass over a model or its weights, " + t.Strings.Text(t.Ranges.Name[i])
		}
		name := names[t.Ranges.Name[i]]
		if end, seen := until[name]; seen && t.Ranges.StartNs[i] >= end {
			return true, ""
		} else if !seen {
			until[name] = t.Ranges.EndNs(i)
		}
	}
	for i, th := range t.Ops.Thread {
		if holds(th, t.Ops.StartNs[i], t.Ops.EndNs(i)) {
			return true, ""
		}
	}
	return false, ""
}

// modulePrefix begins the name of the Python call that is a module's forward.
const modulePrefix = "nn.Module: "

// onePass is what PyTorch marks around one pass over a model, or over its parameters: what repeats inside is layers or
// parameters.
var onePass = regexp.MustCompile(`^Optimizer\.(step|zero_grad)#|` + loopRange.String())

// capturesGraphs says whether the host captures a graph in nearly every piece and launches none: the pieces are parts
// of a pass that is being captured, and ran only what cannot be.
func (f *Facts) capturesGraphs(p *period) bool {
	launched, thread := f.launchedAt(p)
	captures := f.GraphCaptures()[thread]
	if launched == nil || len(captures) == 0 {
		return false
	}
	met := newMet(p.pieces())
	for _, s := range captures {
		met.at(launched, s.StartNs)
	}
	if float64(met.count()) < minBusyTurns*float64(p.pieces()) {
		return false
	}
	calls := f.Trace.Calls.StartNs
	return !slices.ContainsFunc(f.launchCalls(), func(c launchedCall) bool {
		return c.graph && launched[0] <= calls[c.call] && calls[c.call] < launched[len(launched)-1]
	})
}

// ends says whether kernels follow the last piece that no piece has. seen has a zero for each name and is left so.
func (p *period) ends(seen []int32) bool {
	inside := p.names[p.edges[0]:p.edges[p.pieces()]]
	for _, n := range inside {
		seen[n] = 1
	}
	foreign := slices.ContainsFunc(p.tail(), func(n uint32) bool { return seen[n] == 0 })
	for _, n := range inside {
		seen[n] = 0
	}
	return foreign
}

// hostTakesPart says whether in every piece data passes between host and device, or the host waits
// for the device: loops read their input and look at their result; the layers of a model do neither.
func (f *Facts) hostTakesPart(p *period) bool { return f.piecesWithHost(p) == p.pieces() }

// hostIsIn says the same of nearly every piece, or that the host takes the time of each: by events that no stream
// waits for and that nobody asks whether they have come.
func (f *Facts) hostIsIn(p *period) bool {
	need := minBusyTurns * float64(p.pieces())
	return float64(f.piecesWithHost(p)) >= need || float64(f.piecesTimed(p)) >= need
}

// piecesWithHost is in how many pieces the host takes part.
func (f *Facts) piecesWithHost(p *period) int {
	t, w := f.Trace, f.Work()
	met := newMet(p.pieces())
	starts := f.startsAt(p)
	device := w.Device[p.lane[0]]
	for i := range w.Len() {
		if w.Kind[i] == WorkCopy && w.Device[i] == device && betweenHostAndDevice(t.Copies.Kind[w.Row[i]]) {
			met.at(starts, w.StartNs[i])
		}
	}
	if launched, thread := f.launchedAt(p); launched != nil {
		for _, row := range f.BlockingCalls() {
			if t.Calls.Thread[row] == thread {
				met.at(launched, t.Calls.StartNs[row])
			}
		}
	}
	return met.count()
}

var (
	recordsEvent = regexp.MustCompile(`^(cuda|cu|hip)EventRecord`)
	usesEvent    = regexp.MustCompile(`^(cuda|cu|hip)(StreamWaitEvent|EventQuery)`)
)

// piecesTimed is in how many pieces the host records events that can only tell the time.
func (f *Facts) piecesTimed(p *period) int {
	t := f.Trace
	met := newMet(p.pieces())
	launched, thread := f.launchedAt(p)
	if launched == nil {
		return 0
	}
	const record, use = 1, 2
	is := judge(&t.Strings, func(name string) uint8 {
		switch {
		case recordsEvent.MatchString(name):
			return record
		case usesEvent.MatchString(name):
			return use
		}
		return 0
	})
	for i, id := range t.Calls.Name {
		switch is(id) {
		case use:
			return 0
		case record:
			if t.Calls.Thread[i] == thread {
				met.at(launched, t.Calls.StartNs[i])
			}
		}
	}
	return met.count()
}

// launchedAt is when the host launched the pieces and the end of the last one, and on which thread; nil: not known.
func (f *Facts) launchedAt(p *period) ([]int64, model.ThreadRow) {
	hosts := f.hostOf(p.lane, p.edges)
	if len(hosts) == 0 {
		return nil, model.NoThread
	}
	return append(startsOf(hosts), hosts[len(hosts)-1].EndNs), f.Trace.Calls.Thread[f.Work().Call[p.lane[p.edges[0]]]]
}

// met is in which of some pieces something was met.
type met []bool

func newMet(n int) met { return make(met, n) }

// at marks the piece that ns is in; edges are where pieces begin, and where the last one ends.
func (m met) at(edges []int64, ns int64) {
	i, exact := slices.BinarySearch(edges, ns)
	if !exact {
		i--
	}
	if i >= 0 && i < len(m) {
		m[i] = true
	}
}

func (m met) count() int {
	n := 0
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}

// betweenHostAndDevice says whether a copy crosses from one to the other.
func betweenHostAndDevice(k model.CopyKind) bool {
	switch k {
	case model.CopyHtoD, model.CopyDtoH, model.CopyHtoA, model.CopyAtoH, model.CopyUMHtoD, model.CopyUMDtoH:
		return true
	}
	return false
}
