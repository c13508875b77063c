package rules

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

var hostOptimizer = Rule{
	ID:    "host_optimizer",
	Title: "The optimizer updates parameters one by one, on the host's time",
	Since: "0.3",
	Doc: `
Of a capture without GPU work: the share of the host's time in the optimizer's step (the range that PyTorch puts around
it, or one that names the update), with all that runs inside it, where the same pointwise operator is called at least 8
times in a step: once for each parameter. Optimizers with foreach or fused call a few operators over lists. An operator
that alone takes a tenth of the step and ten times what its like take is a first use or a wait, and not counted.
Threshold: 5 % of the step.`,
	Limits: `
On a CPU most of the time may be the arithmetic: then fused=True saves passes over memory, and foreach saves little.
Optimizers of other libraries may have neither.`,
	Fix: `
Use the fused implementation, or the foreach one (foreach gains on GPUs only):

    opt = torch.optim.AdamW(model.parameters(), lr, fused=True)      # or foreach=True

An optimizer written by hand calls torch._foreach_mul_, torch._foreach_addcdiv_ and so on over lists of tensors.`,
	FixC:      `Update all parameters in one kernel or one loop over a table of pointers and lengths.`,
	Confirm:   `A few operators with foreach or fused in their names replace hundreds.`,
	RefutedBy: `The optimizer already has fused=True or foreach=True.`,
	Check:     checkHostOptimizer,
}

const (
	// minAloneShare and minAloneTimes say which operator is unlike those of its name: a tenth of the step, more than
	// ten times the others' mean, as only a first use or a wait for the device takes.
	minAloneShare = 0.1
	minAloneTimes = 10
)

func checkHostOptimizer(c *Case, out *Findings) {
	if !c.hostOnly() {
		return
	}
	o := c.Facts.OpTree()
	parts := c.hostParts(func(i int) string {
		if name := c.hostName(i); o.Kind[i] == facts.HostRange && facts.NamesUpdate(name) {
			return name
		}
		return ""
	})
	ns := sumOfParts(parts)
	if len(parts) == 0 || c.Share(ns) < minHostShare {
		return
	}
	inside, _ := c.inside(eventsOf(parts))
	inside = slices.DeleteFunc(inside, func(p *hostPart) bool { return !c.isHostOp(int(p.events[0])) })
	ops, most, steps := 0, 0, 0
	for _, p := range parts {
		steps += p.n
	}
	for _, p := range inside {
		if strings.Contains(p.name, "_foreach_") || strings.Contains(p.name, "_fused_") {
			return
		}
		ops, most = ops+p.n, max(most, p.n)
	}
	if most < minCycles*steps {
		return
	}
	alone := ""
	for _, p := range inside {
		others := float64(p.ns-p.longest) / float64(max(1, p.n-1))
		if p.n > 1 && c.Share(p.longest) >= minAloneShare*float64(steps)*c.PerStep &&
			float64(p.longest) > minAloneTimes*others {
			ns -= p.longest
			alone = fmt.Sprintf("apart from them one %s takes %s: a first use, or a wait for the device", p.name,
				ms(float64(p.longest)))
		}
	}
	perStep := c.hostPerStep(ns)
	f := out.Add(0.85, perStep, "The optimizer updates parameters one by one: %s in %s of %s per step (%s)",
		several(float64(ops)*c.PerStep, "operator", "operators"), ms(perStep), ms(c.StepNs), c.shareOfHost(ns))
	if c.Facts.NoWork() == facts.WorkCut { // it may be all that is left of the step
		f.AtMostNs, f.Title = 0, inCapture.Replace(fmt.Sprintf("The optimizer updates parameters one by one: %s in %s",
			several(float64(ops)*c.PerStep, "operator", "operators"), ms(perStep)))
		f.Because("the file is cut off: which share of a step the optimizer takes is unknown")
	}
	f.Because(fmt.Sprintf("in %s, with all that runs inside it; what takes most time there", parts[0].name),
		c.partRows(inside, 4)...)
	if alone != "" {
		f.Because(alone)
	}
}

// eventsOf is the events of parts.
func eventsOf(parts []*hostPart) (out []int32) {
	for _, p := range parts {
		out = append(out, p.events...)
	}
	return out
}
