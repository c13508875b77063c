// Package lanes puts spans that overlap side by side.
package lanes

import "container/heap"

// firstFit is how many lanes of a track are tried in turn. More are needed only by captures in which
// hundreds of events overlap; those go to the lane that is free first, so that time does not grow with the square.
const firstFit = 64

// Lanes gives each event of a track, in order of start and longest first, a lane on which no
// event overlaps another: it lies in it, if nesting is allowed, or comes after it. The zero value is ready.
type Lanes struct {
	Nests bool
	open  [][]int64 // by lane: the ends of the events that are open, outermost first
	more  laneHeap  // lanes from firstFit on
	count int
}

// Put is the lane of an event, from 0. endNs is not before startNs.
func (l *Lanes) Put(startNs, endNs int64) int {
	for i := range l.open {
		stack := l.open[i]
		for len(stack) > 0 && stack[len(stack)-1] <= startNs {
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 || l.Nests && endNs <= stack[len(stack)-1] {
			l.open[i] = append(stack, endNs)
			return i
		}
		l.open[i] = stack
	}
	if len(l.open) < firstFit {
		l.open = append(l.open, []int64{endNs})
		l.count = len(l.open)
		return l.count - 1
	}
	if len(l.more) > 0 && l.more[0].endNs <= startNs {
		lane := l.more[0].lane
		l.more[0].endNs = endNs
		heap.Fix(&l.more, 0)
		return lane
	}
	heap.Push(&l.more, busyLane{endNs, l.count})
	l.count++
	return l.count - 1
}

type busyLane struct {
	endNs int64
	lane  int
}

type laneHeap []busyLane

func (h laneHeap) Len() int { return len(h) }
func (h laneHeap) Less(a, b int) bool {
	return h[a].endNs < h[b].endNs || h[a].endNs == h[b].endNs && h[a].lane < h[b].lane
}
func (h laneHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *laneHeap) Push(x any)   { *h = append(*h, x.(busyLane)) }
func (h *laneHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
