package facts

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
)

// maxUnlike is the share of their kernels that two steps have in common, at most, to be steps of different loops. Less
// than half: steps of one loop that take other branches, or other sizes, share more.
const maxUnlike = 0.5

// keepLike looks only at the steps of one loop, where the markers go through several that launch different kernels one
// after another, as a benchmark of several programs does: the mean over them is of none. It takes the run of like steps
// with most GPU work. Nearly all steps must be in long runs, else they vary from turn to turn and are one loop.
func (f *Facts) keepLike(s *Steps) {
	if !s.Device || s.Engine != nil || s.Last-s.First < 2*minRun {
		return
	}
	runs := f.likeRuns(s)
	held := 0
	best := 0
	for i, r := range runs {
		held += r.to - r.from
		if r.workNs > runs[best].workNs {
			best = i
		}
	}
	if len(runs) < 2 || float64(held) < minBusyTurns*float64(s.Last-s.First) {
		return
	}
	if s.First = runs[best].from; s.First > 0 {
		s.Startup = nil
	}
	all := s.Last - 1
	s.Last = runs[best].to
	if last := s.Last - 1; last < all && slower(s.All[last], s.All[s.First:last]) {
		s.Last = last // it lasts to the next loop's first: what lies between is none of its own
	}
	s.Note = join(s.Note, fmt.Sprintf("%d loops that launch different kernels follow each other: the report is on the "+
		"one with most GPU work, %d of %d steps; --steps A:B takes others", len(runs), s.Last-s.First, len(s.All)))
}

// likeRuns is the long runs of steps that launch the same kernels. Neighbours that do are one.
func (f *Facts) likeRuns(s *Steps) []run {
	names, workNs := f.kernelsOf(s.All[s.First:s.Last])
	most := 0
	for _, of := range names {
		for _, n := range of {
			most = max(most, int(n)+1)
		}
	}
	seen := make([]int32, most) // scratch
	alike := func(a, b []uint32) bool {
		return float64(common(a, b, seen)) >= maxUnlike*float64(max(len(a), len(b)))
	}
	var out []run
	for i := 0; i < len(names); {
		r := run{from: s.First + i, workNs: workNs[i]}
		j := i + 1
		for ; j < len(names) && alike(names[j-1], names[j]); j++ {
			r.workNs += workNs[j]
		}
		r.to = s.First + j
		if k := len(out); j-i >= minRun {
			if k > 0 && alike(names[out[k-1].to-1-s.First], names[i]) {
				out[k-1].to, out[k-1].workNs = r.to, out[k-1].workNs+r.workNs
			} else {
				out = append(out, r)
			}
		}
		i = j
	}
	return out
}

// kernelsOf is small numbers for the names of the kernels that begin in each step, and how long they take. Numbers in
// names do not count: sizes choose tiles.
func (f *Facts) kernelsOf(steps []interval.Span) (names [][]uint32, workNs []int64) {
	t, w := f.Trace, f.Work()
	number := make(map[string]int32)
	kernel := judge(&t.Strings, func(name string) int32 { return numbered(number, familyKey(name)) })
	names, workNs = make([][]uint32, len(steps)), make([]int64, len(steps))
	for i := range w.Len() {
		if !w.Kind[i].IsCompute() {
			continue
		}
		k, exact := slices.BinarySearchFunc(steps, w.StartNs[i], func(s interval.Span, ns int64) int {
			return int(min(1, max(-1, s.StartNs-ns)))
		})
		if !exact {
			k--
		}
		if k < 0 || w.StartNs[i] >= steps[k].EndNs {
			continue
		}
		n := numbered(number, f.WorkName(i))
		if w.Kind[i] == WorkKernel {
			n = kernel(t.Kernels.Name[w.Row[i]])
		}
		names[k], workNs[k] = append(names[k], uint32(n)), workNs[k]+w.EndNs[i]-w.StartNs[i]
	}
	return names, workNs
}
