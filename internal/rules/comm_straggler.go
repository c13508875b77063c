package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/interval"
)

// CommStraggler is the ID of the rule that AcrossRanks judges by.
const CommStraggler = "comm_straggler"

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

Of captures of one rank each (lacuna report rank0 rank1 ...) no clocks are compared: ranks that run the same collectives in the same order
are laid side by side, and the one whose kernel is the shortest came last. It is a straggler if the others wait for it in 60 % of all
that ranks wait for each other.`,
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
	maxAhead          = 64   // other collectives that run at once with one, on other streams
	minMatched        = 0.8  // of the collectives of a device: at the edges of the window some are cut
)

func checkCommStraggler(c *Case, out *Findings) {
	rows := c.commRows()
	ns := c.exposedNs()
	if len(rows) == 0 || c.shareOfStep(ns) < minStragglerShare {
		return // no one waits for long, whoever is late
	}
	byDevice, devices := make(map[uint32][]int32), []uint32(nil)
	for _, r := range rows {
		d := c.work().Device[r]
		if byDevice[d] == nil {
			devices = append(devices, d)
		}
		byDevice[d] = append(byDevice[d], r)
	}
	slices.Sort(devices)
	if len(devices) < 2 {
		out.Cannot("the capture holds one rank: whether a collective waits for another rank or transfers data cannot be told from it",
			"captures of the other ranks", "profile every rank of the node: nsys profile --trace=cuda,nvtx torchrun …")
		return
	}
	groups := c.collectives(byDevice, devices)
	if float64(len(groups)) < minMatched*float64(len(byDevice[devices[0]])) {
		out.Cannot("the devices did not run the same collectives at the same time within these steps", "collectives that can be matched", "lacuna report --steps A:B with steps that all ranks ran whole")
		return
	}
	c.findStraggler(groups, devices, out)
}

// collectives matches the communication kernels of the devices: those of one collective have one name and run at one time, since
// none ends before the last has begun. Each group is in the order of devices.
func (c *Case) collectives(byDevice map[uint32][]int32, devices []uint32) [][]int32 {
	w := c.work()
	var out [][]int32
	next := make(map[uint32]int)
	for _, r := range byDevice[devices[0]] {
		group := []int32{r}
		for _, d := range devices[1:] {
			rows := byDevice[d]
			for next[d] < len(rows) && w.EndNs[rows[next[d]]] <= w.StartNs[r] {
				next[d]++
			}
			k := next[d]
			for k < len(rows) && k < next[d]+maxAhead && w.StartNs[rows[k]] < w.EndNs[r] && c.kernelName(rows[k]) != c.kernelName(r) {
				k++
			}
			if k == len(rows) || k == next[d]+maxAhead || w.StartNs[rows[k]] >= w.EndNs[r] {
				break
			}
			group = append(group, rows[k])
		}
		if len(group) == len(devices) {
			out = append(out, group)
			for i, d := range devices[1:] {
				for byDevice[d][next[d]] != group[i+1] {
					next[d]++
				}
				next[d]++
			}
		}
	}
	return out
}

func (c *Case) findStraggler(groups [][]int32, devices []uint32, out *Findings) {
	w, n := c.work(), len(groups)
	last, waited := make(map[uint32]int), make(map[uint32]int64) // by the device that was last: the mean wait of the others
	for _, group := range groups {
		late := 0
		for i := range group {
			if w.StartNs[group[i]] > w.StartNs[group[late]] {
				late = i
			}
		}
		var sum int64
		for _, r := range group {
			sum += interval.Span{StartNs: w.StartNs[r], EndNs: min(w.StartNs[group[late]], w.EndNs[r])}.LenNs()
		}
		last[devices[late]]++
		waited[devices[late]] += sum / int64(len(devices)-1)
	}
	worst := slices.MaxFunc(devices, func(a, b uint32) int { return cmp.Or(cmp.Compare(waited[a], waited[b]), cmp.Compare(b, a)) })
	perStep := float64(waited[worst]) * c.PerStep
	if n < minCollectives || float64(last[worst]) < minLast*float64(n) || perStep < minStragglerShare*c.StepNs {
		return
	}
	f := out.Add(0.85, perStep, "Device %d comes late to %d of %d collectives: the others wait %s of %s for it", worst, last[worst], n, ms(perStep), ms(c.StepNs))
	var rows []string
	for _, d := range devices {
		rows = append(rows, fmt.Sprintf("device %d: last in %d of %d, the others waited %s a step for it", d, last[d], n, ms(float64(waited[d])*c.PerStep)))
	}
	f.Because("by how much each device was the last to start a collective", rows...)
	f.Repair("balance-ranks")
}

// largest is the n rows with the largest values, largest first.
func largest(rows []int32, value map[int32]int64, n int) []int32 {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(value[b], value[a]) })
	return out[:min(n, len(out))]
}
