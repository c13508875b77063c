package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// lostLaunches is when each thread made launches, kernels or graphs, that did not fail and for which no work was
// recorded, in order.
func (f *Facts) lostLaunches() map[model.ThreadRow][]int64 {
	return f.kept.lostLaunches.of(f, func(f *Facts) map[model.ThreadRow][]int64 {
		t, issued := f.Trace, f.WorkOfCalls()
		out := make(map[model.ThreadRow][]int64)
		for _, l := range f.launchCalls() {
			if issued[l.call] < 0 && at(t.Calls.Return, int(l.call), 0) == 0 {
				th := t.Calls.Thread[l.call]
				out[th] = append(out[th], t.Calls.StartNs[l.call])
			}
		}
		for _, starts := range out {
			slices.Sort(starts)
		}
		return out
	})
}

// knownIdle is the part of an idle span in which the device is known to idle: to the first launch without recorded work
// that its thread made between those of the work before and behind the span. A stream runs its work in the order of the
// launches, so that from there on the missing work may have run.
func (f *Facts) knownIdle(g IdleGap) interval.Span {
	w, starts := f.Work(), f.lostLaunches()[g.Thread]
	if len(starts) == 0 || g.Before < 0 || g.After < 0 || w.Call[g.Before] == NoCall || w.Call[g.After] == NoCall {
		return g.Span
	}
	calls := &f.Trace.Calls
	if calls.Thread[w.Call[g.Before]] != g.Thread {
		return g.Span
	}
	i, _ := slices.BinarySearch(starts, calls.StartNs[w.Call[g.Before]]+1)
	if i == len(starts) || starts[i] >= min(g.EndNs, calls.StartNs[w.Call[g.After]]) {
		return g.Span
	}
	return interval.Span{StartNs: g.StartNs, EndNs: max(g.StartNs, starts[i])}
}
