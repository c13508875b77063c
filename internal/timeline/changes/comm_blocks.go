package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

const (
	// blockShare is how much may compute between the first and the last collective of a block, as a share of what
	// computes before it: scaling of gradients, no layer.
	blockShare = 0.1
	// backwardShare is the part of what computes before a block that is backward, where the capture does not tell: it
	// takes about twice as long as forward.
	backwardShare = 2.0 / 3
)

// A commBlock is the collectives that a step issues to a device after all that it computes before them.
type commBlock struct {
	comm    []int32 // in the order of issue
	before  []int32 // what computes before
	between int64   // ns of what computes between the first and the last of comm
	after   int64   // ns of what computes since the last of comm
}

// commBlocks finds, by step and device, the collectives that all follow what is computed. Those that are issued while
// more is computed have the chance to run beside it already.
func commBlocks(e *replay.Edit) []*commBlock {
	type place struct {
		step   int32
		device uint32
	}
	by := make(map[place]*commBlock)
	var order []*commBlock
	for i := range e.Works {
		w := &e.Works[i]
		if w.Dropped || w.Call < 0 || e.Calls[w.Call].Step < 0 || e.Calls[w.Call].Dropped {
			continue
		}
		at := place{e.Calls[w.Call].Step, e.Lanes[w.Lane].Device}
		b := by[at]
		if b == nil {
			b = &commBlock{}
			by[at], order = b, append(order, b)
		}
		switch {
		case w.Kind == facts.WorkComm:
			b.comm = append(b.comm, int32(i))
			b.between, b.after = b.between+b.after, 0
		case !w.Kind.IsCompute():
		case len(b.comm) == 0:
			b.before = append(b.before, int32(i))
		default:
			b.after += w.DurNs
		}
	}
	var out []*commBlock
	for _, b := range order {
		if len(b.comm) > 1 && len(b.before) > 0 && float64(b.between) <= blockShare*float64(sumNs(e, b.before)) {
			out = append(out, b)
		}
	}
	return out
}

func sumNs(e *replay.Edit, works []int32) (ns int64) {
	for _, i := range works {
		ns += e.Works[i].DurNs
	}
	return ns
}

// beginEarly lets the collectives of each block begin while backward goes on, on a stream of their own, and says
// which works those are. Where their bytes are not known, each counts by how long it takes.
func beginEarly(e *replay.Edit) map[int32]bool {
	done := make(map[int32]bool)
	lanes := make(map[uint32]int32)
	for _, b := range commBlocks(e) {
		backward := backwardOf(e, b.before)
		device := e.Lanes[e.Works[b.comm[0]].Lane].Device
		lane, seen := lanes[device]
		if !seen {
			lane = e.NewLane(device)
			lanes[device] = lane
		}
		all, left, total := sumNs(e, backward), sumNs(e, b.comm), sumNs(e, b.comm)
		made, next := int64(0), 0
		for _, i := range b.comm {
			w := &e.Works[i]
			left -= w.DurNs
			// of backward, when the gradients of this one are done
			due := float64(all) * (1 - float64(left)/float64(max(1, total)))
			for next < len(backward)-1 && float64(made+e.Works[backward[next]].DurNs) < due {
				made += e.Works[backward[next]].DurNs
				next++
			}
			w.Lane, w.Needs, w.By, done[i] = lane, backward[next], e.Works[backward[next]].Call, true
		}
	}
	if len(done) > 0 {
		e.Assume("gradients are taken to become ready evenly over backward: the capture does not say which one a " +
			"collective carries")
	}
	return done
}

// backwardOf is what of a step's work is backward.
func backwardOf(e *replay.Edit, works []int32) []int32 {
	var out []int32
	passes := e.Facts.Passes()
	for _, i := range works {
		if passes.Of[e.Works[i].Row] == facts.PassBackward {
			out = append(out, i)
		}
	}
	if passes.Trains && len(out) > 0 {
		return out
	}
	skip := int64((1 - backwardShare) * float64(sumNs(e, works)))
	for k, i := range works {
		if skip -= e.Works[i].DurNs; skip < 0 {
			return works[k:]
		}
	}
	return works[len(works)-1:]
}
