package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var packCopies = Change{
	Name:   "pack-copies",
	Syntax: "pack-copies",
	Title:  "the short copies to the device of a step are packed into one",
	Doc: `Of the copies to the device that last at most 10 µs, about what a call costs, the first of each step, thread
and stream carries the data of the others: it takes as much longer as they took beyond the shortest such copy. The
others are left out, with the synchronizations right behind them. Host work between them stays: packing costs some,
too. In a capture without steps the copies between two kernels of a thread are packed.`,
	Assumes: "all data is known at the first copy of the step, and is in pinned memory",
	NotWhen: "a later copy depends on results that the device computed meanwhile",
	Example: "pack-copies",
	Apply:   applyPackCopies,
}

// shortCopyNs is up to which duration the call costs more than the copy: calls of small copies took 4 to 10 µs under
// nsys.
const shortCopyNs = 10_000

func applyPackCopies(e *replay.Edit, _ string) (int, error) {
	type place struct{ step, thread, lane, turn int32 }
	var short []int32 // calls
	turns := turnsOf(e)
	fixedNs := int64(shortCopyNs)
	for i := range e.Calls {
		if c := &e.Calls[i]; !c.Dropped && c.N == 1 && c.Step >= 0 && isShortUpload(e, c.First) {
			short = append(short, int32(i))
			fixedNs = min(fixedNs, e.Works[c.First].DurNs)
		}
	}
	first := make(map[place]int32)
	next := e.NextOnThread()
	n := 0
	for _, i := range short {
		c := &e.Calls[i]
		w := &e.Works[c.First]
		at := place{c.Step, c.Thread, w.Lane, turns[i]}
		carrier, seen := first[at]
		if !seen {
			first[at] = c.First
			continue
		}
		n++
		to := &e.Works[carrier]
		ns, high := to.DurNs+w.DurNs-fixedNs, max(to.HighNs, to.DurNs)+w.DurNs
		e.SetDur(carrier, ns, ns, high)
		e.DropCall(i)
		if k := next[i]; k >= 0 && e.Calls[k].N == 0 && e.Calls[k].Wait == replay.WaitStream {
			e.DropCall(k)
		}
	}
	return matched(n)
}

// turnsOf is, in a capture without steps, how many calls had launched computation on its thread before each call: what
// is copied between two kernels is for the next. With steps it is none.
func turnsOf(e *replay.Edit) []int32 {
	out := make([]int32, len(e.Calls))
	if e.Steps.Source != facts.StepsNone {
		return out
	}
	done := make(map[int32]int32) // by thread
	for i := range e.Calls {
		c := &e.Calls[i]
		out[i] = done[c.Thread]
		if c.N > 0 && e.Works[c.First].Kind.IsCompute() {
			done[c.Thread]++
		}
	}
	return out
}

// isShortUpload says whether work is a copy to the device that takes no longer than its call costs.
func isShortUpload(e *replay.Edit, i int32) bool {
	w := &e.Works[i]
	return !w.Dropped && w.DurNs <= shortCopyNs && copyKind(e, i) == model.CopyHtoD
}
