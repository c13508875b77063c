package rules

import (
	"cmp"
	"slices"
)

var commStraggler = Rule{
	ID:    "comm_straggler",
	Title: "Straggler: one rank is late to the collectives and the others wait",
	Since: "0.1",
	Needs: []Need{needWork, needSteps},
	Doc: `
The kernel of a collective runs until all ranks have arrived: the GPU that starts last makes the others wait. A GPU
is a straggler if it is last in at least 60 % of the collectives and makes the others wait for at least 5 % of the
step.

Kernels belong to the same collective if they have the same name and overlap: none of them ends before the last has
begun.

Captures of one rank each (lacuna report rank0 rank1 ...) are compared: collectives of one process group are matched
in the order in which they ran, and clocks are aligned by their ends, which all ranks share. A rank is a straggler
if the others wait for it in 60 % of all waiting between ranks without computation, and that is 5 % of the step.`,
	Limits: `
Needs several ranks (one node in one capture, or one capture per rank): one rank sees only that it waits. In one
capture of several hosts the clocks must agree to within a few microseconds. A late host shows as well: it launches
later.`,
	Fix: `
Balance the work between ranks, or find what slows the late rank down (its host thread, its clock, its data):

    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    # sort by length, then distribute, so that ranks get batches of equal cost`,
	FixC: `
Balance by cost rather than by count; check clocks (nvidia-smi -q -d CLOCK) and pinning of the late rank.`,
	Confirm:   `Ranks start each collective within a few microseconds of one another.`,
	RefutedBy: `Another rank is late in another run: the cause is noise on the host, not load imbalance.`,
	Check:     checkCommStraggler,
}

const (
	minLast           = 0.6  // of the collectives, in which a straggler is last; by chance each of two ranks is in half
	minStragglerShare = 0.05 // of the step; less is what ranks differ by anyway
	minCollectives    = 4    // in the window; fewer are no pattern
	minMatched        = 0.8  // of the collectives of a device: at the edges of a capture some are cut
)

func checkCommStraggler(c *Case, out *Findings) {
	if len(c.commRows()) == 0 || c.shareOfStep(c.exposedNs()) < minStragglerShare && c.Ranks == nil {
		return // no one waits for long, whoever is late
	}
	x := c.together()
	switch {
	case x != nil:
		c.findLate(x, out)
	case c.apart() != "":
		out.Cannot("the ranks cannot be compared: "+c.apart(), "collectives that can be matched",
			"lacuna report --steps A:B with steps that all ranks ran completely, and captures of the same run")
	default:
		out.Cannot("the capture holds one rank: it does not show whether a collective waits for another rank or "+
			"transfers data",
			"captures of the other ranks", "the captures of all ranks at once: lacuna report RANK0 RANK1 …, or "+
				"nsys profile --trace=cuda,nvtx torchrun …")
	}
}

// largest is the n rows with the largest values, largest first.
func largest(rows []int32, value map[int32]int64, n int) []int32 {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(value[b], value[a]) })
	return out[:min(n, len(out))]
}
