package facts

import "lacuna/internal/base/interval"

const (
	// startWait is how many times as long as later the longest collective of a first step must last: profilers of two
	// ranks on one host began 2 to 50 ms apart, where collectives take 0.1 to 3 ms.
	startWait = 3
	// startWaitShare is the share of what the step takes longer that this must explain.
	startWaitShare = 0.5
)

// waitsToStart says whether step k is long because one of its collectives waited for a rank that began later:
// profilers do not start on all ranks at once, so that the first collective of a capture waits many times longer than
// any later one.
func (f *Facts) waitsToStart(s *Steps) func(k int) bool {
	longest := make([]int64, len(s.All))
	w, step := f.Work(), 0
	for i := range w.Len() {
		if w.Kind[i] != WorkComm {
			continue
		}
		for step < len(s.All) && s.All[step].EndNs <= w.StartNs[i] {
			step++
		}
		if step < len(s.All) && s.All[step].Contains(w.StartNs[i]) {
			longest[step] = max(longest[step], w.EndNs[i]-w.StartNs[i])
		}
	}
	return func(k int) bool {
		later := medianOf(append([]int64(nil), longest[k+1:]...))
		excess := longest[k] - later
		return later > 0 && longest[k] >= startWait*later &&
			float64(excess) >= startWaitShare*float64(s.All[k].LenNs()-medianOf(lengths(s.All[k+1:])))
	}
}

func lengths(spans []interval.Span) []int64 {
	out := make([]int64, len(spans))
	for i, s := range spans {
		out[i] = s.LenNs()
	}
	return out
}
