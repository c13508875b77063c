package replay

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// CriticalPath walks back from the end of the last step to the beginning of the first over what each
// node waited for, and tells how much of a mean step, in ns, each cause takes: "compute", "comm", "copy",
// "launch latency", "stream gap", "sync return", a call by its cause (sync, alloc, copy_call, launch), or what the
// host did between calls (range:NAME, op:NAME, launch, host).
func (p *Program) CriticalPath(r *Run) map[string]float64 {
	out := make(map[string]float64)
	n := len(p.Anchors) - 1
	if n < 1 || p.Anchors[0] == none {
		return out
	}
	w := &walker{p: p, r: r, from: p.beginsAt(r, p.Anchors[0]), causes: p.Facts.CallCauses(),
		tell: func(cause string, ns int64) {
			if ns > 0 {
				out[cause] += float64(ns) / float64(n)
			}
		}}
	last := p.Anchors[n]
	if last == none { // a single step lasts to the end of its last work
		if last = p.lastInWindow(r); last == none {
			return out
		}
		w.span(workCause(p.Works[last].Kind), r.WorkStart[last], r.WorkEnd[last])
	}
	w.work(last)
	return out
}

type walker struct {
	p      *Program
	r      *Run
	from   int64 // the walk ends here
	causes []uint8
	tell   func(cause string, ns int64)
}

// span tells the part of [start, end) that lies on the path's side of its end.
func (w *walker) span(cause string, start, end int64) { w.tell(cause, end-max(start, w.from)) }

// work walks back from the start of work i. It goes on as a loop: paths are as long as the capture.
func (w *walker) work(i int32) {
	for at := w.r.WorkStart[i]; at > w.from && i != none; at = w.r.WorkStart[i] {
		by := w.r.boundBy[i]
		if by == none { // its launch, or what was there before the capture
			call := w.p.Works[i].Call
			if call == none {
				return
			}
			w.span("launch latency", w.launchedAt(call), at)
			i = w.call(call, w.launchedAt(call))
			if i == none {
				return
			}
			w.span(workCause(w.p.Works[i].Kind), w.r.WorkStart[i], w.r.WorkEnd[i])
			continue
		}
		w.span("stream gap", w.r.WorkEnd[by], at)
		w.span(workCause(w.p.Works[by].Kind), w.r.WorkStart[by], w.r.WorkEnd[by])
		i = by
	}
}

// launchedAt is when a call had issued its work: its end, unless it waited afterwards.
func (w *walker) launchedAt(call int32) int64 {
	end := w.r.CallEnd[call]
	if k := w.r.callBound[call]; k != none {
		return min(end, w.r.WorkStart[k]) // a blocking copy: it was issued before it began
	}
	return end
}

// call walks back over host calls from instant at in call i, until one waited for work, and returns that work.
func (w *walker) call(i int32, at int64) int32 {
	for i != none && at > w.from {
		c := &w.p.Calls[i]
		begin := w.r.callBegin[i]
		if k := w.r.callBound[i]; k != none && w.r.WorkEnd[k] < at {
			back := "sync return"
			if c.AfterNs > 0 { // it does more than return
				back = facts.CauseName(w.causes[c.Row])
			}
			w.span(back, w.r.WorkEnd[k], at)
			return k
		}
		if k := w.r.queued[i]; k != none {
			w.span("queue full", w.r.WorkStart[k], at)
			return k
		}
		w.span(facts.CauseName(w.causes[c.Row]), begin, at)
		if c.Pred == none {
			return none
		}
		w.gap(i, w.r.CallEnd[c.Pred], begin)
		i, at = c.Pred, w.r.CallEnd[c.Pred]
	}
	return none
}

// gap tells what the host did before call i, in the proportions that were recorded of what is still done.
func (w *walker) gap(i int32, start, end int64) {
	ns := end - max(start, w.from)
	recorded, thread := w.p.GapSpan(i), w.p.Calls[i].Thread
	if ns <= 0 || recorded.LenNs() == 0 {
		return
	}
	done := interval.Set{recorded}
	if gone := w.p.gone[thread]; len(gone) > 0 {
		if left := interval.Subtract(done, gone); len(left) > 0 {
			done = left
		}
	}
	scale := float64(ns) / float64(done.TotalNs())
	for _, s := range done {
		w.p.Facts.HostDoing(model.ThreadRow(thread), s, func(c facts.Cause, s interval.Span) {
			w.tell(w.p.Facts.CauseText(c), int64(float64(s.LenNs())*scale))
		})
	}
}

func workCause(k facts.WorkKind) string {
	switch {
	case k.IsCompute():
		return "compute"
	case k == facts.WorkComm:
		return "comm"
	}
	return "copy"
}
