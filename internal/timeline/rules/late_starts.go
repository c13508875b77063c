package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var lateStarts = Rule{
	ID:    "late_starts",
	Title: "Work that is launched starts late: the GPU is idle although it has work",
	Since: "0.3",
	Needs: []Need{needWork, needCalls},
	Doc: `
The call that launched a kernel or copy had returned, all work before it was done, and yet it started 50 µs later or
more: the GPU was idle with work in its queue. The host is not the reason. Another process or the display may have the GPU in
turns of about a millisecond or two, Windows may hold launches back to submit them in batches (WDDM), a GPU that slept
may be waking up, or the work waits for an event that another device or a host function sets. The capture shows none of
these. Gaps in which launched work may have run that was not recorded do not count.

Threshold: 10 % of the step.`,
	Limits: `
Clocks of host and GPU that disagree look the same, if the GPU's is behind. A wait for an event of another device that
is part of the program is named in the evidence where stream waits are recorded, and is as it should be.`,
	Fix: `
See who else uses the GPU, and measure while nobody does:

    nvidia-smi                       # other processes? is a display connected?
    nvidia-smi -q -d COMPUTE,PERFORMANCE

On Windows, cudaStreamQuery(stream) behind the last launch has it submitted; WSL and TCC mode submit differently.`,
	Confirm:   `On a GPU of its own the same work starts within some microseconds.`,
	RefutedBy: `The late work waits for another device of the same program.`,
	Check:     checkLateStarts,
}

// minLateShare is the share of the step; 10 % is what other rules ask of idle time that no call explains.
const minLateShare = 0.1

func checkLateStarts(c *Case, out *Findings) {
	late := c.newTally()
	var longest []facts.IdleGap
	for _, gaps := range c.Gaps {
		for _, g := range gaps {
			if part := c.Facts.LateStart(g); part.LenNs() > 0 {
				late.add(part.StartNs, float64(part.LenNs())/c.deviceCount())
				g.Span = part
				longest = append(longest, g)
			}
		}
	}
	if !late.usual() || late.share() < minLateShare {
		return
	}
	f := out.Add(0.6, late.perStep(), "The GPU is idle for %s of %s per step although work is launched and waits",
		ms(late.perStep()), ms(c.StepNs))
	var rows []string
	w := c.work()
	for _, g := range facts.LongestGaps(longest, 3) {
		launched := c.Trace.Calls.EndNs(int(w.Call[g.After]))
		rows = append(rows, fmt.Sprintf("%s started %s behind its launch, %s of that with the GPU idle",
			shortKernel(c.Facts.WorkName(int(g.After))), ms(float64(w.StartNs[g.After]-launched)),
			ms(float64(g.LenNs()))))
	}
	f.Because(fmt.Sprintf("in %s the GPU was idle for 50 µs or more with the next work in its queue",
		several(float64(len(longest)), "gap", "gaps")), rows...)
	if len(c.Budgets) > 1 {
		f.Because("the program uses several GPUs: some of it may wait for another one")
	}
}
