package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/interval"
	"lacuna/internal/model"
)

// Steps by periodicity: a training loop launches the same kernels over and over.
//
//  1. Take the sequence of kernel names on the busiest compute stream.
//  2. A name that occurs n times, n at least minPeriods, cuts the sequence in n-1 pieces. A step's
//     kernels are the same from step to step, so each piece must resemble the one before it.
//  3. Of the names whose pieces all resemble each other, take the largest n: pieces that hold two
//     steps resemble each other too, while pieces of one layer differ where a step ends.
//  4. Of the names with that n, take the one with the longest usual pause before it: loops wait
//     where they begin.
const (
	minPeriods     = 3
	minPeriodWork  = 3   // kernels in a step; a loop of one or two kernels has no shape to recognise
	minResemblance = 0.8 // share of the kernels that two neighbours have in common
	maxCandidates  = 64  // different n that are tried
)

// stepsByPeriod fills s with device steps if the launches repeat.
func (f *Facts) stepsByPeriod(s *Steps) {
	lane := f.laneWork(s.Busiest)
	names := make([]uint32, len(lane)) // small numbers for names
	number := make(map[uint64]uint32)
	var at [][]int32 // positions by small number
	for i, row := range lane {
		key := f.workKey(row)
		n, seen := number[key]
		if !seen {
			n = uint32(len(at))
			number[key] = n
			at = append(at, nil)
		}
		names[i] = n
		at[n] = append(at[n], int32(i))
	}
	byCount := make(map[int][]uint32)
	var counts []int
	for n, positions := range at {
		c := len(positions)
		if c < minPeriods || len(lane)/c < minPeriodWork {
			continue
		}
		if byCount[c] == nil {
			counts = append(counts, c)
		}
		byCount[c] = append(byCount[c], uint32(n))
	}
	slices.SortFunc(counts, func(a, b int) int { return cmp.Compare(b, a) })
	if len(counts) > maxCandidates {
		counts = counts[len(counts)-maxCandidates:]
	}
	seen := make([]int32, len(at)) // scratch of alike
	for _, c := range counts {
		best, bestPauseNs := -1, int64(-1)
		for _, n := range byCount[c] {
			if !alike(names, at[n], seen) {
				continue
			}
			if pause := f.medianPauseNs(lane, at[n]); pause > bestPauseNs {
				best, bestPauseNs = int(n), pause
			}
		}
		if best >= 0 {
			w := f.Work()
			var edges []int64
			for _, pos := range at[best] {
				edges = append(edges, w.StartNs[lane[pos]])
			}
			s.Source, s.Device, s.All = StepsPeriodicity, true, between(edges)
			s.Markers = f.hostOf(lane, at[best])
			s.Note = "no step markers: steps were found by the repeating launches"
			return
		}
	}
}

// laneWork is the rows of Work that compute on a lane.
func (f *Facts) laneWork(lane Lane) []int32 {
	w := f.Work()
	var out []int32
	for i := range w.Len() {
		if w.Kind[i].IsCompute() && (Lane{w.Device[i], w.Stream[i]}) == lane {
			out = append(out, int32(i))
		}
	}
	return out
}

// workKey tells names of work apart: kernels by name, graphs by graph.
func (f *Facts) workKey(row int32) uint64 {
	w, t := f.Work(), f.Trace
	r := w.Row[row]
	if w.Kind[row] == WorkGraph {
		return 1<<40 | uint64(at(t.GraphRuns.Graph, int(r), model.NoGraph))
	}
	return uint64(t.Kernels.Name[r])
}

// alike says whether all pieces of names between positions resemble their neighbours. scratch has
// a zero for each name and is left so.
func alike(names []uint32, positions []int32, scratch []int32) bool {
	for i := 2; i < len(positions); i++ {
		a, b := names[positions[i-2]:positions[i-1]], names[positions[i-1]:positions[i]]
		for _, n := range a {
			scratch[n]++
		}
		common := 0
		for _, n := range b {
			if scratch[n] > 0 {
				common++
			}
			scratch[n]--
		}
		for _, n := range a {
			scratch[n] = 0
		}
		for _, n := range b {
			scratch[n] = 0
		}
		if float64(common) < minResemblance*float64(max(len(a), len(b))) {
			return false
		}
	}
	return true
}

// medianPauseNs is the median idle time of the lane before the work at positions.
func (f *Facts) medianPauseNs(lane []int32, positions []int32) int64 {
	w := f.Work()
	var pauses []int64
	for _, p := range positions {
		if p > 0 {
			pauses = append(pauses, max(0, w.StartNs[lane[p]]-w.EndNs[lane[p-1]]))
		}
	}
	return medianOf(pauses)
}

// hostOf is the host's time of each step: from the call that launched its first work to that of the next.
func (f *Facts) hostOf(lane []int32, positions []int32) []interval.Span {
	w, t := f.Work(), f.Trace
	var edges []int64
	for _, p := range positions {
		call := w.Call[lane[p]]
		if call == NoCall {
			return nil
		}
		edges = append(edges, t.Calls.StartNs[call])
	}
	return between(edges)
}
