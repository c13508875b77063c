package changes

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

var dropCasts = Change{
	Name:   "drop-casts",
	Syntax: "drop-casts",
	Title:  "tensors keep their dtype: kernels that only convert are left out",
	Doc: `Kernels that only change a tensor's dtype are left out with their launches, except the first of each step,
the input's. Where the program trains, only round trips are left out: a tensor that is widened and at once narrowed
again, and the casts of weights that several forward passes of one update make again. One cast of each weight must
follow each update, by autocast or by hand.`,
	Assumes: "weights and activations can be kept in the narrow type",
	NotWhen: "the casts are autocast's own of weights that are updated in FP32, once per update: cast the model instead " +
		"(model.to(torch.bfloat16)), which changes the numerics",
	Example: "drop-casts",
	Apply:   applyDropCasts,
}

func applyDropCasts(e *replay.Edit, arg string) (int, error) {
	training := trains(e)
	ordinary := ordinaryPause(e)
	n, kept, repeated := 0, 0, 0
	again := make(map[int32]bool) // rows of Work
	for _, r := range e.Facts.PassCasts().Again {
		again[r] = true
	}
	for _, works := range onLanes(e) {
		first := inputCast{step: -1}
		for k, i := range works {
			if e.Works[i].Dropped || kindOf(e, i).Class != facts.ClassCast {
				continue
			}
			if !training && first.is(e, i) {
				continue
			}
			if !training {
				dropLaunch(e, i, ordinary)
				n++
				continue
			}
			if again[e.Works[i].Row] {
				dropLaunch(e, i, ordinary)
				repeated++
				continue
			}
			if k+1 < len(works) && roundTrip(e, i, works[k+1]) {
				dropLaunch(e, i, ordinary)
				dropLaunch(e, works[k+1], ordinary)
				n += 2
				continue
			}
			kept++
		}
	}
	if n += repeated; n == 0 && kept > 0 {
		return 0, &NotAllowedError{Why: "the program trains: " + one(kept, "cast") +
			", none of them a round trip, must be repeated after each update; " +
			"keep the weights themselves in 16 bits (model.to(torch.bfloat16)) and compare"}
	}
	if n > 0 && !training {
		e.Assume("weights are kept in the narrow type: nothing in the capture updates them; the first cast of each " +
			"step is the input's, and stays")
	}
	if repeated > 0 {
		e.Assume("what the first forward pass of an update casts serves its other passes too")
	}
	return matched(n)
}

// An inputCast finds the first cast of each step of a stream: its input comes as it is.
type inputCast struct{ step int32 }

func (c *inputCast) is(e *replay.Edit, i int32) bool {
	call := e.Works[i].Call
	if call < 0 || e.Calls[call].Step == c.step {
		return false
	}
	c.step = e.Calls[call].Step
	return true
}

// roundTrip says whether a cast widens a tensor and the kernel behind it narrows one of the same size.
func roundTrip(e *replay.Edit, a, b int32) bool {
	up, down := kindOf(e, a), kindOf(e, b)
	return down.Class == facts.ClassCast && up.To > down.To && down.To > 0 && elementsOf(e, a) > 0 &&
		elementsOf(e, a) == elementsOf(e, b) && calm(e, a, b)
}
