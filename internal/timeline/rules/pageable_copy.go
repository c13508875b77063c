package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var pageableCopy = Rule{
	ID:    "pageable_copy",
	Title: "Host-to-device copies use pageable memory",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needMemKinds},
	Doc: `
Data is copied to the GPU from ordinary, pageable memory in every step. The driver must stage it through a pinned
buffer: such a copy is several times slower than one from pinned memory, its call blocks the host, and it cannot
overlap with kernels, whatever "async" or non_blocking says.

The rule counts copies of over 64 KiB to the GPU (smaller ones are staged without a wait): the time in which the GPU
did nothing else, plus the time in which it waited for the host inside their calls. Together they must be 2 % of the
step.`,
	Limits: `
Copies back to the host belong to host_sync and excess_transfer, copies in stalled steps only to periodic_stall.
Without recorded memory kinds (pinned, pageable) the rule cannot judge.`,
	Fix: `
Pin the batches, and copy asynchronously:

    loader = DataLoader(dataset, batch_size=64, pin_memory=True)
    x = x.to("cuda", non_blocking=True)

Better still, copy the next batch on a stream of its own while this one is computed.`,
	FixC: `Allocate the buffers once with cudaHostAlloc (or cudaHostRegister what there is) and copy with
cudaMemcpyAsync on a stream for copies.`,
	Confirm:   `The copies are "HtoD pinned -> device", run at link speed, and their calls return in microseconds.`,
	RefutedBy: `The copies take as long from pinned memory: the link is the limit; see excess_transfer.`,
	Check:     checkPageableCopy,
}

func checkPageableCopy(c *Case, out *Findings) {
	sum := c.newCopySum()
	calls := make(map[int32]bool)
	for _, x := range c.copies() {
		if x.kind != model.CopyHtoD || x.pinned || x.bytes <= smallBytes {
			continue
		}
		sum.add(c, x)
		if call := c.Facts.Work().Call[x.row]; call != facts.NoCall {
			calls[call] = true
		}
	}
	blocked := c.idleEndedBy(calls)
	atMost := sum.exposed.perStep() + blocked.perStep()
	if !sum.n.usual() || atMost < minIdleShare*c.StepNs {
		return
	}
	f := out.Add(0.9, atMost, "%s per step are copied from pageable memory at %.1f GB/s: %s of %s with nothing "+
		"else on the GPU",
		size(sum.bytes.amount()), sum.bytes.perStep()/c.deviceCount()/max(1, sum.ns.perStep()),
		ms(sum.exposed.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("%s of over 64 KiB per step from pageable memory",
		several(sum.n.amount(), "copy", "copies")), sum.places.rows(4)...)
	if b := blocked.perStep(); b > 0 {
		f.Because(fmt.Sprintf("the GPU waits %s per step while the host stages them", ms(b)))
	}
	f.Repair("pin")
}

// idleEndedBy is the time in which a device waited for the host to make one of the given calls, while the host was in
// it.
func (c *Case) idleEndedBy(calls map[int32]bool) *tally {
	t := c.newTally()
	s := c.starved()
	w := c.Facts.Work()
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			if call := w.Call[g.After]; calls[call] {
				inside := min(g.EndNs, c.Trace.Calls.EndNs(int(call))) - max(g.StartNs, c.Trace.Calls.StartNs[call])
				t.add(g.StartNs, float64(max(0, inside))/s.devices)
			}
		}
	}
	return t
}
