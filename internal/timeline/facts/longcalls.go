package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// LongCallNs is from which length on a call that ought only to launch or ask does something else: it creates a
// context or a stream, loads or compiles a module, instantiates a graph. PyTorch takes 5 to 50 µs for an operator
// with its launch, and a device whose queue is full, behind which a launch waits, is not idle.
const LongCallNs = 1_000_000

// A LongCall is a call that does not launch although nothing says so in its kind.
type LongCall struct {
	interval.Span
	Row int32 // of Calls
}

// LongCalls is the outermost calls of LongCallNs and more that neither wait, allocate nor copy, by thread.
func (f *Facts) LongCalls() [][]LongCall {
	return f.kept.longCalls.of(f, func(f *Facts) [][]LongCall {
		threads, causes := f.hostThreads(), f.CallCauses()
		out := make([][]LongCall, len(threads))
		for i := range threads {
			for k, s := range threads[i].calls {
				if row := threads[i].callRow[k]; s.LenNs() >= LongCallNs && CauseKind(causes[row]) == causeLaunch {
					out[i] = append(out[i], LongCall{s, row})
				}
			}
		}
		return out
	})
}

// IdleInLongCalls is, by name, the idle time in which the host was in a long call. It is a part of what
// IdleByHost says of launching.
func (f *Facts) IdleInLongCalls(gaps []IdleGap) map[string]int64 {
	out := make(map[string]int64)
	long := f.LongCalls()
	if !slices.ContainsFunc(long, func(calls []LongCall) bool { return len(calls) > 0 }) {
		return out
	}
	for _, g := range gaps {
		if f.inGraph(g) {
			continue
		}
		threads := append([]model.ThreadRow{g.Thread}, f.feeders(g.Thread)...)
		f.HostDoing(g.Thread, f.knownIdle(g), func(c Cause, s interval.Span) {
			if c.Kind != causeLaunch {
				return
			}
			for _, th := range threads {
				if int(th) >= len(long) {
					continue
				}
				for _, call := range long[th] {
					if in := call.Clip(s); in.LenNs() > 0 {
						out[f.CallName(call.Row)] += in.LenNs()
						s.StartNs = in.EndNs // an instant counts once
					}
				}
			}
		})
	}
	return out
}
