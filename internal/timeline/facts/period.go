package facts

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Steps by periodicity: a loop launches the same kernels over and over.
//
//  1. Take the sequence of kernel names on the busiest compute stream.
//  2. A name that occurs n times, n at least minPeriods, cuts the sequence in n-1 pieces. A step's
//     kernels are the same from step to step, so each piece must resemble the one before it.
//  3. The pieces must be steps of the loop that the capture is about, and not a part of one, such as
//     the layers of a model: see isLoop.
//  4. Of the names whose pieces pass, take the largest n: pieces that hold two steps resemble
//     each other too. But where the host takes no part in the pieces, and another name's hold equally many of them
//     each, these are the steps: a model's head is too little to make its last layer unlike the others.
//  5. Of the names with that n, take the one with the longest usual pause before it: loops wait
//     where they begin.
//
// Where the streams of a device take turns, their kernels are one sequence (period_lanes.go). Where none of this finds
// steps, the calls do (period_calls.go), or kernels in a row (period_rows.go), or runs of pieces (period_runs.go,
// period_outer.go); where nothing of the GPU was recorded, what a host thread does (period_host.go). A loop that is
// next to nothing of what follows it is none (period_brief.go).
const (
	minPeriods     = 3
	minPeriodWork  = 3    // kernels in a step; a loop of one or two kernels has no shape to recognise
	minRepeated    = 8    // kernels that come back; fewer come back by chance
	minResemblance = 0.9  // share of the kernels that two neighbours have in common
	minFirst       = 0.75 // the same of the first two: a first step tunes and compiles
	minCovered     = 0.5  // share of the capture's GPU work in the steps
	maxTail        = 1.5  // pieces' worth of kernels behind the last one
	maxCandidates  = 64   // different n that are tried
)

// A period is a sequence of kernels cut into pieces.
type period struct {
	lane   []int32  // rows of Work
	names  []uint32 // small numbers for their names
	edges  []int32  // positions in lane where pieces begin; the last one only ends the piece before it
	median int      // kernels in the usual piece
	parts  string   // what ranges call the pieces, if that is parts of a model
	pass   string   // the one pass that several pieces lie in
	brief  string   // how short the loop is, if it is too short to be what the capture is about
}

// piece is the names of a piece, counted from 0.
func (p *period) piece(i int) []uint32 { return p.names[p.edges[i]:p.edges[i+1]] }

func (p *period) pieces() int { return len(p.edges) - 1 }

// tail is the names from the start of the piece that is not closed.
func (p *period) tail() []uint32 { return p.names[p.edges[p.pieces()]:] }

// stepsByPeriod fills s with device steps if the launches repeat.
func (f *Facts) stepsByPeriod(s *Steps) {
	for _, lane := range f.lanesOfTurns(s.Busiest) {
		names, at := f.numberNames(lane)
		if best := f.bestPeriod(s, lane, names, at, 1); best != nil {
			f.takePeriod(s, best)
			if n := f.lanesIn(lane); n > 1 {
				s.Note = join(s.Note, fmt.Sprintf("%d streams take turns", n))
			}
			return
		}
	}
}

// bestPeriod is the pieces that are steps, by points 3 to 5; nil: none. Pieces begin where at says that something
// occurs, or up to shifts-1 kernels later.
func (f *Facts) bestPeriod(s *Steps, lane []int32, names []uint32, at [][]int32, shifts int32) *period {
	seen := make([]int32, len(names)) // scratch
	var inner *period
	for same := range byCount(at, func(positions []int32) bool {
		return len(positions) >= minPeriods && len(lane)/len(positions) >= minPeriodWork
	}) {
		var best *period
		bestPauseNs := int64(-1)
		for _, n := range same {
			p := &period{lane: lane, names: names, edges: at[n]}
			if inner != nil && !p.groups(inner) {
				continue
			}
			if !p.alike(seen) || !f.isLoop(p, seen) {
				switch s.noteBrief(p); {
				case p.parts != "":
					s.parts = "are parts of a model, " + p.parts
				case p.pass != "" && s.parts == "":
					s.parts = "lie within one " + p.pass
				}
				continue
			}
			for shift := range shifts {
				q := p.shifted(shift)
				if pause := f.medianPauseNs(lane, q.edges); pause > bestPauseNs {
					best, bestPauseNs = q, pause
				}
			}
		}
		switch {
		case best != nil && f.updatesIn(best) == best.pieces():
			return best
		case best != nil && f.hostIsIn(best):
			if turns := f.innerTurns(best, len(at), seen); turns != nil {
				return turns
			}
			return best
		case best != nil:
			inner = best
		}
	}
	return inner
}

// shifted is the same pieces, each from n kernels later on.
func (p *period) shifted(n int32) *period {
	q := *p
	q.edges = slices.Clone(p.edges)
	for i := range q.edges {
		q.edges[i] += n
	}
	if last := len(q.edges) - 1; int(q.edges[last]) >= len(q.lane) {
		q.edges = q.edges[:last]
	}
	return &q
}

// takePeriod makes the pieces the steps.
func (f *Facts) takePeriod(s *Steps, p *period) {
	s.Source, s.Device, s.All = StepsPeriodicity, true, between(f.startsAt(p))
	s.Markers = f.hostOf(p.lane, p.edges)
	s.Note = join(s.Note,
		fmt.Sprintf("no step markers: %d launches repeat, and each repetition is taken for a step", p.median))
}

// byCount yields what occurs equally often, most often first: of the different counts the last maxCandidates.
func byCount(at [][]int32, fits func(positions []int32) bool) iter.Seq[[]uint32] {
	same := make(map[int][]uint32)
	for n, positions := range at {
		if fits(positions) {
			same[len(positions)] = append(same[len(positions)], uint32(n))
		}
	}
	counts := slices.SortedFunc(maps.Keys(same), func(a, b int) int { return cmp.Compare(b, a) })
	counts = counts[max(0, len(counts)-maxCandidates):]
	return func(yield func([]uint32) bool) {
		for _, c := range counts {
			if !yield(same[c]) {
				return
			}
		}
	}
}

// numberNames gives the names on a lane small numbers, and tells the positions of each.
func (f *Facts) numberNames(lane []int32) (names []uint32, at [][]int32) {
	names = make([]uint32, len(lane))
	number := make(map[uint64]uint32)
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
	return names, at
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

// alike says whether all pieces resemble their neighbours, and notes the usual length. seen has a
// zero for each name and is left so.
func (p *period) alike(seen []int32) bool {
	for i := 1; i < p.pieces(); i++ {
		a, b := p.piece(i-1), p.piece(i)
		want := minResemblance
		if i == 1 {
			want = minFirst
		}
		if float64(common(a, b, seen)) < want*float64(max(len(a), len(b))) {
			return false
		}
	}
	lengths := make([]int64, p.pieces())
	for i := range lengths {
		lengths[i] = int64(len(p.piece(i)))
	}
	p.median = int(medianOf(lengths))
	return true
}

// common is how many kernels two pieces share.
func common(a, b []uint32, seen []int32) int {
	for _, n := range a {
		seen[n]++
	}
	both := 0
	for _, n := range b {
		if seen[n] > 0 {
			both++
		}
		seen[n]--
	}
	for _, n := range a {
		seen[n] = 0
	}
	for _, n := range b {
		seen[n] = 0
	}
	return both
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

// startsAt is when the pieces begin on the device.
func (f *Facts) startsAt(p *period) []int64 {
	w := f.Work()
	out := make([]int64, len(p.edges))
	for i, e := range p.edges {
		out[i] = w.StartNs[p.lane[e]]
	}
	return out
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
