package changes

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var overlapSchedule = Change{
	Name:   "overlap-schedule",
	Syntax: "overlap-schedule",
	Title:  "a serving engine schedules the next step while the GPU works on this one",
	Doc: `Behind the last launch of an engine's step the host no longer waits for the tokens of that step, but for those
of the step before. What it does with them, and all other host work, stays: it is done while the GPU works. So what is
left of the gap between two steps is what the host's work takes longer than the GPU's. Waits between two launches of a
step stay as they are, and so do waits for copies to the device.`,
	Assumes: "the next step can be launched before the tokens of this one are known on the host: they stay on the GPU",
	NotWhen: "structured output, or speculation that the host decides on, needs the tokens of a step to schedule the next",
	Example: "overlap-schedule",
	Apply:   applyOverlapSchedule,
}

func applyOverlapSchedule(e *replay.Edit, arg string) (int, error) {
	if arg != "" {
		return 0, fmt.Errorf("overlap-schedule:%s: takes nothing behind it", arg)
	}
	s := e.Steps
	if s.Engine == nil || s.Engine.Weak || !s.Device {
		return 0, &NotAllowedError{Why: "no marks of a serving engine say where its iterations begin"}
	}
	serving := e.Facts.Serving(s)
	waits, blocked := tokenWaits(e), make(map[int32]bool) // steps
	recorded := make(map[int32]int32)                     // by step, the call behind which its tokens are there
	for _, w := range waits {
		if int(w.step) < len(serving) && serving[w.step].Waits && !serving[w.step].Ahead {
			if r := recorder(e, w.call); r >= 0 {
				recorded[w.step] = r
			}
		}
	}
	for _, w := range waits {
		if _, waiting := recorded[w.step]; !waiting {
			continue
		}
		c := &e.Calls[w.call]
		if before, known := recorded[w.step-1]; known {
			c.Wait, c.WaitOn = replay.WaitEvent, before
			c.OwnNs = min(c.OwnNs, e.Rules.StubNs)
		} else {
			e.Stub(w.call)
		}
		if int(w.step) >= s.First && int(w.step) < s.Last {
			blocked[w.step] = true
		}
	}
	if 2*len(blocked) <= s.Last-s.First {
		return 0, &NotAllowedError{Why: fmt.Sprintf("in only %d of %d steps the host blocks until the step's work is "+
			"done: it works ahead already, or waits in a way that the capture does not show", len(blocked), s.Last-s.First)}
	}
	e.Assume("the host reads the tokens of a step while the GPU works on the next")
	return len(blocked), nil
}

// A tokenWait is a call that waits behind the last launch of a step and before the first of the next.
type tokenWait struct{ call, step int32 }

// tokenWaits finds them, in order.
func tokenWaits(e *replay.Edit) (out []tokenWait) {
	launches := func(c *replay.Call) bool {
		return !c.Dropped && c.N > 0 && c.Step >= 0 && e.Works[c.First].Kind.IsCompute()
	}
	last := make(map[int32]int32)
	for i := range e.Calls {
		if c := &e.Calls[i]; launches(c) {
			last[c.Step] = int32(i)
		}
	}
	behind := int32(-1) // the step whose last launch is behind, while none of the next is
	for i := range e.Calls {
		c := &e.Calls[i]
		switch {
		case launches(c) && last[c.Step] == int32(i):
			behind = c.Step
		case launches(c):
			behind = -1
		case behind < 0 || c.Dropped || c.Wait == replay.WaitNothing:
		case c.N > 0 && copyKind(e, c.First) != model.CopyDtoH: // it brings inputs
		case facts.CauseName(e.Facts.CallCauses()[c.Row]) == facts.CauseAlloc:
		default:
			out = append(out, tokenWait{int32(i), behind})
		}
	}
	return out
}

// recorder is a call that records an event behind what a waiting call waits for: the one that it names, or itself,
// since all that it waits for was issued before; -1: what it waits for is not known.
func recorder(e *replay.Edit, i int32) int32 {
	c := &e.Calls[i]
	switch c.Wait {
	case replay.WaitEvent:
		return c.WaitOn
	case replay.WaitStream:
		c.Records = c.WaitOn
	case replay.WaitWork:
		c.Records = e.Works[c.WaitOn].Lane
	case replay.WaitCopy, replay.WaitBigCopy:
		c.Records = e.Works[c.First].Lane
	case replay.WaitDevice:
		for lane, l := range e.Lanes {
			if l == e.Steps.Busiest {
				c.Records = int32(lane)
			}
		}
	}
	if c.Records < 0 {
		return -1
	}
	return i
}
