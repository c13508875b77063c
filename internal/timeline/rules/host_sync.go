package rules

import (
	"fmt"
)

var hostSync = Rule{
	ID:    "host_sync",
	Title: "The host waits for the GPU inside the step",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needSteps},
	Doc: `
A thread that launches work waits for the device in every step: a value is read back (.item(), .cpu(), print(tensor),
an "if" on a tensor, nonzero), or the program synchronises. Each wait drains the queue; when it returns the device has
nothing to do until the next launch arrives, and the host has lost the lead that hides its own time. So the idle time
shows behind the waits, as launch time, and hardly inside them.

Counted are synchronising calls and blocking copies to the host, on threads that launch work, after which the
device was idle. A synchronisation behind a copy of over 64 KiB to the device belongs to that copy
(pageable_copy), and waits for copies of over 64 KiB to the host to excess_transfer, if that is raised. The repair can save neither more than what the host gains by it (the waits, and work right behind a read of
4 KiB or more, which is work on what was read) nor more than the device waits for the host: the smaller of both must be 2 %
of the step. A host that is late anyway hardly waits, however often it synchronises, and is not accused.`,
	Limits: `
It cannot know whether the value is needed: a loop that ends by it, or a scaler that skips a step by it, must wait. Waits in
stalled steps only belong to periodic_stall. Waits that end while other work is queued cost nothing and are not counted.`,
	Fix: `
Keep the value on the device, and read it seldom or late:

    losses.append(loss.detach())              # instead of loss.item()
    if step % 100 == 0:
        print(torch.stack(losses).mean().item())
    x = torch.where(mask, x, 0.0)             # instead of: if mask.any(): ...`,
	FixC: `Copy to pinned memory with cudaMemcpyAsync, record an event, and read the value a step later, when cudaEventQuery says
that it has arrived; replace cudaDeviceSynchronize by cudaStreamWaitEvent where another stream, not the host, needs the result.`,
	Confirm:   `No synchronising call and no blocking copy to the host is left in the steps; launches run ahead of the kernels.`,
	RefutedBy: `With the reads commented out the step takes as long as before: the host needs all its time to launch (launch_bound).`,
	Check:     checkHostSync,
}

func checkHostSync(c *Case, out *Findings) {
	excess := c.excess()
	k := c.costOf(func(w wait) bool { return excess == nil || !readsData(w) })
	atMost := k.atMost()
	if !k.drained.usual() || min(atMost, k.hostNs()) < minIdleShare*c.StepNs {
		return
	}
	idle := c.starved().total
	f := out.Add(syncConfidence(k), atMost, "The host waits for the GPU %s a step, %s of %s, and the GPU then for the host",
		times(k.drained.perStep()), ms(k.waited.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("after %s of %s waits a step the device has nothing queued", number(k.drained.perStep()), number(k.count.perStep())), k.places.rows(4)...)
	f.Because(fmt.Sprintf("the device then waits for the host: %s a step in all, %.1f %% of it, and much of that shows as launch time", ms(idle.perStep()), 100*idle.share()))
	if b := k.behind.perStep(); b > minIdleShare*c.StepNs {
		f.Because(fmt.Sprintf("right behind the reads the host works %s a step while the device idles: it works on what it read", ms(b)))
	}
	f.Repair("drop-syncs")
}

// syncConfidence: several waits in a step that read values are no accident; one a step may be wanted.
func syncConfidence(k *waitCost) float64 {
	switch {
	case k.drained.median() >= 2 && k.reads > k.all/2:
		return 0.9
	case k.drained.median() >= 2:
		return 0.8
	}
	return 0.7
}

// times is how often something happens, in words.
func times(n float64) string {
	if n < 1.05 && n > 0.95 {
		return "once"
	}
	if n == float64(int(n)) {
		return fmt.Sprintf("%d times", int(n))
	}
	return fmt.Sprintf("%.1f times", n)
}
