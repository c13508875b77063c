package replay

import "lacuna/internal/timeline/facts"

// nearlyFull is the share of the queue's depth from which a launch that takes long is taken to have waited for room:
// the work that was issued before the capture began is not all recorded, and each stream has a queue of its own.
const nearlyFull = 0.9

// splitQueued takes the waiting for room in the queue out of the time of launches: what is left to them is what a
// launch of the capture usually takes. Replayed, they wait again as long as the queue is full.
func (p *Program) splitQueued() {
	var late []int32 // launches that find the queue full
	found := make([]bool, len(p.Calls))
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
		q := issued[p.deviceOf(c.First)]
		if c.Wait == WaitNothing && len(q) >= full && p.Works[q[len(q)-full]].StartNs > c.StartNs+slackNs {
			late, found[i] = append(late, int32(i)), true
		}
		for k := c.First; k < c.First+c.N; k++ {
			issue(k)
		}
	}
	if len(late) == 0 {
		return
	}
	usual := min(medianOr(p.launchTimes(func(i int32) bool { return !found[i] }), longestLaunchNs), longestLaunchNs)
	for _, i := range late {
		p.Calls[i].OwnNs = min(p.Calls[i].OwnNs, usual)
	}
}

// launchTimes is what the launches of kernels in the steps looked at took, those that wait for nothing and that a
// function picks.
func (p *Program) launchTimes(picks func(i int32) bool) (ns []int64) {
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.N == 1 && c.Wait == WaitNothing && p.Works[c.First].Kind == facts.WorkKernel && p.InWindow(int32(i)) &&
			picks(int32(i)) {
			ns = append(ns, c.EndNs-c.StartNs)
		}
	}
	return ns
}

// longestLaunchNs is what a launch takes at most that finds room, where the capture has too few that do: in the 107
// captures of the corpus that launch 30 kernels or more in their steps, launches take 1.3 to 21 µs in the median.
const longestLaunchNs = 21_000
