package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var commManySmall = Rule{
	ID:    "comm_many_small",
	Title: "Many small collectives: latency dominates",
	Since: "0.1",
	Needs: []Need{needWork, needSteps},
	Doc: `
A collective takes some tens of microseconds however little it moves, because ranks must synchronize. Small are
collectives of under 1 MB where the size is recorded, else those of under 60 µs, counted from the arrival of the
last rank if the captures of all ranks are given. They can be merged only if they follow one another with no
computation between: tensor parallelism has one after each layer, and each needs the layer before it. They are worth
merging from 8 per step on, if at least half of all collectives are small and these take 3 % of the step or more, without
the time in which they wait for other ranks or overlap with computation.

The fix saves at most the time of all small collectives per step but one.`,
	Limits: `
One rank's capture does not separate waiting for others from latency. Small collectives that depend on one another
(each needs the result of the one before) cannot be merged. The time counted is never more than the exposed
communication.`,
	Fix: `
Merge tensors before they are sent:

    flat = torch.cat([g.flatten() for g in grads]); dist.all_reduce(flat)
    with dist._coalescing_manager(): ...                             # or one call for many
    DistributedDataParallel(model, bucket_cap_mb=25)                 # larger buckets`,
	FixC:      `ncclGroupStart and ncclGroupEnd around the calls, or one buffer that holds all tensors.`,
	Confirm:   `A few collectives per step remain, each over 1 MB.`,
	RefutedBy: `The same bytes in one call take as long: the limit is bandwidth or waiting.`,
	Check:     checkCommManySmall,
}

const (
	smallCommBytes = 1 << 20 // at 100 GB/s within a node 1 MB is 10 µs: less than a collective's latency of 20 to 40 µs
	smallCommNs    = 60_000  // twice that latency
	minSmallComms  = 8       // a step
)

func checkCommManySmall(c *Case, out *Findings) {
	rows, inRow := c.commRows(), c.commInRow()
	var small []int32 // and next to another
	sized, all := 0, 0
	for _, r := range rows {
		bytes := c.commBytes(r)
		if bytes >= smallCommBytes || bytes == 0 && c.transferNs(r) >= smallCommNs {
			continue
		}
		if all++; !inRow[r] {
			continue
		}
		if small = append(small, r); bytes > 0 {
			sized++
		}
	}
	perStep := float64(len(small)) * c.PerStep / c.deviceCount()
	if perStep < minSmallComms || 2*all < len(rows) {
		return
	}
	ns := c.exposedOf(small)
	if x := c.together(); x != nil {
		for _, r := range small { // their waiting is no latency
			ns -= x.own[r]
		}
	}
	if c.shareOfStep(ns) < minWorkShare {
		return
	}
	word, what := "small", "%d of %d collectives are small, under 1 MB, and follow one another"
	switch {
	case sized == 0:
		word, what = "short", "%d of %d collectives take under 60 µs and follow one another; their size is not recorded"
	case sized < len(small):
		what = "%d of %d collectives are small, under 1 MB or under 60 µs where the size is not recorded, and follow one " +
			"another"
	}
	f := out.Add(0.7, c.perStep(ns)*(1-1/perStep), "%s %s collectives per step take %s of %s", number(perStep), word,
		ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf(what, len(small), len(rows)), c.kernelRows(small)...)
}

// commInRow is the collectives of the window next to another one: nothing was computed between the two.
func (c *Case) commInRow() map[int32]bool {
	w, window := c.work(), c.Steps.Window()
	last := make(map[uint32]int32) // by device: the collective before, if nothing was computed since
	out := make(map[int32]bool)
	for i := range int32(w.Len()) {
		if !window.Contains(w.StartNs[i]) {
			continue
		}
		switch device := w.Device[i]; {
		case w.Kind[i].IsCompute():
			delete(last, device)
		case w.Kind[i] == facts.WorkComm:
			if before, follows := last[device]; follows {
				out[before], out[i] = true, true
			}
			last[device] = i
		}
	}
	return out
}
