package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/timeline/facts"
)

// engine is what the marks of a serving engine say of the steps; nil: there are none, or they say nothing.
func (c *Case) engine() *facts.EngineSteps {
	if e := c.Steps.Engine; e != nil && !e.Weak && c.Steps.Device {
		return e
	}
	return nil
}

// decodes says whether the steps looked at are steps of an engine that give each running request a token.
func (c *Case) decodes() bool {
	e := c.engine()
	if e == nil {
		return false
	}
	for i := c.Steps.First; i < c.Steps.Last; i++ {
		if k := e.Each[i].Kind; k != facts.KindDecode && k != facts.KindVerify {
			return false
		}
	}
	return c.Steps.First < c.Steps.Last
}

// endsUnknown says whether the steps looked at are those of an engine and none lasts to the next: what comes between
// two steps is not known then.
func (c *Case) endsUnknown() bool {
	if c.Steps.Engine == nil || !c.Steps.Device {
		return false
	}
	for i := c.Steps.First; i < c.Steps.Last; i++ {
		if !c.Steps.Engine.Each[i].Open {
			return false
		}
	}
	return true
}

// A hostGap is the time between the last GPU work of a step and the first of the next, of the steps looked at.
type hostGap struct {
	steps    int
	meanNs   float64
	medianNs float64
	ahead    int // steps behind which the scheduler had gone on before the GPU was done
	waits    int // steps for whose tokens it blocked
	parts    [facts.GapParts]float64
	longest  []int // steps, longest gap first
}

// hostGap measures it; nil: the steps are not decode steps, or none lasts to the next.
func (c *Case) hostGap() *hostGap {
	if !c.decodes() || c.endsUnknown() {
		return nil
	}
	each, serving := c.engine().Each, c.Facts.Serving(c.Steps)
	g := &hostGap{}
	var all []int64
	for i := c.Steps.First; i < c.Steps.Last; i++ {
		if each[i].Open {
			continue
		}
		s := &serving[i]
		g.steps++
		if s.Ahead {
			g.ahead++
		}
		if s.Waits {
			g.waits++
		}
		for p, ns := range s.GapNs {
			g.parts[p] += float64(ns)
		}
		all, g.longest = append(all, s.Gap()), append(g.longest, i)
	}
	for p := range g.parts {
		g.parts[p] /= float64(g.steps)
		g.meanNs += g.parts[p]
	}
	g.medianNs = float64(medianInt(all))
	slices.SortStableFunc(g.longest, func(a, b int) int {
		return cmp.Compare(serving[b].Gap(), serving[a].Gap())
	})
	return g
}

// minGapShare is the share of a decode step from which the gap behind it is worth a finding: launching the next
// step's first kernels alone takes 1 to 3 % of steps of 5 to 20 ms.
const minGapShare = 0.05

// isLong says whether most steps have a gap that is worth a finding.
func (g *hostGap) isLong(c *Case) bool {
	return g != nil && g.medianNs >= minGapShare*c.StepNs && g.meanNs >= minGapShare*c.StepNs
}

// waitsForTokens says whether the scheduler goes on only when a step's tokens are there.
func (g *hostGap) waitsForTokens() bool { return 2*g.waits > g.steps && 2*g.ahead < g.steps }

// rows is the longest gaps.
func (g *hostGap) rows(c *Case, n int) (out []string) {
	serving := c.Facts.Serving(c.Steps)
	for _, i := range g.longest[:min(n, len(g.longest))] {
		out = append(out, fmt.Sprintf("step %d: %s behind its last GPU work, at %s", i, ms(float64(serving[i].Gap())),
			c.sinceStart(c.engine().Each[i].LastNs)))
	}
	return out
}

// engineCount counts the steps of an engine that are accepts.
func engineCount(e *facts.EngineSteps, is func(s *facts.EngineStep) bool) (n int) {
	for i := range e.Each {
		if is(&e.Each[i]) {
			n++
		}
	}
	return n
}
