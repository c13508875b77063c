package facts

import (
	"cmp"
	"slices"
)

// lanesOfTurns is the sequences of kernels in which turns are looked for: those of the busiest stream and, before it,
// of all the streams that take turns with it. Two contexts that serve frames by turns do the same on two streams: on
// one of them alone a turn would seem to last as long as two.
func (f *Facts) lanesOfTurns(busiest Lane) [][]int32 {
	one := f.laneWork(busiest)
	w := f.Work()
	count := make(map[Lane]int)
	for i := range w.Len() {
		if w.Kind[i].IsCompute() && w.Device[i] == busiest.Device {
			count[Lane{w.Device[i], w.Stream[i]}]++
		}
	}
	var all []int32
	for _, l := range sortedLanes(count) {
		if n := count[l]; l != busiest && float64(n) >= minTurnAlike*float64(len(one)) {
			if other := f.laneWork(l); f.sameWork(one, other) {
				all = append(all, other...)
			}
		}
	}
	if len(all) == 0 {
		return [][]int32{one}
	}
	all = append(all, one...)
	if slices.ContainsFunc(all, func(row int32) bool { return w.Call[row] == NoCall }) {
		return [][]int32{one}
	}
	slices.SortFunc(all, func(a, b int32) int { return cmp.Or(cmp.Compare(w.Call[a], w.Call[b]), cmp.Compare(a, b)) })
	return [][]int32{all, one}
}

func sortedLanes(count map[Lane]int) []Lane {
	var out []Lane
	for l := range count {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Lane) int { return cmp.Compare(a.Stream, b.Stream) })
	return out
}

// sameWork says whether two streams run the same kernels, about equally often.
func (f *Facts) sameWork(a, b []int32) bool {
	times := make(map[uint64]int)
	for _, row := range a {
		times[f.workKey(row)]++
	}
	both := 0
	for _, row := range b {
		if key := f.workKey(row); times[key] > 0 {
			times[key]--
			both++
		}
	}
	return float64(both) >= minTurnAlike*float64(max(len(a), len(b)))
}

// lanesIn is how many streams work is on.
func (f *Facts) lanesIn(work []int32) int {
	w := f.Work()
	lanes := make(map[Lane]bool)
	for _, row := range work {
		lanes[Lane{w.Device[row], w.Stream[row]}] = true
	}
	return len(lanes)
}
