package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
)

var commSharesGPU = Rule{
	ID:       "comm_shares_gpu",
	Title:    "Communication overlaps with computation and takes SMs from it",
	Since:    "0.1",
	Needs:    []Need{needWork},
	Standing: CostsElse,
	Doc: `
Kernels that communicate occupy SMs while they wait and transfer: what overlaps with them has fewer. It is worth
knowing if communication overlaps with computation for a quarter of the step or more, and its kernels then occupy at
least 5 % of the SMs in the mean. Each block of such a kernel is counted as one SM, as NCCL's channels and the
blocks of DeepEP are made.

How much the computation is slowed by it a capture does not say: kernels with few blocks lose nothing, kernels that
fill the GPU lose about the share of SMs, and memory bandwidth and caches are shared, too. So there is no gain in ms.`,
	Limits: `
Blocks of two kernels can share an SM, and then it is less. A kernel of the same name takes longer beside
communication also because it does more work there, so that kernels are not compared.`,
	Fix: `
Take the SMs that the link needs and no more, and measure the step each time:

    deep_ep.Buffer.set_num_sms(20)             # DeepEP: 24, 20, 16 ...
    os.environ["NCCL_MAX_CTAS"] = "8"          # NCCL: before the communicator is made
    # exchange without SMs: DeepEP's low-latency kernels with return_recv_hook=True`,
	FixC: `Set maxCTAs of ncclConfig_t for the communicator, or use copy engines (cudaMemcpyPeerAsync) where ranks
share a node.`,
	Confirm:   `The step is shorter, and exposed communication has not grown by as much.`,
	RefutedBy: `The step takes as long with half of the SMs for communication.`,
	Check:     checkCommSharesGPU,
}

const (
	minOverlapShare = 0.25 // of the step
	minSMShare      = 0.05 // of the SMs: what less costs is lost in the noise of steps
)

func checkCommSharesGPU(c *Case, out *Findings) {
	rows := c.commRows()
	var hidden int64
	for _, b := range c.Budgets {
		hidden += b.CommNs - b.CommExposedNs
	}
	if c.shareOfStep(hidden) < minOverlapShare {
		return
	}
	sms := c.sms()
	switch {
	case !needGrids.Has(c.Facts):
		out.Cannot("the grids of kernels are not recorded: what communication takes from computation is unknown",
			needGrids.Name, needGrids.Try)
		return
	case sms == 0:
		out.Cannot("the number of SMs of the GPU is not recorded: what communication takes from computation is unknown",
			"the GPU's name or its number of SMs", "nsys profile, or torch.profiler, which both record it")
		return
	}
	taken, most := c.smTime(rows, sms)
	share := taken / float64(max(1, hidden)) / float64(sms)
	if share < minSMShare {
		return
	}
	f := out.Add(0.8, 0, "Communication overlaps with computation for %s of %s per step and occupies up to %d of %d SMs",
		ms(c.perStep(hidden)), ms(c.StepNs), most, sms)
	f.Because(fmt.Sprintf("while both run, communication occupies %.0f %% of the SMs in the mean: computation that "+
		"could fill the GPU has that much less of it", 100*share), c.kernelRows(rows)...)
	f.Because("how much slower the computation is for it the capture does not say; the same step with fewer SMs for " +
		"communication does")
}

// smTime is for how long SMs were occupied by communication that overlaps with computation, in SM nanoseconds, and
// how many SMs one of its kernels had at most.
func (c *Case) smTime(rows []int32, sms int64) (taken float64, most int64) {
	w, compute := c.work(), make(map[uint32]interval.Set)
	for _, r := range rows {
		d := w.Device[r]
		if _, known := compute[d]; !known {
			compute[d] = c.computeTime(d)
		}
		grid, _ := c.blocks(r)
		beside := compute[d].Clip(interval.Span{StartNs: w.StartNs[r], EndNs: w.EndNs[r]}).TotalNs()
		if grid > 0 && beside > 0 {
			taken += float64(min(grid, sms)) * float64(beside)
			most = max(most, min(grid, sms))
		}
	}
	return taken, most
}

// sms is how many SMs the devices that did work have; 0: it is not known, or they differ.
func (c *Case) sms() int64 {
	n := int64(0)
	if p, ok := c.peak(); ok {
		n = int64(p.SMs)
	}
	used := c.Facts.Devices()
	for _, d := range c.Trace.Devices {
		if !slices.Contains(used, d.Ordinal) || d.SMs <= 0 {
			continue
		}
		if n > 0 && n != int64(d.SMs) {
			return 0
		}
		n = int64(d.SMs)
	}
	return n
}
