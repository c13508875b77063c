package rules

import "lacuna/internal/timeline/facts"

// wholeSteps says whether a step is a whole turn of the program's loop, from one batch or request to the next, as far
// as the capture shows. Where the program trains, each step has some of backward; where it does not, the steps are
// marked as steps, or are an engine's. What merely repeats may be a layer of one forward, which keeps its activations.
func (c *Case) wholeSteps() bool {
	if starts := c.backwardStarts(); len(starts) > 0 {
		with := make(map[int]bool)
		for _, ns := range starts {
			if i := c.stepAt(ns); i >= 0 {
				with[i] = true
			}
		}
		return float64(len(with)) >= growingShare*float64(len(c.Steps.Steady()))
	}
	switch c.Steps.Source {
	case facts.StepsEngine, facts.StepsNVTX, facts.StepsProfilerStep:
		return true
	case facts.StepsAnnotation:
		return facts.IsStepName(c.Steps.Marker + "1")
	}
	return false
}

// backwardStarts is when pieces of backward begin, on the clock of the steps: the device's, or the host's.
func (c *Case) backwardStarts() (out []int64) {
	w, passes := c.work(), c.Facts.Passes()
	for i, p := range passes.Of {
		if p == facts.PassBackward {
			out = append(out, w.StartNs[i])
		}
	}
	if len(out) > 0 || c.Steps.Device {
		return out
	}
	backward := c.saying(facts.IsAutograd)
	for i, id := range c.Trace.Ops.Name {
		if backward(id) {
			out = append(out, c.Trace.Ops.StartNs[i])
		}
	}
	return out
}
