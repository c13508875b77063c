package changes

import "lacuna/internal/timeline/replay"

// keepOrder makes up for waits of the host that are dropped: work that a thread issues behind one to another stream
// waits, on the device, for what the host waited for, as with cudaStreamWaitEvent. Else work that depends on other work
// would run beside it. dropped is the calls as they were.
func keepOrder(e *replay.Edit, dropped map[int32]replay.Call) {
	if len(e.Lanes) < 2 {
		return
	}
	last := make([]int32, len(e.Lanes)) // of each lane, the work issued last
	for i := range last {
		last[i] = -1
	}
	recorded := make(map[int32]int32) // by call that records an event, the work issued last to its stream
	fences := make(map[int32]*fence)  // by thread
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Records >= 0 {
			recorded[int32(i)] = last[c.Records]
		}
		if was, gone := dropped[int32(i)]; gone {
			if k := latest(e, last, recorded, &was); k >= 0 {
				fences[c.Thread] = &fence{k, make(map[int32]bool)}
			}
			continue
		}
		for k := c.First; k < c.First+c.N; k++ {
			w := &e.Works[k]
			if w.Dropped {
				continue
			}
			if f := fences[c.Thread]; f != nil && !f.seen[w.Lane] {
				f.seen[w.Lane] = true
				if before := &e.Works[f.work]; before.Lane != w.Lane &&
					(w.Needs < 0 || endNs(e, w.Needs) < endNs(e, f.work)) {
					w.Needs = f.work
				}
			}
			last[w.Lane] = k
		}
	}
}

// A fence is what the host waited for, and the streams that have had work since.
type fence struct {
	work int32
	seen map[int32]bool
}

// latest is, of the work issued last to the streams that a call waits for, what was recorded to end last; -1: none.
func latest(e *replay.Edit, last []int32, recorded map[int32]int32, c *replay.Call) int32 {
	switch {
	case c.Wait == replay.WaitStream && c.WaitOn >= 0:
		return last[c.WaitOn]
	case c.Wait == replay.WaitWork:
		return c.WaitOn
	case c.Wait == replay.WaitEvent && c.WaitOn >= 0:
		return recorded[c.WaitOn]
	case c.N > 0: // a blocking copy, which waits for nothing but itself, and that for its stream
		return last[e.Works[c.First].Lane]
	}
	out := int32(-1)
	for _, k := range last {
		if k >= 0 && (out < 0 || endNs(e, k) > endNs(e, out)) {
			out = k
		}
	}
	return out
}

func endNs(e *replay.Edit, k int32) int64 { return e.Works[k].StartNs + e.Works[k].DurNs }
