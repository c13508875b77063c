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
Where lanes, instructions or local memory were not collected the work that keeps a pipe busy may be waste: then the
rule is silent, unless an arithmetic pipe is at 91 % or more, which leaves less to gain than any prediction is sure of;
what is not known is said, and the confidence is under a half.`,
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
	if !(at.Arithmetic() && u*gainWorth >= 1) && out.cannotJudge("thread_divergence", "sfu_pipe", "register_spills") {
		return
	}
	f := out.Add(0.9, "%s is at %s of its peak", nameOf(at), percent(u))
	f.Because("DRAM is at %s", percent(c.use(kernel.DRAM)))
	if faster := c.fasterType(at); faster != "" {
		f.Because("near its limit: only fewer operations help, or a faster type where the result tolerates it: %s", faster)
	}
	out.unsure(f, "whether all of its operations are needed")
	f.PredictedUs, f.LowUs, f.HighUs, f.Next = c.us(), c.us(), c.us(), nameOf(at)
}

// fasterType is what does the operations of a pipe faster; "": nothing is known to.
func (c *Case) fasterType(at kernel.Resource) string {
	major, _ := c.Capability()
	switch at {
	case kernel.FMA:
		switch {
		case major >= 80:
			return "products of matrices in TF32 or BF16 on the tensor cores"
		case major >= 70:
			return "products of matrices in FP16 on the tensor cores, if it has some"
		}
		return ""
	case kernel.FP16:
		return "products of matrices on the tensor cores"
	case kernel.FP64:
		return "FP32"
	case kernel.Tensor:
		if major >= 89 {
			return "FP8"
		}
		return "INT8"
	}
	return ""
}
