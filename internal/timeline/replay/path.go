package replay

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// CriticalPath walks back from the end of the last step to the beginning of the first over what each
// node waited for, and tells how much of a mean step, in ns, each cause takes: "compute", "comm", "copy",
// "launch latency", "stream gap", "sync return", a call by its cause (sync, alloc, copy_call, launch), or what the
// host did between calls (range:NAME, op:NAME, launch, host). The steps are those of SteadyNs: where the host is the
// limit in the long run, the path is what the host does from one to the next.
func (p *Program) CriticalPath(r *Run) map[string]float64 {
	out := make(map[string]float64)
	n := len(p.Anchors) - 1
	if n < 1 || p.Anchors[0] == none {
		return out
	}
	from, hosts := p.filledFrom(r), p.hostPeriodNs(r) > p.filledNs(r)
	if hosts {
		from = 0
	}
	w := &walker{p: p, r: r, from: p.beginsAt(r, p.Anchors[from]), causes: p.Facts.CallCauses(),
		tell: func(cause string, ns int64) {
			if ns > 0 {
				out[cause] += float64(ns) / float64(n-from)
			}
		}}
	if hosts {
		w.host()
		return p.orFilled(r, out)
	}
	last := p.Anchors[n]
	if last == none { // a single step lasts to the end of its last work
		if last = p.lastInWindow(r); last == none {
			return out
		}
		w.span(workCause(p.Works[last].Kind), r.WorkStart[last], r.WorkEnd[last])
	}
	w.work(last)
	return p.orFilled(r, out)
}

// fullShare is the share of a step from which on work fills it: whatever else were on the path, without it the step
// would be shorter by a twentieth at most.
const fullShare = 0.95

// orFilled is a path or, where that is mostly the host's although the work of a device fills the step, the work: a host
// that is ready just when the GPU is has waited for it in a way that was not recorded.
func (p *Program) orFilled(r *Run, path map[string]float64) map[string]float64 {
	total, works := 0.0, 0.0
	for cause, ns := range path {
		total += ns
		if cause == "compute" || cause == "comm" || cause == "copy" {
			works += ns
		}
	}
	if 2*works >= total {
		return path
	}
	filled, busy := p.workOnBusiest(r), 0.0
	for _, ns := range filled {
		busy += ns
	}
	if busy < fullShare*total {
		return path
	}
	if total > busy {
		filled["stream gap"] = total - busy
	}
	return filled
}

// workOnBusiest is the work of the device of the anchors in the mean step, in ns; what overlaps counts once.
func (p *Program) workOnBusiest(r *Run) map[string]float64 {
	n := len(p.Anchors) - 1
	window := interval.Span{StartNs: p.beginsAt(r, p.Anchors[0])}
	device := p.Lanes[p.Works[p.Anchors[0]].Lane].Device
	if last := p.Anchors[n]; last != none {
		window.EndNs = p.beginsAt(r, last)
	} else if k := p.lastInWindow(r); k != none {
		window.EndNs = r.WorkEnd[k]
	}
	kinds := []string{"compute", "comm", "copy"} // in the order in which an instant counts
	spans := make(map[string][]interval.Span)
	for i := range p.Works {
		w := &p.Works[i]
		s := interval.Span{StartNs: r.WorkStart[i], EndNs: r.WorkEnd[i]}.Clip(window)
		if !w.Dropped && p.Lanes[w.Lane].Device == device && s.LenNs() > 0 {
			spans[workCause(w.Kind)] = append(spans[workCause(w.Kind)], s)
		}
	}
	out, all, counted := make(map[string]float64), []interval.Span(nil), int64(0)
	for _, kind := range kinds {
		all = append(all, spans[kind]...)
		if sum := interval.Union(all).TotalNs(); sum > counted {
			out[kind], counted = float64(sum-counted)/float64(n), sum
		}
	}
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
			launched := min(at, w.launchedAt(call)) // work may begin before its call returns
			w.span("launch latency", launched, at)
			i = w.call(call, launched)
			if i == none {
				return
			}
			w.span(workCause(w.p.Works[i].Kind), w.r.WorkStart[i], w.r.WorkEnd[i])
			continue
		}
		w.span("stream gap", w.r.WorkEnd[by], at)
		w.span(workCause(w.p.Works[by].Kind), w.r.WorkStart[by], min(at, w.r.WorkEnd[by]))
		i = by
	}
}

// host tells what the host does from the launch of the first anchor to that of the last, without its waits.
func (w *walker) host() {
	p, r := w.p, w.r
	first := p.Works[p.beginner(p.Anchors[0])].Call
	w.from = minNs
	for i := p.Works[p.beginner(p.Anchors[len(p.Anchors)-1])].Call; i != first; {
		before := p.Calls[i].Pred
		w.gap(i, r.CallEnd[before], r.callBegin[i])
		i = before
		w.tell(facts.CauseName(w.causes[p.Calls[i].Row]), r.CallEnd[i]-r.callBegin[i]-r.blocked[i])
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
