package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// BlockingCalls is the calls in which the host waits for a device: synchronisations by their own
// name, and blocking copies. Rows of Calls, in order.
func (f *Facts) BlockingCalls() []int32 {
	var out []int32
	repeated := f.repeatedCalls()
	for i, c := range f.CallCauses() {
		if k := CauseKind(c); (k == causeSync || k == causeCopyCall) && !repeated[int32(i)] {
			out = append(out, int32(i))
		}
	}
	return out
}

// NoCopy marks a call that issued none.
const NoCopy = int32(-1)

// CopiesByCall is the first copy that each call issued, as a row of Copies, or NoCopy.
func (f *Facts) CopiesByCall() []int32 {
	return f.kept.copiesByCall.of(f, func(f *Facts) []int32 {
		out := make([]int32, f.Trace.Calls.Len())
		for i := range out {
			out[i] = NoCopy
		}
		for row, call := range f.Launches().Copies {
			if call != NoCall && out[call] == NoCopy {
				out[call] = int32(row)
			}
		}
		return out
	})
}

// Where is the innermost user range on a thread at an instant, else the outermost operator, else the innermost range
// of the framework; failing those, of another thread of the process that feeds a GPU. "" if there is none.
func (f *Facts) Where(thread model.ThreadRow, ns int64) string {
	threads := f.hostThreads()
	for _, th := range append([]model.ThreadRow{thread}, f.feeders(thread)...) {
		h := threadAt(threads, th)
		if h == nil {
			continue
		}
		for _, spans := range [][]named{h.user, h.ops, h.framework} {
			if i := firstNamedAfter(spans, ns); i < len(spans) && spans[i].Contains(ns) {
				return f.NameText(spans[i].name)
			}
		}
	}
	return ""
}

// CallBehind is the name of the call that lasts longest inside a gap, and for how long: of the thread that issued
// the work which ended the gap, or of one that this thread may have waited for; "" if there is none. A gap in which
// the host was in the operating system has a call of that.
func (f *Facts) CallBehind(g IdleGap, cause CauseKind) (name string, ns int64) {
	t, threads := f.Trace, f.hostThreads()
	longest := func(calls []interval.Span, rows []int32, names []model.StringID) {
		for i := firstEndingAfter(calls, g.StartNs); i < len(calls) && calls[i].StartNs < g.EndNs; i++ {
			if d := calls[i].Clip(g.Span).LenNs(); d > ns {
				name, ns = BaseCallName(t.Strings.Text(names[rows[i]])), d
			}
		}
	}
	for _, th := range append([]model.ThreadRow{g.Thread}, f.feeders(g.Thread)...) {
		h := threadAt(threads, th)
		switch {
		case h == nil:
		case cause == causeOS:
			longest(h.os, h.osRow, t.OSCalls.Name)
		default:
			longest(h.calls, h.callRow, t.Calls.Name)
		}
	}
	return name, ns
}

// LongestGaps is the n longest of gaps, longest first; of equals the earlier one first.
func LongestGaps(gaps []IdleGap, n int) []IdleGap {
	var out []IdleGap
	if n <= 0 {
		return out
	}
	for i := range gaps {
		ns := gaps[i].LenNs()
		if len(out) == n {
			if ns <= out[n-1].LenNs() {
				continue
			}
			out = out[:n-1]
		}
		at, _ := slices.BinarySearchFunc(out, ns, func(g IdleGap, ns int64) int {
			if g.LenNs() >= ns { // equals stand before
				return -1
			}
			return 1
		})
		out = slices.Insert(out, at, gaps[i])
	}
	return out
}
