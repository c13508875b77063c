package facts

import (
	"fmt"
	"sort"

	"lacuna/internal/base/interval"
)

// dropUnrecorded leaves out the last steps of a capture in which launches were made whose work was not recorded any
// more: a program that was killed leaves more calls than kernels, and of one thread fewer than of another. Their idle
// time would be too large, and their kernels too few. It is told by each thread's last launches; more than
// noticeShare of a step's count. Where no step is whole all are kept.
func (f *Facts) dropUnrecorded(s *Steps) {
	queued := f.Trust().stillQueued
	if len(queued) == 0 || len(s.Markers) != len(s.All) {
		return
	}
	calls := f.Trace.Calls.StartNs
	launches := f.launchCalls()
	within := func(step interval.Span, n int, startNs func(i int) int64) int {
		at := func(ns int64) int { return sort.Search(n, func(i int) bool { return startNs(i) >= ns }) }
		return at(step.EndNs) - at(step.StartNs)
	}
	last := s.Last
	for ; last > s.First; last-- {
		step := s.Markers[last-1]
		missing := within(step, len(queued), func(i int) int64 { return calls[queued[i]] })
		all := within(step, len(launches), func(i int) int64 { return calls[launches[i].call] })
		if float64(missing) <= noticeShare*float64(all) {
			break
		}
	}
	switch n := s.Last - last; {
	case n > 0 && last == s.First:
		s.Note = join(s.Note, "part of the work of every step was not recorded: GPU time is missing, and idle time "+
			"is too large by that")
	case n > 0:
		s.Last = last
		s.Note = join(s.Note, fmt.Sprintf("the last %d of %d steps left out: part of their work was not recorded", n,
			len(s.All)))
	}
}
