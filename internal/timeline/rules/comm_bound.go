package rules

import "fmt"

var commBound = Rule{
	ID:    "comm_bound",
	Title: "Communication takes longer than computation: overlap cannot hide all of it",
	Since: "0.1",
	Needs: []Need{needWork},
	Doc: `
A GPU communicates for longer than it computes, each instant counted once, and 15 % of the step or more is
communication with no computation beside it. Then overlap alone does not help: however collectives are scheduled, the
step takes as long as they do. What is left is fewer bytes, a faster way for them, or ranks that arrive together.

Waiting for other ranks is left out where the captures of all ranks are given, and time in which collectives stall
(comm_stalled). What no computation hides is the upper
bound; how much of it goes with fewer bytes is not known before it is tried.`,
	Limits: `
One rank's capture does not separate waiting from transfer: a late rank looks like slow communication
(comm_straggler). Rates need recorded sizes, and which link connects the ranks no capture says.`,
	Fix: `
Move fewer bytes per unit of work:

    loss.backward() under model.no_sync() for all but the last micro-batch   # gradient accumulation
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)         # half the bytes of FP32
    # tensor parallel within a node only; larger batches per rank

Compare the rate with what nccl-tests reaches between the same GPUs: far below it, look for PCIe or the network
where NVLink should be (NCCL_DEBUG=INFO, nvidia-smi topo -m).`,
	FixC: `Fewer or smaller collectives per step; lower precision for what is sent; NCCL_DEBUG=INFO shows which
links NCCL uses.`,
	Confirm:   `Communication takes less time than computation, and then overlap hides it.`,
	RefutedBy: `With the captures of all ranks, most of it is waiting for a late one.`,
	Check:     checkCommBound,
}

// minBoundShare is the share of the step that is communication alone; XProf calls 15 % high.
const minBoundShare = 0.15

func checkCommBound(c *Case, out *Findings) {
	var comm, compute int64
	for _, b := range c.Budgets {
		comm, compute = comm+b.CommNs, compute+b.ComputeNs
	}
	exposed, x, held := c.exposedNs(), c.together(), c.stalledNs()
	if x != nil {
		held += c.exposedWaits(x)
	}
	comm, exposed = comm-held, exposed-held
	if c.shareOfStep(exposed) < minBoundShare || comm <= compute {
		return
	}
	sure := 0.8
	if x == nil {
		sure = 0.5 // a late rank looks the same
	}
	f := out.Add(sure, c.perStep(exposed), "Communication takes %s of %s per step, computation %s: overlap cannot "+
		"hide all of it", ms(c.perStep(comm)), ms(c.StepNs), ms(c.perStep(compute)))
	if groups := c.commGroupRows(x); len(groups) > 0 {
		f.Because("most of it, with the rate at which it passes a rank's link one way: "+groups[0]+c.linkWords(),
			groups[1:]...)
	} else {
		f.Because(fmt.Sprintf("%s; sizes are not recorded", c.commShare()), c.kernelRows(c.commRows())...)
	}
	if x == nil {
		f.Because(c.noWaits() + ": how much of it is waiting for other ranks is unknown")
	}
}
