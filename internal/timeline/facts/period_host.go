package facts

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Steps of the host, where no GPU work was recorded: the rhythm of what a host thread does, its outermost operators or,
// where there are none, its calls to the GPU. Layers repeat, too, and there is no stream on which a turn would have to
// end, so that each turn must show that it is one:
//
//   - A backward pass begins in it, and operators that belong to none: layers have one or the other.
//   - Or the host waits for the GPU in it.

// hostWork is what a host thread does, in order.
type hostWork struct {
	thread model.ThreadRow
	what   string // operators or calls
	spans  []interval.Span
	names  []uint32
	at     [][]int32 // positions of each name
	passes []bool    // which names are those of a backward pass
	ns     int64
}

// backwardOp is the operator in which PyTorch's autograd runs a node.
const backwardOp = "autograd::engine::evaluate_function"

// callVersion is what CUPTI adds to the name of a call.
var callVersion = regexp.MustCompile(`_v\d+$|_ptsz$`)

// stepsByHost fills s with host steps if nothing ran on a GPU and a host thread's operators or calls repeat.
func (f *Facts) stepsByHost(s *Steps) {
	if f.Work().Len() > 0 {
		return
	}
	for _, h := range f.hostWorks() {
		p := f.hostPeriod(h)
		if p == nil {
			continue
		}
		var starts []int64
		for _, e := range p.edges {
			starts = append(starts, h.spans[e].StartNs)
		}
		s.Source, s.All = StepsPeriodicity, between(starts)
		s.Markers, s.Host = s.All, s.All
		s.Note = join(s.Note, fmt.Sprintf("no step markers and no GPU work: %d %s of a host thread repeat, and each "+
			"repetition is taken for a step of the host", p.median, h.what))
		return
	}
}

// hostWorks is what each thread does that has operators or, if none has, calls; most time first.
func (f *Facts) hostWorks() []*hostWork {
	t := f.Trace
	byThread := make(map[model.ThreadRow]*hostWork)
	number := make(map[string]int32)
	add := func(th model.ThreadRow, what, name string, span interval.Span) {
		h := byThread[th]
		if h == nil {
			h = &hostWork{thread: th, what: what}
			byThread[th] = h
		}
		if n := len(h.spans); n > 0 && span.StartNs < h.spans[n-1].EndNs {
			return // within the one before
		}
		n := uint32(numbered(number, name))
		for int(n) >= len(h.at) {
			h.at, h.passes = append(h.at, nil), append(h.passes, false)
		}
		h.passes[n] = strings.HasPrefix(name, backwardOp)
		h.at[n] = append(h.at[n], int32(len(h.spans)))
		h.spans, h.names, h.ns = append(h.spans, span), append(h.names, n), h.ns+span.LenNs()
	}
	for i, th := range t.Ops.Thread {
		add(th, "operators", t.Strings.Text(t.Ops.Name[i]),
			interval.Span{StartNs: t.Ops.StartNs[i], EndNs: t.Ops.EndNs(i)})
	}
	if len(byThread) == 0 {
		name := judge(&t.Strings, func(name string) string { return callVersion.ReplaceAllString(name, "") })
		for i, th := range t.Calls.Thread {
			add(th, "calls", name(t.Calls.Name[i]),
				interval.Span{StartNs: t.Calls.StartNs[i], EndNs: t.Calls.StartNs[i] + max(0, t.Calls.DurNs[i])})
		}
	}
	return slices.SortedFunc(maps.Values(byThread), func(a, b *hostWork) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.thread, b.thread))
	})
}

// hostPeriod is the turns of a thread, as bestPeriod finds them on a stream; nil: none.
func (f *Facts) hostPeriod(h *hostWork) *period {
	seen := make([]int32, len(h.at)) // scratch
	for same := range byCount(h.at, func(positions []int32) bool {
		return len(positions) >= minCallPeriods && len(h.names)/len(positions) >= minPeriodWork
	}) {
		var best *period
		bestPauseNs := int64(-1)
		for _, n := range same {
			p := &period{names: h.names, edges: h.at[n]}
			if h.passes[n] || !p.alike(seen) || !f.isHostLoop(h, p) {
				continue
			}
			if pause := h.pauseNs(p); pause > bestPauseNs {
				best, bestPauseNs = p, pause
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// minPause is the share of a turn that a thread must do nothing for, in the usual turn, to tell by it where turns
// begin: less is what lies between any two operators. Turns begin with what comes first then.
const minPause = 0.01

// pauseNs is the usual time in which the thread does nothing before a piece.
func (h *hostWork) pauseNs(p *period) int64 {
	var pauses []int64
	for _, e := range p.edges[1:] {
		pauses = append(pauses, h.spans[e].StartNs-h.spans[e-1].EndNs)
	}
	loopNs := h.spans[p.edges[p.pieces()]].StartNs - h.spans[p.edges[0]].StartNs
	if pause := medianOf(pauses); float64(pause)*float64(p.pieces()) >= minPause*float64(loopNs) {
		return pause
	}
	return 0
}

// isHostLoop says whether pieces of a thread's time that resemble each other are steps.
func (f *Facts) isHostLoop(h *hostWork, p *period) bool {
	if (p.pieces()-1)*p.median < minRepeated || float64(len(p.tail())) > maxTail*float64(p.median) {
		return false
	}
	var starts []int64
	for _, e := range p.edges {
		starts = append(starts, h.spans[e].StartNs)
	}
	loop := interval.Span{StartNs: starts[0], EndNs: starts[p.pieces()]}
	inside := int64(0)
	for _, s := range h.spans {
		inside += s.Clip(loop).LenNs()
	}
	if float64(inside) < minCovered*float64(h.ns) {
		return false
	}
	if held, _ := f.heldOn(map[model.ThreadRow][]int64{h.thread: starts}); held {
		return false
	}
	mine := func(th model.ThreadRow) bool { return th == h.thread }
	return f.partsWithin(loop, p.pieces(), mine) == "" && (f.trainsInEach(h, p, starts) || f.waitsInEach(h, starts))
}

// trainsInEach says whether each piece has a backward pass, on whatever thread of the process, and operators that are
// not of one.
func (f *Facts) trainsInEach(h *hostWork, p *period, starts []int64) bool {
	for i := range p.pieces() {
		if !slices.ContainsFunc(p.piece(i), func(n uint32) bool { return !h.passes[n] }) {
			return false
		}
	}
	t := f.Trace
	process := f.ProcessOf(h.thread)
	passes := newMet(p.pieces())
	isPass := judge(&t.Strings, func(name string) bool { return strings.HasPrefix(name, backwardOp) })
	for i, id := range t.Ops.Name {
		if isPass(id) && f.ProcessOf(t.Ops.Thread[i]) == process {
			passes.at(starts, t.Ops.StartNs[i])
		}
	}
	return passes.count() == p.pieces()
}

// waitsInEach says whether the thread waits for the GPU in each piece.
func (f *Facts) waitsInEach(h *hostWork, starts []int64) bool {
	met := newMet(len(starts) - 1)
	for _, row := range f.BlockingCalls() {
		if f.Trace.Calls.Thread[row] == h.thread {
			met.at(starts, f.Trace.Calls.StartNs[row])
		}
	}
	return met.count() == len(starts)-1
}
