package facts

import (
	"fmt"
	"iter"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Steps by the rhythm of the calls, where the kernels of the busiest stream have none: loops of one or two kernels
// among copies, loops that launch one graph in each turn, loops of copies alone. What so few pieces of work have in
// common says little, so that a turn must be told by more:
//
//   - Kernels count with their grid, copies with their size: a reduction whose grid shrinks is no loop.
//   - A piece begins with a kernel or graph; with a copy only if the capture has no kernels at all.
//   - In each piece data passes between host and device or the host waits; or it launches a graph of many kernels; or
//     all that the capture holds are equal pieces.
const (
	minCallPeriods = 5    // more than minPeriods: calls of one kind come back three times by chance
	minAllCovered  = 0.95 // share of the GPU work that is "all"
	maxSameCount   = 16   // calls that come back equally often and are tried: they are of one loop
)

// stepsByCalls fills s with device steps if the calls repeat: those of all streams alike or, where the turns of several
// streams overlap, so that only a round of them is a turn, those of each stream for itself.
func (f *Facts) stepsByCalls(s *Steps) {
	lane, weights := f.callWork()
	for _, byStream := range []bool{false, true} {
		names, at := f.numberCalls(lane, byStream)
		seen := make([]int32, len(at)) // scratch
		for same := range f.callsByCount(lane, at) {
			for _, n := range same[:min(maxSameCount, len(same))] {
				p := &period{lane: lane, names: names, edges: at[n]}
				if p.alike(seen) && f.isCallLoop(p, weights, seen) {
					f.takeCalls(s, p)
					return
				}
				s.noteBrief(p)
			}
		}
	}
}

// callsByCount is byCount of the calls with which a piece can begin.
func (f *Facts) callsByCount(lane []int32, at [][]int32) iter.Seq[[]uint32] {
	w := f.Work()
	compute := slices.ContainsFunc(lane, func(row int32) bool { return w.Kind[row].IsCompute() })
	return byCount(at, func(positions []int32) bool {
		return len(positions) >= minCallPeriods && (!compute || w.Kind[lane[positions[0]]].IsCompute())
	})
}

// takeCalls makes the pieces the steps.
func (f *Facts) takeCalls(s *Steps, p *period) {
	s.Source, s.Device, s.All = StepsPeriodicity, true, between(f.startsAt(p))
	s.Markers = f.hostOf(p.lane, p.edges)
	s.Note = join(s.Note,
		fmt.Sprintf("no step markers: %s, and each repetition is taken for a step", repeats(p.median)))
}

func repeats(calls int) string {
	if calls == 1 {
		return "one launch repeats"
	}
	return launchesAndCopies(calls) + " repeat"
}

// callWork is the first row of Work of each call of the process that has most work, in the order of the calls, and
// how many pieces of work each call issued.
func (f *Facts) callWork() (lane []int32, weights []int32) {
	t, w := f.Trace, f.Work()
	busyNs := make(map[model.ProcessRow]int64)
	first, pieces := make([]int32, t.Calls.Len()), make([]int32, t.Calls.Len())
	var rows []int32
	for i, call := range w.Call {
		if call == NoCall {
			continue
		}
		if pieces[call]++; pieces[call] == 1 {
			first[call] = int32(i)
			rows = append(rows, call)
		}
		busyNs[f.ProcessOf(t.Calls.Thread[call])] += w.EndNs[i] - w.StartNs[i]
	}
	calls := mostOf(rowsOf(rows), busyNs, func(call uint32) model.ProcessRow {
		return f.ProcessOf(t.Calls.Thread[call])
	})
	slices.Sort(calls)
	for _, call := range calls {
		lane, weights = append(lane, first[call]), append(weights, pieces[call])
	}
	return lane, weights
}

func rowsOf(calls []int32) []uint32 {
	out := make([]uint32, len(calls))
	for i, c := range calls {
		out[i] = uint32(c)
	}
	return out
}

// numberCalls gives what calls issued small numbers, those of each stream their own if byStream, and tells the
// positions of each.
func (f *Facts) numberCalls(lane []int32, byStream bool) (names []uint32, positions [][]int32) {
	type issued struct {
		kind  WorkKind
		name  uint64
		bytes int64
		grid  [3]int32
		on    Lane
	}
	t, w := f.Trace, f.Work()
	k := &t.Kernels
	names = make([]uint32, len(lane))
	number := make(map[issued]uint32)
	for i, row := range lane {
		r := int(w.Row[row])
		is := issued{kind: w.Kind[row]}
		if byStream {
			is.on = Lane{w.Device[row], w.Stream[row]}
		}
		switch is.kind {
		case WorkKernel, WorkComm:
			if g := at(k.Graph, r, model.NoGraph); g != model.NoGraph {
				is.kind, is.name = WorkGraph, 1<<40|uint64(g)
			} else {
				is.name = uint64(k.Name[r])
				is.grid = [3]int32{at(k.GridX, r, 0), at(k.GridY, r, 0), at(k.GridZ, r, 0)}
			}
		case WorkGraph:
			is.name = f.workKey(row)
		case WorkCopy:
			is.name, is.bytes = uint64(t.Copies.Kind[r]), at(t.Copies.Bytes, r, 0)
		case WorkSet:
			is.bytes = at(t.Sets.Bytes, r, 0)
		}
		n, seen := number[is]
		if !seen {
			n = uint32(len(positions))
			number[is] = n
			positions = append(positions, nil)
		}
		names[i] = n
		positions[n] = append(positions[n], int32(i))
	}
	return names, positions
}

// isCallLoop says whether pieces that resemble each other are steps, as isLoop does for longer ones.
func (f *Facts) isCallLoop(p *period, weights []int32, seen []int32) bool {
	if len(p.tail()) > max(int(maxTail*float64(p.median)), 1) || !slices.IsSorted(f.startsAt(p)) {
		return false
	}
	calls, distinct := f.edgeCalls(p)
	if held, _ := f.heldByRange(calls); held || !distinct || f.coveredByPieces(p) < minCovered ||
		f.partsOf(calls) != "" || f.updatesUnevenly(p) || f.capturesGraphs(p) || f.isBrief(p, p.window(f)) {
		return false
	}
	if p.median == 1 && f.coveredByPieces(p) >= minAllCovered {
		return true
	}
	repeated := 0
	for _, n := range weights[p.edges[0]:p.edges[p.pieces()]] {
		repeated += int(n)
	}
	if repeated < minRepeated {
		return false
	}
	graphs := repeated >= minRepeated*int(p.edges[p.pieces()]-p.edges[0]) // many kernels a call
	return f.hostTakesPart(p) || graphs && !p.ends(seen)
}

// coveredByPieces is the share of the capture's GPU work in the pieces, the one that is not closed among them; of
// kernels and graphs if there are any: a program that loads its model copies more than it computes. It is no more than
// their share of the time from the first work to the last: a short loop in a long capture is not what that is about.
func (f *Facts) coveredByPieces(p *period) float64 {
	w := f.Work()
	span := interval.Span{StartNs: w.StartNs[p.lane[p.edges[0]]]}
	for _, row := range p.lane[p.edges[0]:min(int(p.edges[p.pieces()])+p.median, len(p.lane))] {
		span.EndNs = max(span.EndNs, w.EndNs[row])
	}
	var inside, all, insideAny, allAny int64
	whole := interval.Span{StartNs: w.StartNs[0], EndNs: w.EndNs[0]}
	for i := range w.Len() {
		s := interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}
		whole.EndNs = max(whole.EndNs, s.EndNs)
		insideAny, allAny = insideAny+s.Clip(span).LenNs(), allAny+s.LenNs()
		if w.Kind[i].IsCompute() {
			inside, all = inside+s.Clip(span).LenNs(), all+s.LenNs()
		}
	}
	if all == 0 {
		inside, all = insideAny, allAny
	}
	return min(float64(inside)/float64(max(1, all)), float64(span.LenNs())/float64(max(1, whole.LenNs())))
}

func launchesAndCopies(calls int) string { return fmt.Sprintf("%d launches and copies", calls) }
