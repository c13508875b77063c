package rules

import "fmt"

var commManySmall = Rule{
	ID:    "comm_many_small",
	Title: "Many small collectives: latency dominates",
	Since: "0.1",
	Needs: []Need{needWork, needSteps},
	Doc: `
A collective takes some tens of microseconds however little it moves, because ranks must synchronize. Small are
collectives of under 1 MB where the size is recorded, else those of under 60 µs, counted from the arrival of the
last rank if the captures of all ranks are given. They are worth merging from 8 per step on, if at least half of all
collectives are small and take 3 % of the step or more.

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
	rows := c.commRows()
	var small []int32
	for _, r := range rows {
		if bytes := c.commBytes(r); bytes > 0 && bytes < smallCommBytes || bytes == 0 && c.transferNs(r) < smallCommNs {
			small = append(small, r)
		}
	}
	perStep := float64(len(small)) * c.PerStep / c.deviceCount()
	if perStep < minSmallComms || 2*len(small) < len(rows) {
		return
	}
	ns := min(c.unionNs(small), c.exposedNs())
	if c.shareOfStep(ns) < minWorkShare {
		return
	}
	f := out.Add(0.7, c.perStep(ns)*(1-1/perStep), "%s small collectives per step take %s of %s", number(perStep),
		ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("%d of %d collectives are small: under 1 MB, or under 60 µs where the size is not recorded",
		len(small), len(rows)), c.kernelRows(small)...)
}
