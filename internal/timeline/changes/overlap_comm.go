package changes

import (
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var overlapComm = Change{
	Name:   "overlap-comm",
	Syntax: "overlap-comm",
	Title:  "collectives overlap with computation that does not need them yet",
	Doc: `Communication kernels run on streams of their own. Computation no longer waits for them, until the
optimizer's first kernel of the same step, else the first kernel of the next step, if that waited in the capture.
Concurrent kernels share the device, as in drop-stream-waits.

Collectives that a step issues after all its computation, as in a loop that exchanges gradients after backward,
begin when their data is ready: one after the other, in proportion to the part of backward that is done. Where the
capture does not separate backward from forward, backward is the last two thirds of the computation before.

With one rank, a collective waits for other ranks as long as recorded; with all ranks, the waits are replayed.`,
	Assumes: "gradients are reduced in buckets during backward; only the optimizer needs them",
	NotWhen: "each layer needs its collective's result at once: tensor parallelism, parameters gathered just in " +
		"time without prefetching; or the host itself waits for the collectives before it issues more, as a solver " +
		"that exchanges borders: what of the computation needs the result is not in a capture",
	Example: "overlap-comm",
	Apply:   applyOverlapComm,
}

func applyOverlapComm(e *replay.Edit, arg string) (int, error) {
	if held, all := heldByHost(e); held > mostHeld*all {
		return 0, &NotAllowedError{Why: "the host waits for the collectives before it issues more, and which of that " +
			"needs their results is not in the capture; let the stream of what needs them wait (cudaStreamWaitEvent), " +
			"not the host"}
	}
	computes := computingLanes(e)
	lanes := make(map[int32]int32) // of a computing stream, the one that takes its collectives
	n, placed := 0, beginEarly(e)
	for i := range e.Works {
		w := &e.Works[i]
		if w.Kind != facts.WorkComm || w.Dropped {
			continue
		}
		n++
		if !placed[int32(i)] && computes[w.Lane] {
			before := lastOnLane(e, int32(i), w.Lane)
			to, seen := lanes[w.Lane]
			if !seen {
				to = e.NewLane(e.Lanes[w.Lane].Device)
				lanes[w.Lane] = to
			}
			w.Lane = to
			if w.Needs < 0 {
				w.Needs = before // what it communicates has been computed
			}
		}
	}
	if n == 0 {
		return 0, ErrNoMatch
	}
	talks := make([]bool, len(e.Lanes))
	for i := range e.Works {
		w := &e.Works[i]
		talks[w.Lane] = talks[w.Lane] || w.Kind == facts.WorkComm
	}
	for i := range e.Waits {
		if w := &e.Waits[i]; int(max(w.Lane, w.From)) < len(computes) && computes[w.Lane] && !computes[w.From] &&
			talks[w.From] {
			w.Dropped = true
		}
	}
	for i := range e.Works {
		if w := &e.Works[i]; w.Kind.IsCompute() && w.Needs >= 0 && e.Works[w.Needs].Kind == facts.WorkComm {
			w.Needs = -1
		}
	}
	needCollectives(e)
	e.Contend()
	e.Assume("the optimizer, or else the next step, is the first to need the collectives' results")
	return n, nil
}

// mostHeld is the share of the collectives' time from which on it is the host that waits for them: with less, what
// computation on the device waits for decides.
const mostHeld = 0.5

// heldByHost is the time of the collectives of the steps looked at, and of those that a call of the host was waiting
// for: it returned right after their end. A wait for computation behind them returns later.
func heldByHost(e *replay.Edit) (held, all float64) {
	var running []int32
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Dropped {
			continue
		}
		for k := c.First; k < c.First+c.N; k++ {
			if w := &e.Works[k]; w.Kind == facts.WorkComm && !w.Dropped && e.InWindow(int32(i)) {
				running = append(running, k)
				all += float64(w.DurNs)
			}
		}
		if c.Wait == replay.WaitNothing {
			continue
		}
		running = slices.DeleteFunc(running, func(k int32) bool {
			if end := endNs(e, k); end > c.StartNs && end <= c.EndNs && c.EndNs-end <= returnsWithinNs {
				held += float64(e.Works[k].DurNs)
				return true
			}
			return endNs(e, k) <= c.EndNs
		})
	}
	return held, all
}

// returnsWithinNs is how soon after the end of what it waited for a call returns: 3 µs in the median
// (replay.Rules), some times that where the host is slow to wake.
const returnsWithinNs = 15_000

// lastOnLane is the work that is issued to a stream before work i, or -1.
func lastOnLane(e *replay.Edit, i, lane int32) int32 {
	for k := i - 1; k >= 0; k-- {
		if w := &e.Works[k]; w.Lane == lane && !w.Dropped && w.Kind.IsCompute() {
			return k
		}
	}
	return -1
}

// needCollectives makes the optimizer's first kernel behind the last collective of each step wait for it, or the
// first kernel of the next step.
func needCollectives(e *replay.Edit) {
	last := make(map[uint32]int32) // of each device, the last collective that nothing has waited for
	step := make(map[uint32]int32)
	for i := range e.Works {
		w := &e.Works[i]
		if w.Dropped || w.Call < 0 {
			continue
		}
		device, now := e.Lanes[w.Lane].Device, e.Calls[w.Call].Step
		if w.Kind == facts.WorkComm {
			last[device], step[device] = int32(i), now
			continue
		}
		k, waiting := last[device]
		if !waiting || !w.Kind.IsCompute() || w.Needs >= 0 || w.StartNs < e.Works[k].StartNs+e.Works[k].DurNs {
			continue // what began before the collective was done, as recorded, does not need it
		}
		if now != step[device] || kindOf(e, int32(i)).Class == facts.ClassForeach {
			w.Needs = k
			delete(last, device)
		}
	}
}
