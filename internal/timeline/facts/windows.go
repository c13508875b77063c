package facts

import (
	"fmt"

	"lacuna/internal/base/interval"
)

// windowOf is the window of recording that an instant belongs to: the last that began before it. Work that was queued
// when a window ended runs on after it.
func (f *Facts) windowOf(ns int64) int {
	n := 0
	for i, w := range f.Trace.Windows {
		if w.StartNs <= ns {
			n = i
		}
	}
	return n
}

// keepWindow looks only at the steps of one window, of a capture that was switched off and on again: between windows
// nothing was recorded, which is no idle time. It takes the window with most time in whole steps, of equals the
// first; or the latest that has one.
func (f *Facts) keepWindow(s *Steps, latest bool) {
	n := len(f.Trace.Windows)
	if n < 2 {
		return
	}
	if s.Source == StepsNone {
		s.Note = join(s.Note, fmt.Sprintf("recorded in %d windows: the report is on the longest with GPU activity", n))
		return
	}
	best, bestNs := [2]int{s.First, s.First}, int64(0)
	for from := s.First; from < s.Last; {
		window := f.windowOf(s.All[from].StartNs)
		to, ns := from, int64(0)
		for to < s.Last && f.windowOf(s.All[to].StartNs) == window && f.windowOf(s.All[to].EndNs-1) == window {
			ns += s.All[to].LenNs()
			to++
		}
		if ns > bestNs || latest && ns > 0 {
			best, bestNs = [2]int{from, to}, ns
		}
		from = max(to, from+1)
	}
	if bestNs == 0 {
		s.Note = join(s.Note, fmt.Sprintf("recording was off for some time within each step, %d windows: idle time "+
			"is unreliable", n))
		return
	}
	s.First, s.Last = best[0], best[1]
	which := "the one with most steps; --steps A:B takes others"
	if latest {
		which = fmt.Sprintf("the last, which is --steps %d:%d", s.First, s.Last)
	}
	s.Note = join(s.Note, fmt.Sprintf("recorded in %d windows: the report is on %s", n, which))
}

// inWindow is the part of a span that lies in the window with most of it, for a capture without steps.
func (f *Facts) inWindow(span interval.Span) interval.Span {
	var best interval.Span
	for _, w := range f.Trace.Windows {
		if part := span.Clip(w); part.LenNs() > best.LenNs() {
			best = part
		}
	}
	if best.LenNs() == 0 {
		return span
	}
	return best
}
