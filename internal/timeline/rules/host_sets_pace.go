package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
)

var hostSetsPace = Rule{
	ID:    "host_sets_pace",
	Title: "The host sets the pace: the GPU is done as soon as the host has issued the work",
	Since: "0.3",
	Doc: `
Of a capture that has launches and no kernels: the last call that waits for the device comes behind the last launch and
takes next to nothing, so the GPU had kept up; and in all calls that may wait (synchronizing, blocking copies,
allocations, launches of a millisecond and more, as into a full queue) the host spends next to nothing. Then the time is
what the host needs to issue the work, whatever the kernels take. Next to nothing: 5 % of the host's time. At least ten
launches.`,
	Limits: `
How long the kernels take is not in the capture, so what a faster host would gain is unknown. A wait for one stream says
nothing of others. A profiler makes each launch slower; without it the GPU may be the limit.`,
	Fix: `
Issue the same work in fewer launches, or more work with each:

    model = torch.compile(model, mode="reduce-overhead")   # fuses, and replays a CUDA graph
    # or: a larger batch, torch.cuda.make_graphed_callables, fused kernels`,
	FixC: `Record the sequence once into a CUDA graph (cudaStreamBeginCapture) and launch that; merge small
kernels.`,
	Confirm:   `A capture with kernels shows the GPU busy most of the time.`,
	RefutedBy: `A capture with kernels shows no idle time between them.`,
	Standing:  CostsElse,
	Check:     checkHostSetsPace,
}

// minIssueShare is the share of the host's time from which fewer launches are worth the trouble.
const minIssueShare = 0.1

// fixBetweenLaunches is the fix where launches take next to nothing.
const fixBetweenLaunches = `
Launching takes next to nothing here: what the host does between the launches does. The operators and functions with
most of the host's time are in the report's tables; move such work to the GPU (device="cuda" where a tensor is made),
into loader workers, or out of the loop.`

// longLaunchNs is what a launch takes only if it waits: for room in the queue, or for a module to load.
const longLaunchNs = 1_000_000

func checkHostSetsPace(c *Case, out *Findings) {
	if !c.hostOnly() || c.Facts.NoWork() != facts.WorkLost {
		return
	}
	t, window := c.Trace, c.Facts.HostSpan() // its last launch is the capture's
	causes := c.Facts.CallCauses()
	launches := c.Facts.LaunchCalls()
	if len(launches) < minAgain {
		return
	}
	last := t.Calls.StartNs[launches[len(launches)-1]]
	var waited, staged, inLaunches int64
	final := int32(-1)
	launch := make(map[int32]bool, len(launches))
	for _, row := range launches {
		launch[row] = true
	}
	for i := range t.Calls.Len() {
		ns := t.Calls.DurNs[i]
		cause := facts.CauseName(causes[i])
		if cause == facts.CauseCopyCall && strings.Contains(c.Facts.CallName(int32(i)), "Async") {
			staged += ns // the host copies into a pinned buffer: its own work
			continue
		}
		switch cause {
		case facts.CauseSync, facts.CauseCopyCall:
			waited += ns
			if t.Calls.StartNs[i] > last {
				final = int32(i)
			}
		case facts.CauseAlloc:
			waited += ns
		default:
			if launch[int32(i)] {
				inLaunches += ns
				if ns >= longLaunchNs {
					waited += ns
				}
			}
		}
	}
	if final < 0 || float64(waited) >= minHostShare*float64(window.LenNs()) {
		return
	}
	f := out.Add(0.75, 0, "The host sets the pace: behind its last launch it waits only %s of %s for the GPU",
		ms(float64(t.Calls.DurNs[final])), ms(float64(window.LenNs())))
	n := float64(len(launches))
	f.Because(fmt.Sprintf("that wait is in %s; in all calls that may wait for the GPU the host is for %s",
		c.Facts.CallName(final), ms(float64(waited))))
	if staged > 0 {
		f.Because(fmt.Sprintf("asynchronous copies hold it for %s: they stage memory that is not pinned",
			ms(float64(staged))))
	}
	var lengths []int64
	for _, row := range launches {
		lengths = append(lengths, t.Calls.DurNs[row])
	}
	f.Because(fmt.Sprintf("%s of %s each in the median, %s in all; the rest of the host's time goes into what comes "+
		"between them", several(n, "launch", "launches"), ms(float64(medianInt(lengths))), ms(float64(inLaunches))))
	if float64(inLaunches) < minIssueShare*float64(window.LenNs()) {
		f.Fix = fixBetweenLaunches
	}
}
