package rules

import (
	"sort"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

// An idleBehind is the time in which devices wait for the host behind waits of the host for them: a wait has to do with
// what comes until the next one, and with nothing before it. Each part is by step, in ns of the mean device.
type idleBehind struct {
	total  *tally
	launch *tally // of total: the host launches, or pauses as it does between two launches
	work   *tally // of total: the host works, in ranges, operators or code without a name
	gain   *tally // of total: no more behind each wait than the host would gain without that one
}

// idleBehind looks at the idle time behind waits, given in order. Without steps nothing says that the waits are those
// of a loop, in which the host runs ahead by the sum of them: gain is then told wait by wait.
func (c *Case) idleBehind(waits []wait) *idleBehind {
	s, window := c.starved(), c.Steps.Window()
	b := &idleBehind{total: c.newTally(), launch: c.newTally(), work: c.newTally(), gain: c.newTally()}
	if len(waits) == 0 {
		return b
	}
	behind := make([]float64, len(waits))
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			at := sort.Search(len(waits), func(i int) bool { return waits[i].StartNs > g.StartNs })
			for at = max(0, at-1); at < len(waits) && waits[at].StartNs < g.EndNs; at++ {
				stretch := interval.Span{StartNs: waits[at].StartNs, EndNs: window.EndNs}
				if at+1 < len(waits) {
					stretch.EndNs = max(stretch.StartNs, waits[at+1].StartNs)
				}
				if stretch = stretch.Clip(g.Span); stretch.LenNs() <= 0 {
					continue
				}
				c.Facts.HostDoing(g.Thread, stretch, func(cause facts.Cause, x interval.Span) {
					ns, text := float64(x.LenNs())/s.devices, c.Facts.CauseText(cause)
					behind[at] += ns
					b.total.add(x.StartNs, ns)
					switch {
					case text == facts.CauseLaunch:
						b.launch.add(x.StartNs, ns)
					case isHostWork(text):
						b.work.add(x.StartNs, ns)
					}
				})
			}
		}
	}
	for i, w := range waits {
		host := w.LenNs()
		if w.purpose == waitRead {
			host += w.leadNs
		}
		b.gain.add(w.EndNs, min(float64(host), behind[i]))
	}
	return b
}

// mostlyWork says whether the host works in most of the idle time behind the waits: it is then the host's own time that
// the device waits for, which it would have to take without any wait as well.
func (b *idleBehind) mostlyWork() bool { return 2*b.work.perStep() > b.total.perStep() }

// mostlyLaunch says whether the host launches in most of it.
func (b *idleBehind) mostlyLaunch() bool { return 2*b.launch.perStep() > b.total.perStep() }
