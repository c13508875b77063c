package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// An IdleCode is the functions that the host ran during the idle time of one cause, on the thread that issued the work
// which ended the gap. Python functions and calls with a stack are known by the nanosecond; else functions are those
// of CPU samples, and time is divided in proportion to them.
type IdleCode struct {
	Cause   Cause
	Ns      int64 // idle time of this cause
	Samples int64 // CPU samples in it that were counted; 0: what is known is known by times
	OffNs   int64 // where times are not exact: the thread was on no CPU, as context switches or missing samples show
	Code    []CodeTime
}

// A CodeTime is a function and the idle time in which it ran. Those of an IdleCode sum to its Ns at most.
type CodeTime struct {
	Code
	Ns      int64
	Samples int64
	Called  string // what it called itself that took most of Ns; "": nothing did, or it is not known
}

// MinSamples is how many samples must lie in the idle time of a cause for any function to be named: fewer say next to
// nothing. Of ten, a function that takes half of the time has two to eight (95 %).
const MinSamples = 10

// codeTally adds up the idle time of one cause.
type codeTally struct {
	ns, exactNs  int64
	restNs, onNs int64 // what only samples can describe, and for how long of it the thread was on a CPU
	n            int64 // samples in it
	switches     bool  // onNs is known by context switches
	exact        map[running]int64
	samples      map[int32]int64
}

// IdleCode says in which functions the host was while it idled a device, by the causes of IdleByHost, most first.
// Causes of which nothing is known are left out.
func (f *Facts) IdleCode(gaps []IdleGap) []IdleCode {
	h := f.hostCode()
	by := make(map[Cause]*codeTally)
	for _, g := range gaps {
		if int(g.Thread) >= len(h.samples) || f.inGraph(g) {
			continue
		}
		f.HostDoing(g.Thread, g.Span, func(c Cause, s interval.Span) {
			t := by[c]
			if t == nil {
				t = newCodeTally()
				by[c] = t
			}
			t.ns += s.LenNs()
			f.addCode(h, t, g.Thread, c, s)
		})
	}
	var out []IdleCode
	for cause, t := range by {
		if x := h.sum(cause, t); len(x.Code) > 0 || x.OffNs > 0 {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b IdleCode) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(f.CauseText(a.Cause), f.CauseText(b.Cause)))
	})
	return out
}

// CodeIn is the functions that a thread ran within spans, whatever the GPU did meanwhile.
func (f *Facts) CodeIn(thread model.ThreadRow, spans []interval.Span) IdleCode {
	h := f.hostCode()
	if int(thread) >= len(h.samples) {
		return IdleCode{}
	}
	t := newCodeTally()
	for _, s := range spans {
		t.ns += s.LenNs()
		f.addCode(h, t, thread, Cause{Kind: causeHost}, s)
	}
	return h.sum(Cause{Kind: causeHost}, t)
}

func newCodeTally() *codeTally {
	return &codeTally{exact: make(map[running]int64), samples: make(map[int32]int64)}
}

// addCode adds a piece of idle time.
func (f *Facts) addCode(h *hostCode, t *codeTally, th model.ThreadRow, c Cause, s interval.Span) {
	if len(h.python[th]) > 0 {
		h.addLayers(t, h.python[th], s)
		return
	}
	at := s.StartNs
	f.stackedCalls(h, th, c, s, func(code int32, in interval.Span) {
		h.addSampled(t, th, interval.Span{StartNs: at, EndNs: in.StartNs})
		t.exact[running{code: code}] += in.LenNs()
		t.exactNs += in.LenNs()
		at = in.EndNs
	})
	h.addSampled(t, th, interval.Span{StartNs: at, EndNs: s.EndNs})
}

// addLayers gives each instant to the first layer that names it.
func (h *hostCode) addLayers(t *codeTally, layers [][]named, s interval.Span) {
	if len(layers) == 0 || s.LenNs() <= 0 {
		return
	}
	l, at := layers[0], s.StartNs
	for i := firstNamedAfter(l, s.StartNs); i < len(l) && l[i].StartNs < s.EndNs; i++ {
		in := l[i].Clip(s)
		h.addLayers(t, layers[1:], interval.Span{StartNs: at, EndNs: in.StartNs})
		t.exact[h.pairs[l[i].name]] += in.LenNs()
		t.exactNs += in.LenNs()
		at = in.EndNs
	}
	h.addLayers(t, layers[1:], interval.Span{StartNs: at, EndNs: s.EndNs})
}

// stackedCalls tells the calls within a piece whose code is known: by their stack, or, in the operating system, by
// their name.
func (f *Facts) stackedCalls(h *hostCode, th model.ThreadRow, c Cause, s interval.Span,
	tell func(code int32, in interval.Span)) {
	t, thread := f.Trace, threadAt(f.hostThreads(), th)
	if thread == nil {
		return
	}
	calls, rows, stacks := thread.calls, thread.callRow, t.Calls.Stack
	if c.Kind == causeOS {
		calls, rows, stacks = thread.os, thread.osRow, t.OSCalls.Stack
	} else if len(stacks) == 0 {
		return
	}
	for i := firstEndingAfter(calls, s.StartNs); i < len(calls) && calls[i].StartNs < s.EndNs; i++ {
		code := int32(-1)
		if int(rows[i]) < len(stacks) && int(stacks[rows[i]]) < len(h.below) && !h.below[stacks[rows[i]]] {
			code = h.stack(stacks[rows[i]])
		}
		if code < 0 && c.Kind == causeOS {
			code = h.osCall(t, t.OSCalls.Name[rows[i]])
		}
		if code >= 0 {
			tell(code, calls[i].Clip(s))
		}
	}
}

// osCall is the code of a call of the operating system, by its name.
func (h *hostCode) osCall(t *model.Trace, name model.StringID) int32 {
	code, ok := h.ofCall[name]
	if !ok {
		code = h.intern(Code{Function: t.Strings.Text(name)})
		h.ofCall[name] = code
	}
	return code
}

// addSampled counts the samples of a piece.
func (h *hostCode) addSampled(t *codeTally, th model.ThreadRow, s interval.Span) {
	list, switches := h.samples[th], len(h.onCPU[th]) > 0
	if s.LenNs() <= 0 || len(list) == 0 && !switches {
		return
	}
	i, _ := slices.BinarySearchFunc(list, s.StartNs, func(x sampled, ns int64) int { return cmp.Compare(x.ns, ns) })
	n := int64(0)
	for ; i < len(list) && list[i].ns < s.EndNs; i++ {
		t.samples[list[i].code]++
		n++
	}
	t.n += n
	t.restNs += s.LenNs()
	if t.switches = t.switches || switches; switches {
		t.onNs += h.onCPU[th].Clip(s).TotalNs()
	} else {
		t.onNs += n * h.period[th]
	}
}

// sum is what is known of a cause.
func (h *hostCode) sum(cause Cause, t *codeTally) IdleCode {
	x := IdleCode{Cause: cause, Ns: t.ns}
	by := make(map[int32]*CodeTime)
	at := func(code int32) *CodeTime {
		c := by[code]
		if c == nil {
			c = &CodeTime{Code: h.codes[code]}
			by[code] = c
		}
		return c
	}
	for r, ns := range t.exact {
		at(r.code).Ns += ns
	}
	for r, ns := range t.exact {
		if c := at(r.code); r.called != 0 && 2*ns > c.Ns { // one at most
			c.Called = h.names[r.called]
		}
	}
	on := min(t.onNs, t.restNs)
	if t.switches || t.n >= MinSamples {
		x.OffNs = t.restNs - on
	}
	if t.n >= MinSamples {
		x.Samples = t.n
		for code, n := range t.samples {
			if code >= 0 {
				c := at(code)
				c.Ns += int64(float64(on) * float64(n) / float64(t.n))
				c.Samples += n
			}
		}
	}
	for _, c := range by {
		x.Code = append(x.Code, *c)
	}
	slices.SortFunc(x.Code, func(a, b CodeTime) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Text(), b.Text()), cmp.Compare(a.File, b.File))
	})
	return x
}
