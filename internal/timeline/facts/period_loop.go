package facts

import (
	"slices"

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
	if (p.pieces()-1)*p.median < minRepeated || float64(len(p.tail())) > maxTail*float64(p.median) {
		return false
	}
	calls, distinct := f.edgeCalls(p)
	if !distinct || !f.coversWork(p) || f.heldByRange(calls) || f.updatesUnevenly(p) ||
		p.ends(seen) && !f.hostTakesPart(p) {
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
	starts := f.startsAt(p)
	window := interval.Span{StartNs: starts[0], EndNs: starts[len(starts)-1]}
	return f.WorkShare(window) >= minCovered
}

// WorkShare is how much of the capture's GPU work lies within span, by the sum of durations.
func (f *Facts) WorkShare(span interval.Span) float64 {
	w := f.Work()
	var inside, all int64
	for i := range w.Len() {
		s := interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}
		inside, all = inside+s.Clip(span).LenNs(), all+s.LenNs()
	}
	return float64(inside) / float64(max(1, all))
}

// heldByRange says whether something on the launching thread encloses several of calls: an operator,
// or a range whose name does so again and again, one after the other. A range that does it once may be the whole run,
// and one within another of its name was not closed.
func (f *Facts) heldByRange(calls []int32) bool {
	t := f.Trace
	starts := make(map[model.ThreadRow][]int64)
	for _, c := range calls {
		th := t.Calls.Thread[c]
		starts[th] = append(starts[th], t.Calls.StartNs[c])
	}
	holds := func(th model.ThreadRow, startNs, endNs int64) bool {
		at := starts[th]
		i, _ := slices.BinarySearch(at, startNs)
		return i+1 < len(at) && at[i+1] < endNs
	}
	for i, th := range t.Ops.Thread {
		if holds(th, t.Ops.StartNs[i], t.Ops.EndNs(i)) {
			return true
		}
	}
	until := make(map[model.StringID]int64) // when the first one of a name that holds several has ended
	names := f.RangeNames()
	for i, th := range t.Ranges.Thread {
		if t.Ranges.DurNs[i] == model.OpenDurNs || !holds(th, t.Ranges.StartNs[i], t.Ranges.EndNs(i)) {
			continue
		}
		name := names[t.Ranges.Name[i]]
		if end, seen := until[name]; seen && t.Ranges.StartNs[i] >= end {
			return true
		} else if !seen {
			until[name] = t.Ranges.EndNs(i)
		}
	}
	return false
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
func (f *Facts) hostTakesPart(p *period) bool {
	t, w := f.Trace, f.Work()
	met := make([]bool, p.pieces())
	starts := f.startsAt(p)
	mark := func(edges []int64, ns int64) {
		i, exact := slices.BinarySearch(edges, ns)
		if !exact {
			i--
		}
		if i >= 0 && i < len(met) {
			met[i] = true
		}
	}
	device := w.Device[p.lane[0]]
	for i := range w.Len() {
		if w.Kind[i] == WorkCopy && w.Device[i] == device && betweenHostAndDevice(t.Copies.Kind[w.Row[i]]) {
			mark(starts, w.StartNs[i])
		}
	}
	if hosts := f.hostOf(p.lane, p.edges); hosts != nil {
		launched := append(startsOf(hosts), hosts[len(hosts)-1].EndNs)
		thread := t.Calls.Thread[w.Call[p.lane[p.edges[0]]]]
		for _, row := range f.BlockingCalls() {
			if t.Calls.Thread[row] == thread {
				mark(launched, t.Calls.StartNs[row])
			}
		}
	}
	return !slices.Contains(met, false)
}

// betweenHostAndDevice says whether a copy crosses from one to the other.
func betweenHostAndDevice(k model.CopyKind) bool {
	switch k {
	case model.CopyHtoD, model.CopyDtoH, model.CopyHtoA, model.CopyAtoH, model.CopyUMHtoD, model.CopyUMDtoH:
		return true
	}
	return false
}
