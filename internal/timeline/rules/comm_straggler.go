package rules

import (
	"cmp"
	"slices"
)

var commStraggler = Rule{
	ID:    "comm_straggler",
	Title: "One rank comes late to the collectives, the others wait for it",
	Since: "0.1",
	Needs: []Need{needWork, needSteps},
	Doc: `
The kernel of a collective runs until all ranks have come. Of a collective that several devices of the capture take part in, the
device that starts last made the others wait by as much. A device is a straggler if it is last in at least 60 % of the collectives
and makes the others wait for at least 5 % of the step.

Kernels belong to one collective if they have one name and run at one time: none of them ends before the last has begun.

Captures of one rank each (lacuna report rank0 rank1 ...) are laid side by side: collectives of one process group are matched in the order
in which they ran, and clocks are aligned by their ends, which all ranks share. A rank is a straggler if 60 % of all that ranks wait for
each other, while nothing computes, is for it, and that is 5 % of the step.`,
	Limits: `
Needs several ranks (one node in one capture, or a capture of each): one rank sees only that it waits. In one capture of several
hosts their clocks must agree to within a few microseconds. Lateness of the host shows too: it launches later.`,
	Fix: `
Give the late rank as much work as the others have, or find what slows it down (its host thread, its clock, its data):

    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    # sort by length, then deal out, so that ranks get batches of equal cost`,
	FixC:      `Balance by cost rather than by count; check clocks (nvidia-smi -q -d CLOCK) and pinning of the late rank.`,
	Confirm:   `Ranks start each collective within a few microseconds of one another.`,
	RefutedBy: `Another rank is late in another run: then it is noise of the host, not an unequal share.`,
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
		out.Cannot("the ranks cannot be laid side by side: "+c.apart(), "collectives that can be matched", "lacuna report --steps A:B with steps that all ranks ran whole, of captures of one run")
	default:
		out.Cannot("the capture holds one rank: whether a collective waits for another rank or transfers data cannot be told from it",
			"captures of the other ranks", "the captures of all ranks at once: lacuna report RANK0 RANK1 …, or nsys profile --trace=cuda,nvtx torchrun …")
	}
}

// largest is the n rows with the largest values, largest first.
func largest(rows []int32, value map[int32]int64, n int) []int32 {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(value[b], value[a]) })
	return out[:min(n, len(out))]
}
