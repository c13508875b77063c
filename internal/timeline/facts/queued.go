package facts

import (
	"slices"

	"lacuna/internal/base/interval"
)

// lateNs is how long behind its launch work must start at least, on an idle device, to be called late: a kernel starts
// 3 to 10 µs behind the call that launches it, a large graph some tens.
const lateNs = 50_000

// LateStart is the part of a gap in which the next work was launched already and did not start, if that is far longer
// than a device takes to begin it: something that the capture does not show holds it up, or what it depends on. Empty:
// there is no such part.
func (f *Facts) LateStart(g IdleGap) interval.Span {
	w := f.Work()
	if g.After < 0 || w.Call[g.After] == NoCall {
		return interval.Span{}
	}
	late := interval.Span{StartNs: max(g.StartNs, f.Trace.Calls.EndNs(int(w.Call[g.After]))), EndNs: g.EndNs}
	if late.LenNs() < lateNs || f.mayRunUnseen(g) {
		return interval.Span{}
	}
	return late
}

// mayRunUnseen says whether something was launched, and not recorded, that may have run in a gap: launched behind the
// call of the work before the gap.
func (f *Facts) mayRunUnseen(g IdleGap) bool {
	from := g.StartNs
	if w := f.Work(); g.Before >= 0 && w.Call[g.Before] != NoCall {
		from = min(from, f.Trace.Calls.StartNs[w.Call[g.Before]])
	}
	for _, starts := range f.lostLaunches() {
		if i, _ := slices.BinarySearch(starts, from); i < len(starts) && starts[i] < g.EndNs {
			return true
		}
	}
	return false
}
