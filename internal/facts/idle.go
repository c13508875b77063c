package facts

import (
	"fmt"

	"lacuna/internal/interval"
	"lacuna/internal/model"
)

// A Cause is what the host did while a device idled: one of the plain causes, or a range or
// operator by name.
type Cause struct {
	Kind CauseKind
	Name model.StringID // of a range or operator
}

// CauseKind is the kind of a Cause.
type CauseKind uint8

// The kinds of causes, in the order of plainCauses, and the named ones.
const (
	causeUnknown CauseKind = iota
	causeSync
	causeAlloc
	causeCopyCall
	causeLaunch
	causeOS
	causeHost
	causeRange
	causeOp
)

// CauseText is a cause as idle_by_host names it.
func (f *Facts) CauseText(c Cause) string {
	switch c.Kind {
	case causeRange:
		return "range:" + f.NameText(c.Name)
	case causeOp:
		return "op:" + f.NameText(c.Name)
	}
	return plainCauses[c.Kind]
}

// An IdleGap is an idle span of a device and the work that ended it.
type IdleGap struct {
	interval.Span
	Device uint32
	Before int32           // row of Work that ended last before it, or -1
	After  int32           // row of Work that ended it, or -1
	Thread model.ThreadRow // host thread that issued that work, or NoThread
}

// IdleGaps is the idle spans of a device, in order, with the work around them.
func (f *Facts) IdleGaps(b *Budget) []IdleGap {
	w, t := f.Work(), f.Trace
	out := make([]IdleGap, len(b.Idle))
	next, before, beforeEndNs := 0, int32(-1), int64(0)
	for i, s := range b.Idle {
		for next < w.Len() && (w.Device[next] != b.Device || w.StartNs[next] < s.EndNs) {
			if w.Device[next] == b.Device && (before < 0 || w.EndNs[next] >= beforeEndNs) {
				before, beforeEndNs = int32(next), w.EndNs[next]
			}
			next++
		}
		g := IdleGap{Span: s, Device: b.Device, Before: before, After: -1, Thread: model.NoThread}
		// Of several that start at once, the first whose call is known.
		for j := next; j < w.Len() && (g.After < 0 || w.StartNs[j] == w.StartNs[g.After]); j++ {
			if w.Device[j] != b.Device {
				continue
			}
			if g.After < 0 || w.Call[j] != NoCall {
				g.After = int32(j)
			}
			if w.Call[j] != NoCall {
				g.Thread = t.Calls.Thread[w.Call[j]]
				break
			}
		}
		out[i] = g
	}
	return out
}

// IdleByHost divides idle time by what the host thread that issued the work which ended the gap was
// doing at each instant. The parts sum to the idle time.
func (f *Facts) IdleByHost(gaps []IdleGap) map[Cause]int64 {
	out := make(map[Cause]int64)
	for _, g := range gaps {
		f.HostDoing(g.Thread, g.Span, func(c Cause, s interval.Span) { out[c] += s.LenNs() })
	}
	return out
}

// An Idleness is how a device's time divides over a window, its idle spans, and what the host did in them.
type Idleness struct {
	Budget
	Gaps   []IdleGap
	Causes map[Cause]int64 // ns; sums to IdleNs
}

// Idleness divides window for every device that did work in the capture, by ordinal.
func (f *Facts) Idleness(window interval.Span) []Idleness {
	return fact(f, fmt.Sprintf("idleness %d %d", window.StartNs, window.EndNs), func() []Idleness {
		var out []Idleness
		for _, b := range f.Budgets(window) {
			x := Idleness{Budget: b, Gaps: f.IdleGaps(&b)}
			x.Causes = f.IdleByHost(x.Gaps)
			out = append(out, x)
		}
		return out
	})
}

// HostDoing divides span by what a host thread was doing; the pieces are told in order and cover span.
func (f *Facts) HostDoing(thread model.ThreadRow, span interval.Span, tell func(Cause, interval.Span)) {
	threads := f.hostThreads()
	h := threadAt(threads, thread)
	if h == nil || len(h.calls) == 0 {
		tell(Cause{}, span)
		return
	}
	causes := f.CallCauses()
	i := firstEndingAfter(h.calls, span.StartNs)
	for at := span.StartNs; at < span.EndNs; {
		if i < len(h.calls) && h.calls[i].StartNs <= at {
			end := min(h.calls[i].EndNs, span.EndNs)
			tell(Cause{Kind: CauseKind(causes[h.callRow[i]])}, interval.Span{StartNs: at, EndNs: end})
			at, i = end, i+1
			continue
		}
		pause := interval.Span{StartNs: minTime, EndNs: maxTime}
		if i > 0 {
			pause.StartNs = h.calls[i-1].EndNs
		}
		if i < len(h.calls) {
			pause.EndNs = h.calls[i].StartNs
		}
		piece := interval.Span{StartNs: at, EndNs: min(pause.EndNs, span.EndNs)}
		f.inPause(thread, pause, piece, tell)
		at = piece.EndNs
	}
}

const (
	minTime = -1 << 62
	maxTime = 1<<62 - 1
)

// inPause divides a piece of a pause between two calls of a thread.
func (f *Facts) inPause(thread model.ThreadRow, pause, piece interval.Span, tell func(Cause, interval.Span)) {
	h := &f.hostThreads()[thread]
	i := firstEndingAfter(h.os, piece.StartNs)
	for at := piece.StartNs; at < piece.EndNs; i++ {
		free := interval.Span{StartNs: at, EndNs: piece.EndNs}
		if i < len(h.os) {
			free.EndNs = min(max(h.os[i].StartNs, at), piece.EndNs)
		}
		if free.LenNs() > 0 {
			if pause.EndNs-pause.StartNs <= h.pauseNs {
				tell(Cause{Kind: causeLaunch}, free)
			} else {
				f.inLongPause(thread, pause, free, tell)
			}
		}
		if at = free.EndNs; i < len(h.os) && at < piece.EndNs {
			end := min(h.os[i].EndNs, piece.EndNs)
			tell(Cause{Kind: causeOS}, interval.Span{StartNs: at, EndNs: end})
			at = end
		}
	}
}

// inLongPause divides a piece of a long pause: while another thread of the process feeds the GPU,
// this one waits for it (the main thread for autograd's, and the other way round), and that thread's
// doing counts; else what this thread's ranges and operators say.
func (f *Facts) inLongPause(thread model.ThreadRow, pause, piece interval.Span, tell func(Cause, interval.Span)) {
	threads := f.hostThreads()
	h := &threads[thread]
	rest := []interval.Span{piece}
	for _, other := range f.feeders(thread) {
		o := &threads[other]
		var left []interval.Span
		for _, s := range rest {
			left = append(left, f.while(h, o, pause, s, tell)...)
		}
		rest = left
	}
	for _, s := range rest {
		f.nameTime(thread, s, tell)
	}
}

// feeders is the other threads of a thread's process that launch kernels.
func (f *Facts) feeders(thread model.ThreadRow) []model.ThreadRow {
	byThread := fact(f, "feeders", func() map[model.ThreadRow][]model.ThreadRow {
		out := make(map[model.ThreadRow][]model.ThreadRow)
		threads := f.hostThreads()
		for i := range threads {
			if len(threads[i].calls) == 0 {
				continue
			}
			for j := range threads {
				if i != j && threads[j].launches && f.Trace.Threads[i].Process == f.Trace.Threads[j].Process {
					out[model.ThreadRow(i)] = append(out[model.ThreadRow(i)], model.ThreadRow(j))
				}
			}
		}
		return out
	})
	return byThread[thread]
}

// while tells the instants of s in which o makes calls or pauses ordinarily between two, and
// returns the rest of s. h's own operators that began in the pause show that h works itself: those instants stay in the rest.
func (f *Facts) while(h, o *hostThread, pause, s interval.Span, tell func(Cause, interval.Span)) []interval.Span {
	causes := f.CallCauses()
	own := ownOps(h, pause, s)
	var rest []interval.Span
	at := s.StartNs
	for i := firstEndingAfter(o.calls, s.StartNs); i < len(o.calls) && at < s.EndNs; i++ {
		c := o.calls[i]
		if i > 0 && c.StartNs-o.calls[i-1].EndNs <= o.pauseNs {
			at = f.tellOutside(own, interval.Span{StartNs: at, EndNs: min(c.StartNs, s.EndNs)}, Cause{Kind: causeLaunch}, &rest, tell)
		} else if c.StartNs > at {
			end := min(c.StartNs, s.EndNs)
			rest, at = append(rest, interval.Span{StartNs: at, EndNs: end}), end
		}
		if at < s.EndNs && c.EndNs > at {
			at = f.tellOutside(own, interval.Span{StartNs: at, EndNs: min(c.EndNs, s.EndNs)}, Cause{Kind: CauseKind(causes[o.callRow[i]])}, &rest, tell)
		}
	}
	if at < s.EndNs {
		rest = append(rest, interval.Span{StartNs: at, EndNs: s.EndNs})
	}
	return rest
}

// tellOutside tells the part of s outside own, adds the part inside to rest, and returns where s ends.
func (f *Facts) tellOutside(own interval.Set, s interval.Span, c Cause, rest *[]interval.Span, tell func(Cause, interval.Span)) int64 {
	if s.LenNs() == 0 {
		return max(s.StartNs, s.EndNs)
	}
	for _, x := range interval.Subtract(interval.Set{s}, own) {
		tell(c, x)
	}
	*rest = append(*rest, own.Clip(s)...)
	return s.EndNs
}

// ownOps is the operators of h that began within the pause, as far as they lie in s.
func ownOps(h *hostThread, pause, s interval.Span) interval.Set {
	var out interval.Set
	for i := firstNamedAfter(h.ops, s.StartNs); i < len(h.ops) && h.ops[i].StartNs < s.EndNs; i++ {
		if h.ops[i].StartNs >= pause.StartNs {
			out = append(out, h.ops[i].Clip(s))
		}
	}
	return out
}

// nameTime divides s by the innermost user range, else the outermost operator, else the innermost
// range of the framework. Where the thread has none of them it waits for work, as autograd's does
// between two backward passes: what the other threads of its process do counts. Else it is host work.
func (f *Facts) nameTime(thread model.ThreadRow, s interval.Span, tell func(Cause, interval.Span)) {
	rest := f.namesOf(thread, []interval.Span{s}, tell)
	for _, other := range f.feeders(thread) {
		rest = f.namesOf(other, rest, tell)
	}
	for _, r := range rest {
		tell(Cause{Kind: causeHost}, r)
	}
}

// namesOf tells the part of spans that a thread has names for, and returns the rest.
func (f *Facts) namesOf(thread model.ThreadRow, spans []interval.Span, tell func(Cause, interval.Span)) []interval.Span {
	h := &f.hostThreads()[thread]
	for _, src := range []struct {
		spans []named
		kind  CauseKind
	}{{h.user, causeRange}, {h.ops, causeOp}, {h.framework, causeOp}} {
		var left []interval.Span
		for _, r := range spans {
			at := r.StartNs
			for i := firstNamedAfter(src.spans, r.StartNs); i < len(src.spans) && src.spans[i].StartNs < r.EndNs; i++ {
				c := src.spans[i].Clip(r)
				if c.StartNs > at {
					left = append(left, interval.Span{StartNs: at, EndNs: c.StartNs})
				}
				tell(Cause{src.kind, src.spans[i].name}, c)
				at = c.EndNs
			}
			if at < r.EndNs {
				left = append(left, interval.Span{StartNs: at, EndNs: r.EndNs})
			}
		}
		spans = left
	}
	return spans
}

// PlainCauses is the causes that are kinds of calls and can be taken out of a program.
func PlainCauses() []Cause {
	return []Cause{{Kind: causeSync}, {Kind: causeAlloc}, {Kind: causeCopyCall}, {Kind: causeLaunch}}
}
