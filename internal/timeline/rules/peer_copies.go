package rules

import (
	"fmt"

	"lacuna/internal/timeline/model"
)

var peerCopies = Rule{
	ID:    "peer_copies",
	Title: "Copies from GPU to GPU go through host memory",
	Since: "0.3",
	Needs: []Need{needWork, needCalls},
	Doc: `
One call copies data from one GPU to another, and the driver makes two copies of it: down to host memory and up from
there. It does so where the GPUs cannot reach each other's memory (GeForce cards without NVLink, GPUs under different
CPUs, containers that forbid it) or where the program has not asked for it. Both halves take the host link.

The rule counts the time of both halves in which the GPU did nothing else. Threshold: 2 % of the step, in at least half
of the steps.`,
	Limits: `
Whether the GPUs could reach each other the capture does not say: nvidia-smi topo -p2p r does. Copies that a program
stages itself, by two calls, look like other copies to and from the host.`,
	Fix: `
Ask whether the GPUs reach each other, and copy less or beside other work where they do not:

    torch.cuda.can_device_access_peer(0, 1)      # and nvidia-smi topo -p2p r
    with torch.cuda.stream(transfer):            # beside the computation
        y = x.to("cuda:1", non_blocking=True)

Keep what both GPUs need on both, and send results instead of inputs where they are smaller.`,
	FixC: `cudaDeviceCanAccessPeer, then cudaDeviceEnablePeerAccess; where it is not possible, cudaMemcpyPeerAsync on a
stream of its own, beside kernels.`,
	Confirm:   `Such copies are one piece of work each (PtoP), at the rate of the link between the GPUs.`,
	RefutedBy: `nvidia-smi topo -p2p r says that the GPUs cannot reach each other, and the copies already overlap.`,
	Check:     checkPeerCopies,
}

func checkPeerCopies(c *Case, out *Findings) {
	sum, sent := c.newCopySum(), c.newTally()
	for _, x := range c.peers() {
		sum.add(c, x)
		if x.kind == model.CopyDtoH {
			sent.add(x.startNs, float64(x.bytes))
		}
	}
	atMost := sum.exposed.perStep()
	if !sum.n.usual() || atMost < minIdleShare*c.StepNs {
		return
	}
	f := out.Add(0.9, atMost, "%s per step are copied from GPU to GPU through host memory, for %s of %s with nothing else "+
		"on the GPU", size(sent.amount()), ms(atMost), ms(c.StepNs))
	f.Because(fmt.Sprintf("the driver makes two copies of each, one down and one up: %s per step of the mean GPU",
		ms(sum.ns.perStep())), sum.places.rows(4)...)
}
