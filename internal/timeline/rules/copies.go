package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// copied is a copy within the steps looked at.
type copied struct {
	row     int32 // of Work
	kind    model.CopyKind
	pinned  bool // neither side is pageable memory of the host
	known   bool // whether the kinds of memory were recorded
	bytes   int64
	startNs int64
	ns      int64 // how long it took
	exposed int64 // of ns: while the device computed and communicated nothing
	inLine  bool  // kernels run on its stream
}

// copies is the copies within the steps looked at, in order, but for those of peers.
func (c *Case) copies() []copied {
	c.findCopies()
	return c.memo.copies
}

// peers is the halves of copies from one device to another that the driver makes through host memory: down from the one
// and up to the other, issued by one call.
func (c *Case) peers() []copied {
	c.findCopies()
	return c.memo.peers
}

func (c *Case) findCopies() {
	if c.memo.copies != nil {
		return
	}
	w, t, window := c.Facts.Work(), c.Trace, c.Steps.Window()
	lanes := make(map[facts.Lane]bool)
	busy := make(map[uint32][]interval.Span)
	for i := range w.Len() {
		if w.Kind[i] > facts.WorkComm {
			continue
		}
		lanes[facts.Lane{Device: w.Device[i], Stream: w.Stream[i]}] = true
		if s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window); s.LenNs() > 0 {
			busy[w.Device[i]] = append(busy[w.Device[i]], s)
		}
	}
	sets := make(map[uint32]interval.Set)
	for d, spans := range busy {
		sets[d] = interval.UnionSorted(spans)
	}
	halves := c.peerHalves()
	out := []copied{}
	for i := range w.Len() {
		span := interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}
		if w.Kind[i] != facts.WorkCopy || !window.Contains(span.StartNs) {
			continue
		}
		src, dst := memKinds(&t.Copies, w.Row[i])
		x := copied{row: int32(i), kind: t.Copies.Kind[w.Row[i]], bytes: c.copyBytes(int32(i)), startNs: span.StartNs,
			ns:     span.LenNs(),
			pinned: src != model.MemPageable && dst != model.MemPageable, known: src != model.MemUnknown ||
				dst != model.MemUnknown,
			inLine: lanes[facts.Lane{Device: w.Device[i], Stream: w.Stream[i]}]}
		x.exposed = x.ns - overlapNs(sets[w.Device[i]], span)
		if halves[int32(i)] {
			c.memo.peers = append(c.memo.peers, x)
		} else {
			out = append(out, x)
		}
	}
	c.memo.copies = out
}

// peerHalves is the rows of Work that are copies to or from the host which one call issued on two devices.
func (c *Case) peerHalves() map[int32]bool {
	w, t := c.Facts.Work(), c.Trace
	first, out := make(map[int32]int32), make(map[int32]bool)
	for i := range w.Len() {
		if w.Kind[i] != facts.WorkCopy || w.Call[i] == facts.NoCall {
			continue
		}
		kind := t.Copies.Kind[w.Row[i]]
		if kind != model.CopyDtoH && kind != model.CopyHtoD {
			continue
		}
		at, seen := first[w.Call[i]]
		if !seen {
			first[w.Call[i]] = int32(i)
		} else if w.Device[at] != w.Device[i] && t.Copies.Kind[w.Row[at]] != kind {
			out[at], out[int32(i)] = true, true
		}
	}
	return out
}

func memKinds(t *model.Copies, row uint32) (src, dst model.MemKind) {
	if int(row) < len(t.Src) {
		src = t.Src[row]
	}
	if int(row) < len(t.Dst) {
		dst = t.Dst[row]
	}
	return src, dst
}

// overlapNs is how much of a span lies in a set.
func overlapNs(set interval.Set, s interval.Span) int64 {
	lo, hi := 0, len(set)
	for lo < hi {
		if m := (lo + hi) / 2; set[m].EndNs <= s.StartNs {
			lo = m + 1
		} else {
			hi = m
		}
	}
	var ns int64
	for ; lo < len(set) && set[lo].StartNs < s.EndNs; lo++ {
		ns += set[lo].Clip(s).LenNs()
	}
	return ns
}

// A copySum is what copies of one sort come to.
type copySum struct {
	n, bytes, ns, exposed *tally
	places                *groups
}

func (c *Case) newCopySum() *copySum {
	return &copySum{c.newTally(), c.newTally(), c.newTally(), c.newTally(), c.newGroups()}
}

// add counts a copy.
func (s *copySum) add(c *Case, x copied) {
	devices := c.deviceCount()
	s.n.add(x.startNs, 1)
	s.bytes.add(x.startNs, float64(x.bytes))
	s.ns.add(x.startNs, float64(x.ns)/devices)
	s.exposed.add(x.startNs, float64(x.exposed)/devices)
	s.places.add(c.copyPlace(x), x.startNs, float64(x.ns)/devices)
}

// copyPlace says what a copy is and where it was made: "HtoD pageable -> device of 134.2 MB in aten::to, in load".
func (c *Case) copyPlace(x copied) string {
	name := fmt.Sprintf("%s of %s", c.Facts.CopyName(int(c.Facts.Work().Row[x.row])), size(float64(x.bytes)))
	call := c.Facts.Work().Call[x.row]
	if call == facts.NoCall {
		return name
	}
	userRange, op := c.Facts.Around(c.Trace.Calls.Thread[call], c.Trace.Calls.StartNs[call])
	if op != "" {
		name += " in " + op
	}
	if userRange != "" {
		name += ", in " + userRange
	}
	return name
}

// size is bytes for people, in powers of ten as bandwidths are.
func size(bytes float64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.2f GB", bytes/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", bytes/1e6)
	case bytes >= 1e3:
		return fmt.Sprintf("%.1f kB", bytes/1e3)
	}
	return fmt.Sprintf("%.0f B", bytes)
}
