package rules

import (
	"fmt"
	"slices"
)

var commWaiting = Rule{
	ID:    "comm_waiting",
	Title: "Ranks wait for each other, now for one and now for another",
	Since: "0.2",
	Needs: []Need{needWork, needSteps},
	Doc: `
The kernel of a collective runs until all ranks have arrived. Here ranks wait for each other for at least 5 % of the
step without computing, in the mean over ranks, and no rank is late in 60 % of that: else it is comm_straggler's.
Ranks that launch kernel by kernel do so, since each host has pauses of its own, and so do uneven batches. All of the
waiting would go if ranks arrived together; how much a fix brings is not known before it is tried.

Lateness is measured as in comm_straggler, from the captures of all ranks.`,
	Limits: `
Needs several ranks. A profiler slows each host by other amounts: some of the waiting may be its own.`,
	Fix: `
Take from the hosts what makes them late, on all ranks alike:

    torch.compile(model, mode="reduce-overhead")   # CUDA graphs: one launch instead of hundreds
    gc.disable()                                   # and gc.collect() on all ranks at the same step
    # the same number of tokens on each rank; logging, checkpoints and garbage collection at the same steps`,
	FixC: `CUDA graphs, so that hosts have less to launch; the same work on each rank; the thread that launches pinned to
cores of its GPU's NUMA node.`,
	Confirm:   `Ranks start each collective within a few microseconds of one another.`,
	RefutedBy: `Without the profiler, collectives take no longer than nccl-tests says for their size.`,
	Check:     checkCommWaiting,
}

func checkCommWaiting(c *Case, out *Findings) {
	x := c.together()
	if x == nil || x.met < minCollectives {
		return // comm_straggler says why nothing can be said
	}
	by, sum := make([]float64, len(x.names)), 0.0
	total := 0.0
	for p := range x.names {
		by[p] = x.ofRank(p)
		total += by[p]
		sum += x.waiting(p)
	}
	mean := sum / float64(len(x.names))
	if mean < minStragglerShare*c.StepNs || slices.Max(by) >= minLast*total {
		return
	}
	f := out.Add(0.8, mean, "Ranks wait for each other %s of %s in the mean, now for one and now for another",
		ms(mean), ms(c.StepNs))
	var rows []string
	for _, p := range byValue(by)[:min(8, len(by))] {
		rows = append(rows, fmt.Sprintf("%s: waits %s per step; last in %d of %d, the others waited %s for it",
			x.names[p], ms(x.waiting(p)), x.last[p], x.met, ms(by[p])))
	}
	f.Because("this is not transfer: the kernels of collectives run, but one rank has not come. Clocks are aligned by the "+
		"ends of collectives; waiting that overlaps with computation is not counted", rows...)
}
