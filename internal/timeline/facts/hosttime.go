package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A pause between two calls of a thread is an ordinary one while it is at most ordinaryPauses
// times the thread's median pause, but between ordinaryPauseNs and longPauseNs: the median of a loop
// that makes one call a step is the step itself (docs/decisions/0003-ordinary-pause.md).
const (
	ordinaryPauses  = 20
	ordinaryPauseNs = 100_000
	longPauseNs     = 1_000_000
	minPauses       = 10 // fewer have no median worth the name
)

// A hostThread is what one host thread did, as spans that neither nest nor overlap.
type hostThread struct {
	calls    []interval.Span // outermost calls
	callRow  []int32
	os       []interval.Span // outermost OS calls
	osRow    []int32
	pauseNs  int64 // the longest ordinary pause
	launches bool  // whether it launched kernels or graphs

	user      []named // innermost user range at each instant that has one
	ops       []named // outermost operator
	framework []named // innermost range of the framework
}

// A named span carries the name of what ran in it.
type named struct {
	interval.Span
	name model.StringID
}

// hostThreads is what every thread did, by ThreadRow. marker is rows of Ranges that mark steps.
func (f *Facts) hostThreads() []hostThread {
	return f.kept.hostThreads.of(f, func(f *Facts) []hostThread {
		t := f.Trace
		out := make([]hostThread, len(t.Threads))
		for i, th := range t.Calls.Thread {
			if h := threadAt(out, th); h != nil {
				h.calls, h.callRow = appendOutermost(h.calls, h.callRow,
					interval.Span{StartNs: t.Calls.StartNs[i], EndNs: t.Calls.EndNs(i)}, int32(i))
			}
		}
		for i, th := range t.OSCalls.Thread {
			if h := threadAt(out, th); h != nil {
				s := interval.Span{StartNs: t.OSCalls.StartNs[i], EndNs: t.OSCalls.StartNs[i] + t.OSCalls.DurNs[i]}
				h.os, h.osRow = appendOutermost(h.os, h.osRow, s, int32(i))
			}
		}
		f.nameHostTime(out)
		w := f.Work()
		for i, call := range w.Call {
			if call != NoCall && w.Kind[i] <= WorkComm {
				if h := threadAt(out, t.Calls.Thread[call]); h != nil {
					h.launches = true
				}
			}
		}
		for i := range out {
			out[i].pauseNs = ordinaryPause(out[i].calls)
		}
		return out
	})
}

func threadAt(threads []hostThread, row model.ThreadRow) *hostThread {
	if int(row) >= len(threads) {
		return nil
	}
	return &threads[row]
}

// appendOutermost adds a span that starts no earlier than those before, unless it lies in the last
// one. One that only overlaps the last is cut to begin where that ends.
func appendOutermost(spans []interval.Span, rows []int32, s interval.Span, row int32) ([]interval.Span, []int32) {
	if n := len(spans); n > 0 {
		s.StartNs = max(s.StartNs, spans[n-1].EndNs)
	}
	if s.EndNs <= s.StartNs {
		return spans, rows
	}
	return append(spans, s), append(rows, row)
}

// ordinaryPause is the longest ordinary pause of a thread with these calls.
func ordinaryPause(calls []interval.Span) int64 {
	pauses := make([]int64, 0, len(calls))
	for i := 1; i < len(calls); i++ {
		pauses = append(pauses, calls[i].StartNs-calls[i-1].EndNs)
	}
	if len(pauses) < minPauses {
		return ordinaryPauseNs
	}
	return min(max(ordinaryPauses*medianOf(pauses), ordinaryPauseNs), longPauseNs)
}

// nameHostTime fills user, ops and framework of each thread.
func (f *Facts) nameHostTime(threads []hostThread) {
	t, class, names := f.Trace, f.RangeClasses(), f.RangeNames()
	user, framework := make([]flattener, len(threads)), make([]flattener, len(threads))
	for i, th := range t.Ranges.Thread {
		if int(th) >= len(threads) || t.Ranges.DurNs[i] == model.OpenDurNs || class[i] == RangeMarker {
			continue
		}
		s := named{interval.Span{StartNs: t.Ranges.StartNs[i], EndNs: t.Ranges.EndNs(i)}, names[t.Ranges.Name[i]]}
		if class[i] == RangeUser {
			user[th].add(s)
		} else {
			framework[th].add(s)
		}
	}
	for i := range threads {
		threads[i].user, threads[i].framework = user[i].finish(), framework[i].finish()
	}
	for i, th := range t.Ops.Thread {
		h := threadAt(threads, th)
		if h == nil {
			continue
		}
		s := interval.Span{StartNs: t.Ops.StartNs[i], EndNs: t.Ops.EndNs(i)}
		if n := len(h.ops); n > 0 {
			s.StartNs = max(s.StartNs, h.ops[n-1].EndNs)
		}
		if s.EndNs > s.StartNs {
			h.ops = append(h.ops, named{s, t.Ops.Name[i]})
		}
	}
}

// A flattener turns nested spans, added in order of start, into the innermost one at each instant.
// Spans that intersect without nesting are no problem: the later one counts while it lasts.
type flattener struct {
	out  []named
	open []named
	atNs int64
}

func (f *flattener) add(s named) {
	f.advance(s.StartNs)
	f.open = append(f.open, s)
}

// advance emits what is open up to ns.
func (f *flattener) advance(ns int64) {
	for len(f.open) > 0 {
		top := f.open[len(f.open)-1]
		if top.EndNs > ns {
			f.emit(top, ns)
			break
		}
		f.emit(top, top.EndNs)
		f.open = f.open[:len(f.open)-1]
	}
	f.atNs = max(f.atNs, ns)
	if len(f.open) == 0 {
		f.atNs = ns
	}
}

func (f *flattener) emit(top named, untilNs int64) {
	from := max(f.atNs, top.StartNs)
	if untilNs > from {
		f.out = append(f.out, named{interval.Span{StartNs: from, EndNs: untilNs}, top.name})
		f.atNs = untilNs
	}
}

func (f *flattener) finish() []named {
	for len(f.open) > 0 {
		top := f.open[len(f.open)-1]
		f.emit(top, top.EndNs)
		f.open = f.open[:len(f.open)-1]
	}
	return f.out
}

// firstEndingAfter is the index of the first span that ends after ns.
func firstEndingAfter(spans []interval.Span, ns int64) int {
	i, _ := slices.BinarySearchFunc(spans, ns, func(s interval.Span, t int64) int {
		if s.EndNs <= t {
			return -1
		}
		return 1
	})
	return i
}

func firstNamedAfter(spans []named, ns int64) int {
	i, _ := slices.BinarySearchFunc(spans, ns, func(s named, t int64) int {
		if s.EndNs <= t {
			return -1
		}
		return 1
	})
	return i
}
