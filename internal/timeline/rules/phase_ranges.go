package rules

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A phaseRange is a range of the program that lies in no other, but for those around all that is looked at.
type phaseRange struct {
	interval.Span
	name string
}

// phaseRanges is the outermost ranges of the program on each thread, in order, of a capture in which nothing marks
// steps: where a program has parts of different nature, these name them.
func (c *Case) phaseRanges() map[model.ThreadRow][]phaseRange {
	out := make(map[model.ThreadRow][]phaseRange)
	if !c.wholeCapture() {
		return out
	}
	r, class, window := &c.Trace.Ranges, c.Facts.RangeClasses(), c.Steps.Window()
	for i, th := range r.Thread {
		if class[i] != facts.RangeUser || r.DurNs[i] == model.OpenDurNs {
			continue
		}
		s := interval.Span{StartNs: r.StartNs[i], EndNs: r.EndNs(i)}
		if s.StartNs <= window.StartNs && s.EndNs >= window.EndNs {
			continue
		}
		if n := len(out[th]); n > 0 && s.StartNs < out[th][n-1].EndNs {
			continue // within it
		}
		out[th] = append(out[th], phaseRange{s, c.Trace.Strings.Text(r.Name[i])})
	}
	return out
}

// phaseOf is the outermost range in which a piece of work was issued, or "".
func (c *Case) phaseOf(ranges map[model.ThreadRow][]phaseRange, row int32) string {
	call := c.work().Call[row]
	if call == facts.NoCall {
		return ""
	}
	ns := c.Trace.Calls.StartNs[call]
	for _, x := range ranges[c.Trace.Calls.Thread[call]] {
		if x.Contains(ns) {
			return x.name
		}
	}
	return ""
}
