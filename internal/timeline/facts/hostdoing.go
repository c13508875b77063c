package facts

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A doer says what host threads did at an instant. It holds what every question needs, so that a
// question looks nothing up but spans.
type doer struct {
	threads []hostThread
	causes  []uint8             // of each call
	feeders [][]model.ThreadRow // of each thread
	names   [][]nameSource      // of each thread, in the order in which they count
}

// A nameSource is spans that name what a host thread does.
type nameSource struct {
	spans []named
	kind  CauseKind
}

// HostDoing divides span by what a host thread was doing; the pieces are told in order and cover span.
func (f *Facts) HostDoing(thread model.ThreadRow, span interval.Span, tell func(Cause, interval.Span)) {
	f.doer().doing(thread, span, tell)
}

func (f *Facts) doer() *doer {
	return f.kept.doer.of(f, func(f *Facts) *doer {
		d := &doer{threads: f.hostThreads(), causes: f.CallCauses()}
		d.feeders, d.names = make([][]model.ThreadRow, len(d.threads)), make([][]nameSource, len(d.threads))
		for i := range d.threads {
			d.feeders[i] = f.feeders(model.ThreadRow(i))
			d.names[i] = d.sources(model.ThreadRow(i))
		}
		return d
	})
}

// sources is what names the time of a thread: its innermost user range, else its outermost operator, else
// its innermost range of the framework. Where it has none of them it waits for work, as autograd's does
// between two backward passes: what the other threads that feed the GPU do counts.
func (d *doer) sources(thread model.ThreadRow) (out []nameSource) {
	for _, th := range append([]model.ThreadRow{thread}, d.feeders[thread]...) {
		h := &d.threads[th]
		for _, s := range []nameSource{{h.user, causeRange}, {h.ops, causeOp}, {h.framework, causeOp}} {
			if len(s.spans) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}

func (d *doer) doing(thread model.ThreadRow, span interval.Span, tell func(Cause, interval.Span)) {
	h := threadAt(d.threads, thread)
	if h == nil || len(h.calls) == 0 {
		tell(Cause{}, span)
		return
	}
	i := firstEndingAfter(h.calls, span.StartNs)
	for at := span.StartNs; at < span.EndNs; {
		if i < len(h.calls) && h.calls[i].StartNs <= at {
			end := min(h.calls[i].EndNs, span.EndNs)
			tell(Cause{Kind: CauseKind(d.causes[h.callRow[i]])}, interval.Span{StartNs: at, EndNs: end})
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
		d.inPause(thread, pause, piece, tell)
		at = piece.EndNs
	}
}

const (
	minTime = -1 << 62
	maxTime = 1<<62 - 1
)

// inPause divides a piece of a pause between two calls of a thread.
func (d *doer) inPause(thread model.ThreadRow, pause, piece interval.Span, tell func(Cause, interval.Span)) {
	h := &d.threads[thread]
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
				d.inLongPause(thread, d.feeders[thread], pause, free, tell)
			}
		}
		if at = free.EndNs; i < len(h.os) && at < piece.EndNs {
			end := min(h.os[i].EndNs, piece.EndNs)
			tell(Cause{Kind: causeOS}, interval.Span{StartNs: at, EndNs: end})
			at = end
		}
	}
}

// feeders is the other threads of a thread's process that launch kernels.
func (f *Facts) feeders(thread model.ThreadRow) []model.ThreadRow {
	byThread := f.kept.feeders.of(f, func(f *Facts) map[model.ThreadRow][]model.ThreadRow {
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

// inLongPause divides a piece of a long pause: while another thread of the process feeds the GPU,
// this one waits for it (the main thread for autograd's, and the other way round), and that thread's
// doing counts: its calls and its ordinary pauses between two. Else it is what ranges and operators say.
// The thread's own operators that began in the pause show that it works itself.
func (d *doer) inLongPause(thread model.ThreadRow, feeders []model.ThreadRow, pause, piece interval.Span,
	tell func(Cause, interval.Span)) {
	if len(feeders) == 0 {
		nameTime(d.names[thread], piece, tell)
		return
	}
	h, o := &d.threads[thread], &d.threads[feeders[0]]
	own := ownOps(h, pause, piece)
	rest := func(s interval.Span) {
		if s.LenNs() > 0 {
			d.inLongPause(thread, feeders[1:], pause, s, tell)
		}
	}
	at := piece.StartNs
	for i := firstEndingAfter(o.calls, piece.StartNs); i < len(o.calls) && at < piece.EndNs; i++ {
		c := o.calls[i]
		before := interval.Span{StartNs: at, EndNs: max(at, min(c.StartNs, piece.EndNs))}
		if i > 0 && c.StartNs-o.calls[i-1].EndNs <= o.pauseNs {
			outside(own, before, Cause{Kind: causeLaunch}, rest, tell)
		} else {
			rest(before)
		}
		in := interval.Span{StartNs: before.EndNs, EndNs: max(before.EndNs, min(c.EndNs, piece.EndNs))}
		outside(own, in, Cause{Kind: CauseKind(d.causes[o.callRow[i]])}, rest, tell)
		at = in.EndNs
	}
	rest(interval.Span{StartNs: at, EndNs: piece.EndNs})
}

// outside tells the parts of s outside own and gives those inside to rest, in order.
func outside(own interval.Set, s interval.Span, c Cause, rest func(interval.Span), tell func(Cause, interval.Span)) {
	at := s.StartNs
	for _, x := range own {
		if x = x.Clip(s); x.LenNs() <= 0 {
			continue
		}
		if x.StartNs > at {
			tell(c, interval.Span{StartNs: at, EndNs: x.StartNs})
		}
		rest(x)
		at = x.EndNs
	}
	if at < s.EndNs {
		tell(c, interval.Span{StartNs: at, EndNs: s.EndNs})
	}
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

// nameTime divides s by the first source that has a name for each instant; what none names is host work.
func nameTime(sources []nameSource, s interval.Span, tell func(Cause, interval.Span)) {
	if len(sources) == 0 {
		tell(Cause{Kind: causeHost}, s)
		return
	}
	spans, at := sources[0].spans, s.StartNs
	for i := firstNamedAfter(spans, s.StartNs); i < len(spans) && spans[i].StartNs < s.EndNs; i++ {
		c := spans[i].Clip(s)
		if c.StartNs > at {
			nameTime(sources[1:], interval.Span{StartNs: at, EndNs: c.StartNs}, tell)
		}
		tell(Cause{sources[0].kind, spans[i].name}, c)
		at = c.EndNs
	}
	if at < s.EndNs {
		nameTime(sources[1:], interval.Span{StartNs: at, EndNs: s.EndNs}, tell)
	}
}
