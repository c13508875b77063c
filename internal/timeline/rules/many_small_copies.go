package rules

import (
	"fmt"

	"lacuna/internal/timeline/model"
)

var manySmallCopies = Rule{
	ID:    "many_small_copies",
	Title: "Many small copies between host and GPU",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
Dozens of small copies between host and GPU in every step. Each costs a call on the host and some microseconds on
the GPU, whatever its size; one copy of all the data would cost little more than one of them.

A copy is small if it takes the GPU at most 10 µs, about as long as its call takes the host. The rule counts such
copies to the device, and back where the host does not wait for each (that belongs to host_sync), by the time in
which the GPU did nothing else or waited for the host to issue them. Threshold: 10 copies per step and 2 % of the
step; in a capture without steps 100 copies.`,
	Limits: `
Copies within the GPU are not counted. Only the program knows whether the copies can be merged.`,
	Fix: `
Pack the data and copy it once; split it on the GPU:

    packed = torch.cat([t.flatten() for t in fields]).pin_memory()
    on_gpu = packed.to("cuda", non_blocking=True).split(sizes)

Make constants on the GPU: torch.arange(n, device="cuda"), not torch.arange(n).cuda().`,
	FixC: `
Pack the values into one pinned buffer and copy it with one cudaMemcpyAsync, or pass them as kernel arguments.`,
	Confirm:   `The number of copies per step falls, and so does the idle time before them.`,
	RefutedBy: `The step takes as long without the small copies, on old values.`,
	Check:     checkManySmallCopies,
}

// minSmallCopies is how many copies a step are many: batches have a few fields.
const minSmallCopies = 10

func checkManySmallCopies(c *Case, out *Findings) {
	waited := make(map[int32]bool) // calls of copies that the host waits for
	for _, w := range c.waits() {
		if w.purpose == waitRead {
			waited[w.call] = true
		}
	}
	sum := c.newCopySum()
	calls := make(map[int32]bool)
	for _, x := range c.copies() {
		call := c.Facts.Work().Call[x.row]
		if x.ns > shortKernelNs || x.kind != model.CopyHtoD && (x.kind != model.CopyDtoH || waited[call]) {
			continue
		}
		sum.add(c, x)
		calls[call] = true
	}
	idle := c.idleBefore(calls)
	atMost := sum.exposed.perStep() + idle.perStep()
	if !sum.n.usual() || sum.n.median() < minSmallCopies || !c.again(sum.n.perStep()/minSmallCopies) ||
		atMost < minIdleShare*c.StepNs {
		return
	}
	f := out.Add(0.7, atMost, "%s small copies per step, %s in all, cost up to %s of %s",
		number(sum.n.amount()), size(sum.bytes.amount()), ms(atMost), ms(c.StepNs))
	f.Because(fmt.Sprintf("the GPU copies for %s per step without overlap, and waits %s for the host to issue "+
		"the copies", ms(sum.exposed.perStep()), ms(idle.perStep())), sum.places.rows(4)...)
	f.Repair("pack-copies")
}

// idleBefore is the time in which a device waited for the host to issue the work of one of the given calls, in
// ordinary launching, not in other work of the host.
func (c *Case) idleBefore(calls map[int32]bool) *tally {
	t := c.newTally()
	s := c.starved()
	w := c.Facts.Work()
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			if calls[w.Call[g.After]] && g.LenNs() < longWorkNs {
				t.add(g.StartNs, float64(g.LenNs())/s.devices)
			}
		}
	}
	return t
}

// longWorkNs is from which length on a pause is no matter of launching any more: PyTorch takes 5 to 50 µs for an
// operator.
const longWorkNs = 1_000_000
