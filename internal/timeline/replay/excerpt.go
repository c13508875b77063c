package replay

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
)

// maxCalls is from how many calls on a program is made of some of the steps only: a dozen runs over a
// million calls take seconds, and a few dozen steps say as much as hundreds.
const maxCalls = 200_000

// minExcerpt is how many steps an excerpt has at least, however many calls they make.
const minExcerpt = 3

// mostCalls is from how many calls on a capture that cannot be cut, because it is one step or a few, is not replayed: a
// program takes about 1 kB a call, and has to be run a dozen times.
const mostCalls = 1_000_000

// TooLarge says whether the steps, or the part of them that Build would take, make too many calls to be replayed.
func TooLarge(f *facts.Facts, s *facts.Steps) (calls int, yes bool) {
	_, first, last := excerpt(f, s)
	return last - first, last-first > mostCalls
}

// excerpt is the steps in the middle of those looked at that together make at most maxCalls calls, and
// the rows of Trace.Calls that a program of them needs: one step before, so that the queue is as full as it
// was, and the step behind, whose first kernel ends the last.
func excerpt(f *facts.Facts, s *facts.Steps) (steps *facts.Steps, first, last int) {
	n := f.Trace.Calls.Len()
	if n <= maxCalls || !s.Device || len(s.Markers) != len(s.All) || len(s.Steady()) <= minExcerpt {
		return s, 0, n
	}
	rowAt := func(ns int64) int {
		i, _ := slices.BinarySearch(f.Trace.Calls.StartNs, ns)
		return i
	}
	calls := rowAt(s.Markers[s.Last-1].EndNs) - rowAt(s.Markers[s.First].StartNs)
	want := max(minExcerpt, int(int64(maxCalls)*int64(len(s.Steady()))/int64(max(1, calls))))
	if want >= len(s.Steady()) {
		return s, 0, n
	}
	out := *s
	out.First = s.First + (len(s.Steady())-want)/2
	out.Last = out.First + want
	first, last = rowAt(s.Markers[max(0, out.First-1)].StartNs), n
	if out.Last+1 < len(s.Markers) {
		last = rowAt(s.Markers[out.Last+1].StartNs)
	}
	return &out, first, last
}

// byStart orders the indices of Works as the work ran.
func (p *Program) byStart() []int32 {
	out := make([]int32, len(p.Works))
	for i := range out {
		out[i] = int32(i)
	}
	slices.SortFunc(out, func(a, b int32) int { return cmp.Compare(p.Works[a].Row, p.Works[b].Row) })
	return out
}
