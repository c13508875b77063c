package rules

import "lacuna/internal/facts"

// maxGaps is how many of the longest gaps are looked at for evidence.
const maxGaps = 50

// longest is the longest gaps, longest first.
func longest(gaps []facts.IdleGap) []facts.IdleGap { return facts.LongestGaps(gaps, maxGaps) }

// mainCause is the cause that took most of a gap.
func (c *Case) mainCause(g facts.IdleGap) string {
	best, bestNs := "", int64(-1)
	for cause, ns := range c.Facts.IdleByHost([]facts.IdleGap{g}) {
		if text := c.Facts.CauseText(cause); ns > bestNs || ns == bestNs && text < best {
			best, bestNs = text, ns
		}
	}
	return best
}
