package kernelrules

import (
	"lacuna/internal/kernel"
)

var computeBoundAtPeak = Rule{
	ID:      "compute_bound_at_peak",
	Title:   "Compute-bound at peak: only fewer operations help",
	Since:   "0.2",
	Healthy: true,
	Needs:   []Need{needTime, needIssue},
	Doc: `
An arithmetic pipe is used to 80 % or more, or instructions are issued in 85 % of the slots, and no fault was found:
the kernel computes as fast as the chip can. Many Not Selected warps (ready, another was chosen) are normal then.
The rule is silent where lanes, instructions or local memory were not collected: the work that keeps a pipe busy may
be waste.`,
	Limits: `
Counters do not show whether fewer operations would give the same result. FP32 at its peak does not say whether
tensor cores could be used.`,
	Fix: `
Nothing inside the kernel, except an algorithm with fewer operations or, where precision allows, a faster type.`,
	RefutedBy: `The same operations in a plain loop over registers take much less time.`,
	Check:     checkComputePeak,
}

const (
	pipeFull  = 0.80
	issuePeak = 0.85
)

func checkComputePeak(c *Case, out *Findings) {
	at, u := kernel.Issue, c.use(kernel.Issue)
	full := u >= issuePeak
	for _, r := range []kernel.Resource{kernel.FMA, kernel.FP64, kernel.Tensor, kernel.XU, kernel.ALU, kernel.FP16} {
		if p := c.use(r); p >= pipeFull && (p >= u || !full) {
			at, u, full = r, p, true
		}
	}
	if !full {
		return
	}
	if out.cannotJudge("thread_divergence", "sfu_pipe", "register_spills") {
		return
	}
	f := out.Add(0.9, "%s is at %s of its peak", nameOf(at), percent(u))
	f.Because("DRAM is at %s", percent(c.use(kernel.DRAM)))
	out.unsure(f, "whether all of its operations are needed")
	f.PredictedUs, f.LowUs, f.HighUs, f.Next = c.us(), c.us(), c.us(), nameOf(at)
}
