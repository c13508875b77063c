package rules

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

// starvation is the idle time in which a device waited for the host, of all devices.
type starvation struct {
	gaps    [][]facts.IdleGap // of each device
	byCause map[string]*tally // ns of the mean device, by what the host was doing
	total   *tally            // of all causes
	pauses  []facts.HostPause // long host work that gaps lie in
	devices float64
}

// starved finds when devices waited for the host. Idle time with work queued is not in it.
func (c *Case) starved() *starvation {
	if c.memo.starved != nil {
		return c.memo.starved
	}
	s := &starvation{byCause: make(map[string]*tally), total: c.newTally(), devices: float64(max(1, len(c.Gaps)))}
	c.memo.starved = s
	for _, all := range c.Gaps {
		gaps := c.Facts.Starved(all)
		s.gaps = append(s.gaps, gaps)
		for _, g := range gaps {
			c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, span interval.Span) {
				text := c.Facts.CauseText(cause)
				if s.byCause[text] == nil {
					s.byCause[text] = c.newTally()
				}
				ns := float64(span.LenNs()) / s.devices
				s.byCause[text].add(span.StartNs, ns)
				s.total.add(span.StartNs, ns)
			})
		}
		s.pauses = append(s.pauses, c.Facts.HostPauses(gaps)...)
	}
	return s
}

// of is the tally of a cause; empty if there is none.
func (s *starvation) of(cause string) *tally {
	if t := s.byCause[cause]; t != nil {
		return t
	}
	return s.total.c.newTally()
}

// restIdleNs is how long a device that waits for the host at an instant goes on to do so; 0: none does.
func (s *starvation) restIdleNs(ns int64) float64 {
	var rest int64
	for _, gaps := range s.gaps {
		if i := gapAt(gaps, ns); i >= 0 {
			rest += gaps[i].EndNs - ns
		}
	}
	return float64(rest) / s.devices
}

// gapAt is the gap that an instant lies in, or -1. Gaps are in order.
func gapAt(gaps []facts.IdleGap, ns int64) int {
	lo, hi := 0, len(gaps)
	for lo < hi {
		if m := (lo + hi) / 2; gaps[m].EndNs <= ns {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == len(gaps) || !gaps[lo].Contains(ns) {
		return -1
	}
	return lo
}
