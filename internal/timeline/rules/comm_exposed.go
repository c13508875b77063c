package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
)

var commExposed = Rule{
	ID:    "comm_exposed",
	Title: "Exposed communication: no computation overlaps it",
	Since: "0.1",
	Needs: []Need{needWork},
	Doc: `
Exposed communication is the time in which a GPU runs collective or point-to-point kernels and no other kernel. It
makes the step longer; at best computation overlaps all of it. Threshold: 5 % of the step.

Where collectives are recorded, the evidence divides it by process group and operation, with sizes and rates. Rates
are bus bandwidth as nccl-tests has it: the bytes that a rank puts in, times 2(n-1)/n for an all-reduce of n ranks,
over the time of the kernels, without waiting for others where the captures of all ranks are given.`,
	Limits: `
A collective's kernel waits for the slowest rank, and overlap does not help that (comm_straggler, comm_waiting). Stalls
(comm_stalled) are left out, and waiting too, given the captures of all ranks; one rank's capture does not separate
waiting from transfer.
Communication over copy engines counts as copies. Which work may overlap only the program knows: the last bucket of
gradients can hardly be overlapped.`,
	Fix: `
Start collectives as soon as their data is ready, in buckets:

    model = DistributedDataParallel(model, bucket_cap_mb=25,
                                    gradient_as_bucket_view=True)
    work = dist.all_reduce(t, async_op=True); ...; work.wait()      # other work in between`,
	FixC: `Enqueue ncclAllReduce on its own stream as soon as an event says that the bucket is complete; wait just
before it is used.`,
	Confirm: `Collectives overlap with backward kernels. Exposed communication falls below 5 % of the step.`,
	RefutedBy: `
Other ranks arrive at the same collective later by as much: the cause is their lateness, not the transfer.`,
	Check: checkCommExposed,
}

// minExposedShare is the share of the step from which exposed communication is worth a finding; XProf calls 3 %
// moderate and 15 % high.
const minExposedShare = 0.05

func checkCommExposed(c *Case, out *Findings) {
	ns := c.exposedNs()
	if c.shareOfStep(ns) < minExposedShare {
		return
	}
	ns -= c.stalledNs()
	x := c.together()
	if x != nil {
		ns -= c.exposedWaits(x)
	}
	if c.shareOfStep(ns) < minExposedShare {
		return // comm_straggler's, comm_waiting's or comm_stalled's
	}
	rows := c.commRows()
	f := out.Add(0.85, c.perStep(ns), "%s of %s is exposed communication: no computation overlaps it",
		ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("%s: %.1f %% of the step", c.commShare(), 100*c.shareOfStep(c.exposedNs())),
		c.kernelRows(rows)...)
	if groups := c.commGroupRows(x); len(groups) > 0 {
		f.Because("by process group and operation, with what passes a rank's link one way"+c.linkWords(), groups...)
	}
	switch {
	case x != nil && c.exposedWaits(x) > 0:
		f.Because(fmt.Sprintf("of it %s per step is waiting for other ranks, which is not counted above",
			ms(c.perStep(c.exposedWaits(x)))))
	case x == nil:
		f.Because(c.noWaits() + ": how much of it is waiting for other ranks is unknown")
	}
	f.Because("longest exposed collectives", c.exposedRows(rows)...)
	f.Repair("overlap-comm")
	if c.Steps.Engine != nil {
		f.Fix = fixServedComm
	}
}

// fixServedComm is the fix where a server's ranks add up their parts after each layer: there are no buckets.
const fixServedComm = `
With tensor parallelism each layer waits for the sum of the ranks: make the exchange shorter, or have fewer of them.

    one-shot all-reduce through peer memory, fused with the norm behind it (SGLang:
        --enable-flashinfer-allreduce-fusion; vLLM: leave custom all-reduce on)
    fewer ranks for each model and more copies of it: --tensor-parallel-size 4 --data-parallel-size 2
    two batches in turn, so that one computes while the other exchanges (SGLang: --enable-two-batch-overlap)`

// exposedRows names the communication with most time that no computation hides.
func (c *Case) exposedRows(rows []int32) []string {
	w := c.work()
	compute := make(map[uint32][]interval.Span)
	for i := range w.Len() {
		if w.Kind[i].IsCompute() {
			compute[w.Device[i]] = append(compute[w.Device[i]], interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]})
		}
	}
	sets := make(map[uint32]interval.Set)
	for d, spans := range compute {
		sets[d] = interval.Union(spans)
	}
	exposed := make(map[int32]int64)
	for _, r := range rows {
		s := interval.Span{StartNs: w.StartNs[r], EndNs: w.EndNs[r]}
		exposed[r] = s.LenNs() - sets[w.Device[r]].Clip(s).TotalNs()
	}
	var out []string
	for _, r := range largest(rows, exposed, 3) {
		out = append(out, fmt.Sprintf("GPU %d, at %s: %s of %s: %s", w.Device[r], c.startText(r),
			ms(float64(exposed[r])), ms(float64(c.durNs(r))), shortKernel(c.Facts.WorkName(int(r)))))
	}
	return out
}
