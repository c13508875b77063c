package changes

import (
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var dropAllocs = Change{
	Name:   "drop-allocs",
	Syntax: "drop-allocs",
	Title:  "the loop does not allocate or free memory through the driver",
	Doc: `Calls such as cudaMalloc, cudaFree and cudaHostAlloc are left out, with the wait for the device that a free
implies and the stream queries before it. Host work from the launch before to the launch after takes the median time
between launches of the same two kernels without an allocation, or before launches of the second; with fewer than
three of those in the capture, it stays.`,
	Assumes: "the memory is kept and reused: a caching allocator, or buffers allocated once",
	NotWhen: "the program needs the memory elsewhere in between",
	Example: "drop-allocs",
	Apply:   applyDropAllocs,
}

// minLaunches is how many times two launches must follow one another without an allocation between them to show what
// their host work is.
const minLaunches = 3

func applyDropAllocs(e *replay.Edit, arg string) (int, error) {
	causes := e.Facts.CallCauses()
	isAlloc := make([]bool, len(e.Calls))
	n := 0
	for i := range e.Calls {
		c := &e.Calls[i]
		if isAlloc[i] = facts.CauseName(causes[c.Row]) == facts.CauseAlloc && c.N == 0 && !c.Dropped; isAlloc[i] {
			n++
		}
	}
	if n == 0 {
		return 0, ErrNoMatch
	}
	passages := passagesOf(e, isAlloc)
	usual, ordinary := usualPassages(passages), ordinaryPause(e)
	trimmed, kept := 0, 0
	for i := range passages {
		p := &passages[i]
		if len(p.allocs) == 0 {
			continue
		}
		p.drop(e, ordinary)
		ns, known := usual[p.launches]
		if !known {
			ns, known = usual[launches{p.launches.thread, none, p.launches.to}]
		}
		if !known {
			kept++
			continue
		}
		trimmed++
		p.trim(e, ns, ordinary)
	}
	if trimmed > 0 {
		e.Assume("host work around %d of %d allocations takes as long as between the same launches without one",
			trimmed, trimmed+kept)
	}
	if kept > 0 {
		e.Assume("the framework's own bookkeeping of the other allocations stays as it is")
	}
	return n, nil
}

// drop leaves the allocations of a passage out, and the ordinary host work between two of them. Longer work is of
// another kind: reading the next column of a table, say.
func (p *passage) drop(e *replay.Edit, ordinary func(thread int32) int64) {
	for k, i := range p.allocs {
		c := &e.Calls[i]
		e.DropCall(i)
		dropInquiry(e, i)
		if k > 0 && c.Pred == p.allocs[k-1] && c.GapNs <= ordinary(c.Thread) {
			p.hostNs -= c.GapNs
			e.DropGap(i, 0)
		}
	}
}

// dropInquiry leaves out a call that asks for the stream's state right before an allocation: the allocator's.
func dropInquiry(e *replay.Edit, alloc int32) {
	p := e.Calls[alloc].Pred
	if p >= 0 && e.Calls[p].Thread == e.Calls[alloc].Thread && e.Calls[p].N == 0 &&
		strings.HasSuffix(e.CallName(p), "StreamIsCapturing") {
		e.DropGap(alloc, 0)
		e.DropCall(p)
	}
}

// launches is two kernels that a thread launches one behind the other.
type launches struct {
	thread   int32
	from, to model.StringID
}

// none stands for any kernel.
const none = ^model.StringID(0)

// A passage is what a thread does from one launch to the next.
type passage struct {
	launches
	calls  []int32 // from the first behind the one launch to the other launch
	allocs []int32 // those that allocate or free
	hostNs int64   // gaps, and the time of the calls that neither allocate nor launch
}

// passagesOf cuts what each thread does at its launches; a passage in which something waits, or that another thread
// has a part in, is none.
func passagesOf(e *replay.Edit, isAlloc []bool) []passage {
	open := make(map[int32]*passage) // by thread
	var out []passage
	for i := range e.Calls {
		c := &e.Calls[i]
		p := open[c.Thread]
		if p == nil {
			p = &passage{launches: launches{thread: c.Thread, from: none}}
			open[c.Thread] = p
		}
		p.calls = append(p.calls, int32(i))
		alone := c.Pred >= 0 && e.Calls[c.Pred].Thread == c.Thread
		if alone {
			p.hostNs += c.GapNs
		}
		switch {
		case isAlloc[i]:
			p.allocs = append(p.allocs, int32(i))
		case c.N == 0:
			p.hostNs += c.OwnNs
		}
		if c.Wait != replay.WaitNothing && !isAlloc[i] || !alone {
			p.from = none
		}
		if c.N > 0 {
			p.to = kernelOf(e, c)
			out = append(out, *p)
			open[c.Thread] = &passage{launches: launches{thread: c.Thread, from: p.to}}
		}
	}
	for _, p := range open {
		if len(p.allocs) > 0 {
			p.from, p.to = none, none
			out = append(out, *p)
		}
	}
	return out
}

// kernelOf is the kernel that a call launches first, or what stands for other work.
func kernelOf(e *replay.Edit, c *replay.Call) model.StringID {
	if e.Works[c.First].Kind != facts.WorkKernel {
		return none - 1 - model.StringID(e.Works[c.First].Kind)
	}
	return e.Facts.Trace.Kernels.Name[rowOf(e, c.First)]
}

// usualPassages is the median host work of passages without an allocation: between two kernels, and before a kernel
// whatever the one before.
func usualPassages(passages []passage) map[launches]int64 {
	seen := make(map[launches][]int64)
	for i := range passages {
		p := &passages[i]
		if len(p.allocs) > 0 || p.from == none {
			continue
		}
		seen[p.launches] = append(seen[p.launches], p.hostNs)
		any := launches{p.thread, none, p.to}
		seen[any] = append(seen[any], p.hostNs)
	}
	out := make(map[launches]int64)
	for key, ns := range seen {
		if len(ns) >= minLaunches {
			slices.Sort(ns)
			out[key] = ns[len(ns)/2]
		}
	}
	return out
}

// trim shortens the host work beside the allocations of a passage until the passage has what is usual without them.
// Longer host work than an operator's is not the allocator's.
func (p *passage) trim(e *replay.Edit, usualNs int64, ordinary func(thread int32) int64) {
	excess := p.hostNs - usualNs
	for k, i := range p.calls {
		c := &e.Calls[i]
		beside := slices.Contains(p.allocs, i) || k > 0 && slices.Contains(p.allocs, p.calls[k-1]) ||
			c.Dropped && k+1 < len(p.calls) && slices.Contains(p.allocs, p.calls[k+1])
		if excess <= 0 || !beside || c.Pred < 0 || e.Calls[c.Pred].Thread != c.Thread || c.GapNs > ordinary(c.Thread) {
			continue
		}
		cut := min(excess, c.GapNs)
		excess -= cut
		e.DropGap(i, c.GapNs-cut)
	}
}
