package writers

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
)

// firstFit is how many lanes of a track are tried in turn. More are needed only by captures in which
// hundreds of events overlap; those go to the lane that is free first, so that time does not grow with the square.
const firstFit = 64

// lanes gives each event of a track, in order of start and longest first, a lane on which no
// event overlaps another: it lies in it, if nesting is allowed, or comes after it.
type lanes struct {
	nests bool
	open  [][]int64 // by lane: the ends of the events that are open, outermost first
	more  laneHeap  // lanes from firstFit on
	count int
}

func (l *lanes) put(startNs, endNs int64) int {
	for i := range l.open {
		stack := l.open[i]
		for len(stack) > 0 && stack[len(stack)-1] <= startNs {
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 || l.nests && endNs <= stack[len(stack)-1] {
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

// writeTrack puts the events of a track on lanes and writes them, and the arrows to GPU work.
func (c *chrome) writeTrack(t *chromeTrack, at int) {
	for i := range t.events {
		if e := &t.events[i]; e.endNs < e.startNs { // open, or too long to be true
			e.endNs = max(c.endNs, e.startNs)
		}
	}
	slices.SortStableFunc(t.events, func(a, b chromeEvent) int {
		return cmp.Or(cmp.Compare(a.startNs, b.startNs), cmp.Compare(b.endNs, a.endNs))
	})
	l := lanes{nests: t.nests}
	tids := []int64{t.tid}
	if len(t.events) > 0 {
		c.meta("thread_name", t.pid, t.tid, t.name)
		c.sortIndex("thread_sort_index", t.pid, t.tid, at)
	}
	for _, e := range t.events {
		if c.err != nil {
			return
		}
		k := &c.kinds[e.kind]
		if k.durNs == nil {
			c.instant(k, e, t)
			continue
		}
		lane := l.put(e.startNs, e.endNs)
		for lane >= len(tids) {
			tids = append(tids, c.ownTid())
			c.meta("thread_name", t.pid, tids[len(tids)-1], fmt.Sprintf("%s (%d)", t.name, len(tids)))
			c.sortIndex("thread_sort_index", t.pid, tids[len(tids)-1], at)
		}
		c.span(k, e, t.pid, tids[lane])
	}
	t.events = nil
}
