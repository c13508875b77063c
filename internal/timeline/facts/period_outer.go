package facts

import (
	"cmp"
	"slices"
)

// Loops within loops: each turn of an outer loop goes through batches, and these are turns of an inner one. Where the
// inner loop is interrupted again and again after equally many turns, its runs are what repeats, and what comes between
// them belongs to each turn. But the batches of a training are its steps, however often an evaluation interrupts them:
// the weights are updated in each. And where runs are few and long, it is the inner loop that the capture shows more
// of.

// minEven is the share of the runs that must have as many turns as the usual one, or one more or less: the first and
// the last of a run may be unlike the others.
const minEven = minBusyTurns

// outerTurns is the turns of the loop around the runs of p's pieces, and how many of these a turn usually holds; nil:
// there is none.
func (f *Facts) outerTurns(p *period, runs []run, seen []int32) (*period, int) {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	lengths := make([]int64, len(runs))
	for i, r := range runs {
		lengths[i] = int64(r.to - r.from)
	}
	usual := int(medianOf(slices.Clone(lengths)))
	even := 0
	for _, n := range lengths {
		if max(int(n)-usual, usual-int(n)) <= 1 {
			even++
		}
	}
	if len(runs) <= max(minRun, usual) || float64(even) < minEven*float64(len(runs)) {
		return nil, 0
	}
	q := *p
	q.edges = nil
	for _, r := range runs {
		q.edges = append(q.edges, p.edges[r.from])
		if part := p.part(r); f.updatesIn(part) == part.pieces() {
			return nil, 0
		}
	}
	turns := f.loopRuns(&q, seen)
	if len(turns) != 1 {
		return nil, 0
	}
	return q.part(turns[0]), usual
}
