package facts

import (
	"math"
	"slices"
	"sort"
)

// Projection says when the GPU did what was issued inside each range of the host.
type Projection struct {
	StartNs []int64 // by row of Trace.Ranges: start of the first piece of work
	EndNs   []int64 // end of the last
	Ops     []int32 // distinct correlation IDs of that work; 0: none, and no times
}

// Projection projects ranges to the GPU: a kernel, copy or memset belongs to every range that contains the
// whole call that issued it, on the same thread. Ranges that were never closed, or
// closed by another thread, have no work.
//
// A range contains a call if it starts no later and ends no earlier. Going through ranges and calls from the
// last start to the first, the calls seen so far are those that start late enough; a prefix of them by
// end is those that end early enough. A Fenwick tree over ends holds the first start, the last
// end and the count of each prefix, so that ranges may cross one another and calls may nest,
// for n log n time whatever the input.
func (f *Facts) Projection() *Projection {
	return f.kept.projection.of(f, func(f *Facts) *Projection {
		t, x, durNs := f.Trace, f.issued(), f.nestable()
		r, calls := &t.Ranges, &t.Calls
		n := r.Len()
		p := &Projection{make([]int64, n), make([]int64, n), make([]int32, n)}
		lanes := f.callLanes()
		twins := f.Twins()
		next := len(x.call) - 1
		for row := n - 1; row >= 0; row-- {
			for ; next >= 0 && calls.StartNs[x.call[next]] >= r.StartNs[row]; next-- {
				c, first := x.call[next], x.first[next]
				lane := &lanes[f.threadSlot(calls.Thread[c])]
				lane.earliestNs = calls.StartNs[c]
				lane.add(calls.EndNs(int(c)), projected{x.startNs[next], x.endNs[next], 1}, first, twins[first] != nil)
			}
			lane, end := &lanes[f.threadSlot(r.Thread[row])], r.StartNs[row]+durNs[row]
			if durNs[row] < 0 || lane.earliestNs > end {
				continue
			}
			if got := lane.upTo(end); got.ops > 0 {
				p.StartNs[row], p.EndNs[row], p.Ops[row] = got.startNs, got.endNs, got.ops
			}
		}
		return p
	})
}

// A callLane is the calls of one thread that were added so far, by their ends.
type callLane struct {
	endsNs     []int64 // of all calls that will be added, sorted
	tree       []projected
	earliestNs int64           // start of the call that was added last
	counted    map[int32]int64 // by the first call of twins: the end at which they count
}

type projected struct {
	startNs, endNs int64
	ops            int32
}

// noWork is the sum of nothing.
var noWork = projected{startNs: math.MaxInt64, endNs: math.MinInt64}

func (p *projected) join(q projected) {
	p.startNs, p.endNs, p.ops = min(p.startNs, q.startNs), max(p.endNs, q.endNs), p.ops+q.ops
}

// callLanes prepares a lane for each thread.
func (f *Facts) callLanes() []callLane {
	calls, lanes := &f.Trace.Calls, make([]callLane, len(f.Trace.Threads)+1)
	for _, c := range f.issued().call {
		l := &lanes[f.threadSlot(calls.Thread[c])]
		l.endsNs = append(l.endsNs, calls.EndNs(int(c)))
	}
	for i := range lanes {
		l := &lanes[i]
		l.earliestNs = math.MaxInt64
		if !slices.IsSorted(l.endsNs) {
			slices.Sort(l.endsNs)
		}
		l.tree = slices.Repeat([]projected{noWork}, len(l.endsNs)+1)
	}
	return lanes
}

// add adds a call that ends at endNs and issued p, and that is or may be a twin of the call first. Of twins
// that lie in one range only one is counted: they count from the earliest end of those added.
func (l *callLane) add(endNs int64, p projected, first int32, hasTwins bool) {
	if hasTwins {
		if l.counted == nil {
			l.counted = make(map[int32]int64)
		}
		at, before := l.counted[first]
		switch {
		case before && at <= endNs:
			p.ops = 0
		case before:
			l.update(at, projected{noWork.startNs, noWork.endNs, -1})
			fallthrough
		default:
			l.counted[first] = endNs
		}
	}
	l.update(endNs, p)
}

func (l *callLane) update(endNs int64, p projected) {
	at, _ := slices.BinarySearch(l.endsNs, endNs)
	for i := at + 1; i < len(l.tree); i += i & -i {
		l.tree[i].join(p)
	}
}

// upTo sums the calls that were added and end at endNs or before.
func (l *callLane) upTo(endNs int64) projected {
	sum := noWork
	for i := sort.Search(len(l.endsNs), func(i int) bool { return l.endsNs[i] > endNs }); i > 0; i -= i & -i {
		sum.join(l.tree[i])
	}
	return sum
}
