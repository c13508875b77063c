package rules

import (
	"fmt"
)

var hostSync = Rule{
	ID:    "host_sync",
	Title: "The host synchronizes with the GPU inside the step",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
A thread that launches work waits for the GPU in every step: a value is read back (.item(), .cpu(), print(tensor),
an "if" on a tensor, nonzero), or the program synchronizes. Each wait drains the queue. When it returns, the GPU is
idle until the next launch arrives, and the host has lost its lead. So the idle time appears after the waits, as
launch time, and hardly inside them.

The rule counts synchronizing calls and blocking copies to the host, on threads that launch work, after which the
GPU was idle. A synchronization after a copy of over 64 KiB to the GPU belongs to that copy (pageable_copy); waits
for copies of over 64 KiB to the host belong to excess_transfer, if that is reported (in a capture without steps they
are never counted: they may be the program's results). The fix saves at most what the host gains by it (the waits, what
it does to make them, and the work right after a read of 4 KiB or more), and at most what the GPU waits for the host
behind these waits: the smaller of the two must be 2 % of the step. Copies of values go with their waits; copies of data
must be made anyway. In a capture without steps each wait is taken by itself, with the idle time until the next one:
nothing says that the host would run ahead from one to the next. Where the waits alone are less than that, replay decides: the finding
is listed if its fix gains 2 % of the step. A host that is late anyway gains nothing, however often it synchronizes. In
a capture without steps there must be ten such waits. The wait of a serving engine for the tokens of a decode step
belongs to decode_host_gap, if that is reported.`,
	Limits: `
The rule cannot know whether the value is needed: a loop that ends by it, or a gradient scaler that skips a step by
it, must wait. Waits in stalled steps only belong to periodic_stall. Waits that end while other work is queued cost
nothing and are not counted.`,
	Fix: `
Keep the value on the GPU, and read it rarely or later:

    losses.append(loss.detach())              # instead of loss.item()
    if step % 100 == 0:
        print(torch.stack(losses).mean().item())
    x = torch.where(mask, x, 0.0)             # instead of: if mask.any(): ...`,
	FixC: `Copy to pinned memory with cudaMemcpyAsync, record an event, and read the value a step later, when
cudaEventQuery says that it has arrived; replace cudaDeviceSynchronize by cudaStreamWaitEvent where another stream,
not the host, needs the result.`,
	Confirm: `
No synchronizing call and no blocking copy to the host is left in the steps. Launches run ahead of the kernels.`,
	RefutedBy: `With the reads commented out the step takes as long as before: the host needs its whole time to launch
(launch_bound).`,
	Check: checkHostSync,
}

func checkHostSync(c *Case, out *Findings) {
	if g := c.hostGap(); g.isLong(c) && g.waitsForTokens() {
		return // decode_host_gap has it
	}
	values := c.wholeCapture() || c.excess() != nil // what copies data back is not counted
	k := c.costOf(func(w wait) bool { return !values || !readsData(w) })
	atMost := k.atMost()
	if !k.drained.usual() || !c.again(k.drained.perStep()) ||
		min(atMost, k.hostNs()+k.lead.perStep()) < minIdleShare*c.StepNs {
		return
	}
	idle := k.idle
	f := out.Add(syncConfidence(k), atMost, "The host synchronizes with the GPU %s per step%s (%s of %s); then the "+
		"GPU waits %s",
		times(k.drained.amount()), c.onAllGPUs(), ms(k.waited.perStep()/c.deviceCount()), ms(c.StepNs),
		idle.forWhat())
	f.Because(fmt.Sprintf("after %s of %s waits per step the GPU has nothing queued", number(k.drained.amount()),
		number(k.count.amount())), k.places.rows(4)...)
	f.Because(fmt.Sprintf("behind these waits the GPU waits for the host: %s per step in all (%.1f %% of the step)%s",
		ms(idle.total.perStep()), 100*idle.total.share(), idle.shows()))
	if b := k.behind.perStep(); b > minIdleShare*c.StepNs {
		f.Because(fmt.Sprintf("right after the reads the host works %s per step while the GPU is idle: it works on "+
			"what it read", ms(b)))
	}
	f.Fix = c.syncFix(k)
	c.memo.syncs = k
	f.Faint = k.hostNs() < minIdleShare*c.StepNs
	f.Repair("drop-syncs")
}

// claimedBySyncs is how much of the host's own work host_sync speaks of. Where that work is most of what the GPU waits
// for behind the waits, it would be there without them: host_bound names it, but for what works on values that were
// read.
func (c *Case) claimedBySyncs(out *Findings) float64 {
	if k := c.memo.syncs; k != nil && k.idle.mostlyWork() && len(out.Of(&hostSync)) > 0 {
		return k.behind.perStep()
	}
	return c.claimed(out, &hostSync)
}

// syncFix is the fix of the kind that most of the waits are; "": the rule's, that of values that are read.
func (c *Case) syncFix(k *waitCost) string {
	switch torch := c.Facts.UsesPyTorch(); {
	case 2*k.reads > k.all:
		return ""
	case 2*k.byDevice > k.all && torch:
		return fixDeviceSyncTorch
	case 2*k.byDevice > k.all:
		return fixDeviceSync
	case !torch:
		return fixStreamSync
	}
	return ""
}

// Fixes of waits that read nothing, by what they wait for.
const (
	fixDeviceSyncTorch = `
Leave the synchronization out: torch.cuda.synchronize(), or cudaDeviceSynchronize in a library. PyTorch orders work on
the GPU by itself. Where it is there to measure time, judge the program without it, and measure with events, which the
host reads behind the loop:

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(); step(); end.record()       # no wait; start.elapsed_time(end) after the last step`
	fixDeviceSync = `
Leave cudaDeviceSynchronize out of the loop: work on one stream is in order without it, and cudaStreamWaitEvent lets
another stream wait on the GPU. Where it is there to measure time, judge the program without it, and measure with
cudaEventRecord and, behind the loop, cudaEventElapsedTime.`
	fixStreamSync = `
Wait only where the host itself needs the result, and as late as that: cudaStreamWaitEvent where another stream needs
it, cudaEventQuery where the host can do something else until then. Where the next step needs nothing of this one on the
host, issue it before the wait.`
)

// forWhat is what the GPU waits for behind the waits, in words.
func (b *idleBehind) forWhat() string {
	switch {
	case b.mostlyWork():
		return "for work of the host"
	case b.mostlyLaunch():
		return "for launches"
	}
	return "for the host"
}

// shows says what most of the idle time is in a budget by what the host does.
func (b *idleBehind) shows() string {
	switch {
	case b.mostlyWork():
		return fmt.Sprintf("; for %s of it the host works, which it could do while the GPU computes",
			ms(b.work.perStep()))
	case b.mostlyLaunch():
		return ", much of which shows as launch time"
	}
	return ""
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

// onAllGPUs says of counts that they are of several devices together, and of times that they are of one in the mean.
func (c *Case) onAllGPUs() string {
	if n := c.deviceCount(); n > 1 {
		return fmt.Sprintf(", on %g GPUs together", n)
	}
	return ""
}
