package kernelrules

import "lacuna/internal/kernel"

var lowIPC = Rule{
	ID:       "low_ipc",
	Title:    "Low IPC: nothing is busy, and no single cause stands out",
	Since:    "0.2",
	Residual: true,
	Needs:    []Need{needTime, needStalls, needIssue, needDRAM, needL1},
	Doc: `
No part of the chip is used to 60 %, instructions are issued in less than 40 % of the slots, the kernel takes at
least 10 µs, and no other finding explains it. The counters show no single cause. The finding says what warps wait
for most, how many there are, and what to look at next. It does not predict a time.`,
	Limits: `
It is reported only when nothing else is found.`,
	Fix: `
Look at the stall reasons in order: Long Scoreboard (more loads in flight, more warps), Short Scoreboard (shared
memory and special functions), Wait (more independent chains), Barrier. The source view shows where:

    lacuna kernel REPORT --page source --kernel NAME`,
	RefutedBy: `A resource that was not collected is at its limit: collect with --set full.`,
	Check:     checkLowIPC,
}

const lowIssue = 0.4 // of the slots: under it schedulers find no warp ready most of the time

func checkLowIPC(c *Case, out *Findings) {
	issue := c.use(kernel.Issue)
	if len(out.All) > 0 || !c.latencyBound() || !(issue < lowIssue) || !(c.us() >= shortUs) {
		return
	}
	f := out.Add(0.5, "Low IPC: instructions are issued in %s of the slots, and nothing is near its limit",
		percent(issue))
	if s := c.Stalls(); s != nil && s.Words() != "" {
		f.Because("%s", s.Words())
	}
	if s := c.scattered(); s.left() >= gatherMatters {
		f.Because("%s of the sectors that are needed lie where data says: their addresses follow from loaded values, "+
			"and no layout brings them together", percent(s.left()))
	}
	at, most := c.limiter()
	f.Because("the busiest resource, %s, is at %s; occupancy is %s of a possible %s", nameOf(at), percent(most),
		percent(c.achieved()), percent(c.theoretical()))
	f.Places = c.HotStalls("long_scoreboard", "short_scoreboard", "wait", "barrier")
}
