package replay

import "slices"

// nearlyFull is the share of the queue's depth from which a launch that takes long is taken to have waited for room:
// the work that was issued before the capture began is not all recorded, and each stream has a queue of its own.
const nearlyFull = 0.9

// splitQueued takes the waiting for room in the queue out of the time of launches: what is left to them is what a
// launch of the capture usually takes. Replayed, they wait again as long as the queue is full.
func (p *Program) splitQueued() {
	usual := p.usualLaunchNs()
	full := int(nearlyFull * float64(p.Rules.QueueDepth))
	issued := make(map[uint32][]int32) // by device
	issue := func(i int32) { issued[p.deviceOf(i)] = append(issued[p.deviceOf(i)], i) }
	for i := int32(0); int(i) < len(p.Works) && p.Works[i].Call == none; i++ {
		issue(i)
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.N == 0 {
			continue
		}
		if q := issued[p.deviceOf(c.First)]; c.Wait == WaitNothing && c.OwnNs > usual && len(q) >= full &&
			p.Works[q[len(q)-full]].StartNs > c.StartNs+slackNs {
			c.OwnNs = usual
		}
		for k := c.First; k < c.First+c.N; k++ {
			issue(k)
		}
	}
}

// usualLaunchNs is what launches that find room take in the median; of a capture without, that of all.
func (p *Program) usualLaunchNs() int64 {
	var all []int64
	for i := range p.Calls {
		if c := &p.Calls[i]; c.N == 1 && c.Wait == WaitNothing {
			all = append(all, c.EndNs-c.StartNs)
		}
	}
	if len(all) == 0 {
		return defaultStubNs
	}
	slices.Sort(all)
	return min(all[len(all)/2], longestLaunchNs)
}

// longestLaunchNs bounds the usual launch of a capture in which most of them waited for room. The slowest host among
// the captures of the corpus takes 11 µs in the median.
const longestLaunchNs = 15_000
