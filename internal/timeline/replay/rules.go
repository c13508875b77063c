package replay

import (
	"math/bits"
	"slices"

	"lacuna/internal/timeline/facts"
)

// minSamples is how many cases a median of the capture's own needs before it replaces a default.
const minSamples = 8

// defaultRules is what holds before the capture is asked.
func defaultRules() Rules {
	r := Rules{LaunchNs: defaultLaunchNs, StreamGapNs: defaultStreamGapNs, EventGapNs: defaultEventGapNs,
		QueueDepth: defaultQueueDepth, StubNs: defaultStubNs}
	for k := range r.ReturnNs {
		r.ReturnNs[k] = defaultReturnNs
	}
	return r
}

// measureGaps takes the capture's own medians of what lies between a launch and its work on an idle
// stream, between two pieces of work of a stream, and between work and what waits for it on another stream.
func (p *Program) measureGaps() {
	res := p.Residuals()
	var gaps [BoundNothing][]int64
	for i, b := range res.bound {
		if b < BoundNothing && p.Works[i].Call != none {
			gaps[b] = append(gaps[b], res.works[i])
		}
	}
	p.Rules.LaunchNs += medianOr(gaps[BoundLaunch], 0)
	p.Rules.StreamGapNs = max(0, p.Rules.StreamGapNs+medianOr(gaps[BoundStream], 0))
	p.Rules.EventGapNs = max(0, p.Rules.EventGapNs+medianOr(gaps[BoundEvent], 0))
}

// measureReturns takes the capture's own medians of what lies between the end of awaited work and the
// return of the call, and of what a blocking copy does before it starts.
func (p *Program) measureReturns() {
	var returns [waitKinds][]int64
	stages := make(map[int][]int64) // by stageClass
	e := p.newEnds()
	for i := range p.Calls {
		c := &p.Calls[i]
		e.call(p, int32(i))
		if c.Wait == WaitNothing || c.AfterNs > 0 {
			continue
		}
		if done := e.awaited(p, c); done > c.StartNs {
			returns[c.Wait] = append(returns[c.Wait], c.EndNs-done)
			if c.copies() && c.N == 1 {
				ns := p.Works[c.First].StartNs - p.Rules.LaunchNs - c.StartNs
				stages[anyCopy] = append(stages[anyCopy], ns)
				stages[p.stageClass(c)] = append(stages[p.stageClass(c)], ns)
			}
		}
	}
	for k := range returns {
		p.Rules.ReturnNs[k] = medianOr(returns[k], defaultReturnNs)
	}
	stageNs := make(map[int]int64)
	all := max(0, medianOr(stages[anyCopy], defaultStubNs))
	for class, ns := range stages {
		stageNs[class] = max(0, medianOr(ns, all))
	}
	for i := range p.Calls {
		if c := &p.Calls[i]; c.copies() && c.N > 0 {
			ns, seen := stageNs[p.stageClass(c)]
			if !seen {
				ns = all
			}
			c.OwnNs = min(c.EndNs-c.StartNs, ns)
		}
	}
}

// anyCopy is the stageClass of all copies together.
const anyCopy = -1

// stageClass groups blocking copies by what they do before they start: the host copies pageable memory into buffers
// of the driver, which takes as long as there are bytes, so by powers of two of them.
func (p *Program) stageClass(c *Call) int {
	t := p.Facts.Trace
	if row := p.Facts.Work().Row[p.Works[c.First].Row]; p.Works[c.First].Kind == facts.WorkCopy &&
		int(row) < len(t.Copies.Bytes) {
		return bits.Len64(uint64(max(0, t.Copies.Bytes[row])))
	}
	return 0
}

func medianOr(v []int64, otherwise int64) int64 {
	if len(v) < minSamples {
		return otherwise
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// copies says whether a call waits for the copy that it issued.
func (c *Call) copies() bool { return c.Wait == WaitCopy || c.Wait == WaitBigCopy }
