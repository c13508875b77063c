package facts

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
)

// Loops that are interrupted, and several loops one after another: a decoder that is made anew, a benchmark of one
// thing and then of another. Not all pieces resemble their neighbours then, but long runs of them do. The layers of a
// model are such runs, too, between what comes before and behind them, so that more is asked of a run than of a
// sequence that is alike all over: the host takes part in nearly all of its pieces, and there are enough of them.
const (
	minRun         = 8   // pieces of a run: more than the equal blocks in a row of most networks' stages
	maxInterrupted = 0.1 // share of the pieces' time in those that are unlike; with more each run is a loop of its own
)

// A run is pieces from to to-1 that resemble each other.
type run struct {
	from, to int
	workNs   int64 // of the lane
}

// stepsByRuns fills s with device steps if there are runs of launches or, failing these, of calls.
func (f *Facts) stepsByRuns(s *Steps) {
	lane := f.laneWork(s.Busiest)
	names, at := f.numberNames(lane)
	for same := range byCount(at, func(positions []int32) bool {
		return len(positions) > minRun && len(lane)/len(positions) >= minPeriodWork
	}) {
		if f.takeRuns(s, lane, names, at, same, minPeriodWork, f.takePeriod) {
			return
		}
	}
	calls, _ := f.callWork()
	names, at = f.numberCalls(calls, false)
	for same := range f.callsByCount(calls, at) {
		if len(at[same[0]]) > minRun && f.takeRuns(s, calls, names, at, same, 1, f.takeCalls) {
			return
		}
	}
}

// takeRuns makes the pieces of a run the steps, where one of the names begins pieces of which runs are loops.
func (f *Facts) takeRuns(s *Steps, lane []int32, names []uint32, at [][]int32, same []uint32, least int,
	take func(*Steps, *period)) bool {
	seen := make([]int32, len(names)) // scratch
	var best, bestOf *period
	var bestRuns []run
	bestPauseNs := int64(-1)
	for _, n := range same[:min(maxSameCount, len(same))] {
		p := &period{lane: lane, names: names, edges: at[n]}
		if !p.oftenAlike(seen) {
			continue
		}
		runs := f.loopRuns(p, seen)
		if len(runs) == 0 {
			s.noteBrief(p)
			continue
		}
		q := p.part(runs[0])
		if pause := f.medianPauseNs(lane, q.edges); q.median >= least && pause > bestPauseNs {
			best, bestOf, bestRuns, bestPauseNs = q, p, runs, pause
		}
	}
	if best == nil {
		return false
	}
	if outer, turns := f.outerTurns(bestOf, bestRuns, seen); outer != nil {
		take(s, outer)
		s.Note = join(s.Note, fmt.Sprintf("each holds about %d turns of %s that repeat, too", turns,
			launchesAndCopies(best.median)))
		return true
	}
	take(s, best)
	s.Note = join(s.Note, otherRuns(bestRuns))
	return true
}

// otherRuns says which other loops there are.
func otherRuns(runs []run) string {
	if len(runs) < 2 {
		return ""
	}
	all, turns := int64(0), 0
	for i, r := range runs {
		all += r.workNs
		if i > 0 {
			turns += r.to - r.from
		}
	}
	other := "another loop follows or precedes it"
	if n := len(runs) - 1; n > 1 {
		other = fmt.Sprintf("%d other loops follow or precede it", n)
	}
	return fmt.Sprintf("%s, of %d turns in all, with %.0f %% of the loops' GPU work: the report is on the loop with "+
		"the most of it", other, turns, 100*float64(all-runs[0].workNs)/float64(max(1, all)))
}

// part is the pieces of a run alone.
func (p *period) part(r run) *period {
	q := *p
	q.edges = p.edges[r.from : r.to+1]
	lengths := make([]int64, q.pieces())
	for i := range lengths {
		lengths[i] = int64(len(q.piece(i)))
	}
	q.median = int(medianOf(lengths))
	return &q
}

// loopRuns is the runs that are loops, the one with most work first, if together they hold the capture's work.
func (f *Facts) loopRuns(p *period, seen []int32) []run {
	if !slices.IsSorted(f.startsAt(p)) {
		return nil
	}
	var out []run
	var workNs int64
	var spans []interval.Span
	for _, r := range f.runsOf(p, seen) {
		if q := p.part(r); f.isLoopRun(q) {
			spans = append(spans, q.window(f))
			r.workNs = f.pieceWorkNs(q)
			workNs += r.workNs
			out = append(out, r)
		}
	}
	_, allNs := f.workWithin(interval.Span{})
	if float64(workNs) < minCovered*float64(allNs) || f.isBrief(p, spans...) {
		return nil
	}
	slices.SortStableFunc(out, func(a, b run) int { return cmp.Compare(b.workNs, a.workNs) })
	return out
}

// isLoopRun is isLoop of a run. What follows it is not a part of it, so that the host must take part.
func (f *Facts) isLoopRun(p *period) bool {
	if p.pieces() < minRun || p.pieces()*p.median < minRepeated {
		return false
	}
	calls, distinct := f.edgeCalls(p)
	held, _ := f.heldByRange(calls)
	return distinct && !held && !f.updatesUnevenly(p) && !f.capturesGraphs(p) &&
		f.partsOf(calls) == "" && f.hostIsIn(p)
}

// pieceWorkNs is the GPU work within the pieces.
func (f *Facts) pieceWorkNs(p *period) int64 {
	starts := f.startsAt(p)
	ns, _ := f.workWithin(interval.Span{StartNs: starts[0], EndNs: starts[len(starts)-1]})
	return ns
}

// How many pairs of neighbours are looked at before all of them are, and how many of these must be alike.
const (
	pairsTried = 64
	pairsAlike = 16
)

// oftenAlike says whether some of the pieces, spread over all, resemble the next one.
func (p *period) oftenAlike(seen []int32) bool {
	n := p.pieces() - 1
	tried, alike := min(n, pairsTried), 0
	for i := range tried {
		if p.areAlike(i*n/tried, i*n/tried+1, seen) {
			alike++
		}
	}
	return alike*pairsTried >= pairsAlike*tried
}

// areAlike says whether two pieces resemble each other.
func (p *period) areAlike(i, j int, seen []int32) bool {
	a, b := p.piece(i), p.piece(j)
	return float64(common(a, b, seen)) >= minResemblance*float64(max(len(a), len(b)))
}

// runsOf cuts pieces where one does not resemble the one before it. A piece that is unlike between two that are alike
// is in the run; where such pieces take much time, they end it.
func (f *Facts) runsOf(p *period, seen []int32) []run {
	starts := f.startsAt(p)
	cut := func(bridge bool) (runs []run, unlikeNs, allNs int64) {
		for i := 0; i < p.pieces(); {
			r := run{from: i, to: i + 1}
			for r.to < p.pieces() {
				if p.areAlike(r.to-1, r.to, seen) {
					r.to++
				} else if bridge && r.to+1 < p.pieces() && p.areAlike(r.to-1, r.to+1, seen) {
					unlikeNs += starts[r.to+1] - starts[r.to]
					r.to += 2
				} else {
					break
				}
			}
			if r.to-r.from > 1 {
				allNs += starts[r.to] - starts[r.from]
				runs = append(runs, r)
			}
			i = r.to
		}
		return runs, unlikeNs, allNs
	}
	runs, unlikeNs, allNs := cut(true)
	if float64(unlikeNs) > maxInterrupted*float64(allNs) {
		runs, _, _ = cut(false)
	}
	return runs
}
