package rules

import (
	"fmt"
	"regexp"

	"lacuna/internal/timeline/facts"
)

var hostReads = Rule{
	ID:    "host_reads",
	Title: "The host waits for values that it reads back from a device",
	Since: "0.3",
	Doc: `
Of a capture without GPU work: the share of the host's time in operators that read a value back (.item(), an "if" on a
tensor: aten::item, aten::_local_scalar_dense, aten::is_nonzero), as far as one takes more than 0.1 ms. To read a value
from the host's own memory takes about a microsecond, so a longer read waits for a device that is not in the capture.
Threshold: 5 % of the step.`,
	Limits: `
The work that is waited for has to be done all the same: the gain is what the host could do meanwhile, at most the whole
wait. Whether the value is needed at that place the capture does not show.`,
	Fix: `
Keep the value on the device, and read it rarely or later:

    losses.append(loss.detach())              # instead of loss.item()
    if step % 100 == 0:
        print(torch.stack(losses).mean().item())

Operators whose result's size depends on values read back by themselves (bincount without minlength, nonzero, a mask as
an index): give sizes, or use torch.where.`,
	FixC:      `Copy asynchronously, record an event, and read the value a step later.`,
	Confirm:   `No read of a value takes longer than some microseconds.`,
	RefutedBy: `With the reads commented out the step takes as long: what is waited for is the step itself.`,
	Check:     checkHostReads,
}

// minReadNs is what no read from the host's own memory takes.
const minReadNs = 100_000

// readOp is the operators that read a value back; each runs the one behind it.
var readOp = regexp.MustCompile(`^aten::(is_nonzero|item|_local_scalar_dense|equal)$`)

func checkHostReads(c *Case, out *Findings) {
	if !c.hostOnly() {
		return
	}
	o, all := c.Facts.OpTree(), 0
	parts := c.hostParts(func(i int) string {
		if o.Kind[i] != facts.HostOp || !readOp.MatchString(c.hostName(i)) {
			return ""
		}
		all++
		if o.DurNs[i] < minReadNs {
			return ""
		}
		if where := c.around(int32(i), readOp.MatchString); where != "" {
			return c.hostName(i) + " in " + where
		}
		return c.hostName(i)
	})
	ns, n := sumOfParts(parts), 0
	for _, p := range parts {
		n += p.n
	}
	if c.Share(ns) < minHostShare {
		return
	}
	perStep := c.hostPerStep(ns)
	f := out.Add(0.7, perStep, "The host waits %s of %s per step (%s) for values that it reads back from a device",
		ms(perStep), ms(c.StepNs), c.shareOfHost(ns))
	f.Because(fmt.Sprintf("%s of more than %s, which no read of the host's own memory takes",
		several(float64(n), "read", "reads"), ms(minReadNs)), c.partRows(parts, 4)...)
	f.Because("what is waited for is work queued before: as much of the wait as the device needs for it stays")
}
