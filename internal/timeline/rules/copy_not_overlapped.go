package rules

import (
	"fmt"

	"lacuna/internal/timeline/model"
)

var copyNotOverlapped = Rule{
	ID:    "copy_not_overlapped",
	Title: "Host-to-device copies do not overlap with kernels",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needMemKinds},
	Doc: `
Data is copied to the GPU from pinned memory. A copy engine could do that while kernels run, but the GPU computes
nothing meanwhile: the copies are on the kernels' stream, or kernels that do not need the data yet wait for it.

The rule counts copies of over 64 KiB from pinned memory, by the time in which the GPU neither computes nor
communicates. Overlap needs as much computation, so the saving is at most the smaller of the two; it must be 2 % of
the step. In a capture without steps such copies and kernels must take turns three times: there is nothing to overlap a
single upload with. Copies on a stream of their own that overlap with kernels for half of their time are overlapped already.`,
	Limits: `
A batch that depends on the previous step cannot be copied ahead. Copies that share memory bandwidth with kernels slow
them a little. Copies of pageable memory are pageable_copy's.`,
	Fix: `
Copy the next batch on a stream of its own while this one is computed:

    copier = torch.cuda.Stream()
    with torch.cuda.stream(copier):
        following = batch.to("cuda", non_blocking=True)
    ...                                        # forward, backward of the current batch
    torch.cuda.current_stream().wait_stream(copier)
    following.record_stream(torch.cuda.current_stream())`,
	FixC: `Use two buffers and two streams: cudaMemcpyAsync into one on the copy stream while kernels read the
other; cudaStreamWaitEvent between them.`,
	Confirm:   `The copies overlap with kernels: exposed copy time falls below 2 % of the step.`,
	RefutedBy: `The step does not get shorter when the same batch on the GPU is used in every step, without a copy.`,
	Check:     checkCopyNotOverlapped,
}

// mostlyHidden is the share of the copies' time beside kernels from which copies on a stream of their own are
// overlapped already: what is left is the start and end of the capture, or a link that is slower than the kernels.
const mostlyHidden = 0.5

func checkCopyNotOverlapped(c *Case, out *Findings) {
	sum, inLine, starts := c.newCopySum(), c.newTally(), []int64{}
	for _, x := range c.copies() {
		if x.kind != model.CopyHtoD || !x.pinned || !x.known || x.bytes <= smallBytes {
			continue
		}
		sum.add(c, x)
		starts = append(starts, x.startNs)
		if x.inLine {
			inLine.add(x.startNs, float64(x.exposed)/c.deviceCount())
		}
	}
	var computeNs int64
	for _, b := range c.Budgets {
		computeNs += b.ComputeNs
	}
	atMost := min(sum.exposed.perStep(), float64(computeNs)*c.PerStep/c.deviceCount())
	if !sum.n.usual() || atMost < minIdleShare*c.StepNs || c.wholeCapture() && c.rounds(starts) < minSeen {
		return
	}
	hidden := 1 - sum.exposed.perStep()/max(1, sum.ns.perStep())
	aside := 2*inLine.perStep() <= sum.exposed.perStep()
	if aside && hidden > mostlyHidden {
		return // they run ahead, but there is more to copy than to compute at times
	}
	confidence, how := 0.6, "they have a stream of their own, but no kernel runs at the same time"
	if !aside {
		confidence, how = 0.85, "they are queued on the same stream as kernels"
	}
	f := out.Add(confidence, atMost, "%s per step are copied to the GPU with no overlap: %s of %s without computation",
		size(sum.bytes.amount()), ms(sum.exposed.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("%.0f %% of the time of copies from pinned memory is not overlapped with kernels; %s",
		100*(1-hidden), how), sum.places.rows(4)...)
	f.Repair("overlap-copies")
}

// rounds is how often a kernel begins between one copy and the next, and behind the last: how often copies and
// kernels take turns. starts is when copies begin, in order.
func (c *Case) rounds(starts []int64) int {
	w, n, next := c.Facts.Work(), 0, 0
	for i := range w.Len() {
		if !w.Kind[i].IsCompute() {
			continue
		}
		before := next
		for next < len(starts) && starts[next] <= w.StartNs[i] {
			next++
		}
		if next > before {
			n++
		}
	}
	return n
}
