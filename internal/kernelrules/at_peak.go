package kernelrules

import (
	"lacuna/internal/kernel"
)

var dramBoundAtPeak = Rule{
	ID:      "dram_bound_at_peak",
	Title:   "At the roof of device memory: only fewer bytes help",
	Since:   "0.2",
	Healthy: true,
	Needs:   []Need{needTime, needDRAM},
	Doc: `
The kernel moves bytes to and from DRAM as fast as kernels do: 80 % of the peak, or 72 % where a fifth or more is written, since the bus turns around. No fault was found. Waiting for loads is then the
normal state of its warps, and neither occupancy nor instructions matter.`,
	Limits: `
Bytes may still be avoidable in ways that counters do not show: a smaller type, fusing with the kernel before. Without the counters of coalescing the finding says only that DRAM is full.`,
	Fix: `
Nothing inside the kernel. Move fewer bytes: fuse it with its neighbours, use smaller types, keep what is read again in L2.`,
	RefutedBy: `A copy of the same number of bytes (cudaMemcpyDeviceToDevice) takes much less time.`,
	Check:     checkDRAMPeak,
}

const (
	dramFull       = 0.80 // streaming kernels on six chips reach it
	dramFullWrites = 0.72
	pipeFull       = 0.80
	issuePeak      = 0.85
)

func checkDRAMPeak(c *Case, out *Findings) {
	u := c.use(kernel.DRAM)
	if !(u >= dramFull) && !(u >= dramFullWrites && c.writes()) {
		return
	}
	bytes, writes := c.dramBytes()
	f := out.Add(0.9, "device memory is at %s of its peak, as good kernels are", percent(u))
	if bytes > 0 {
		f.Because("%s, of which %s are written", bytesText(bytes), percent(writes))
	}
	out.unsure(f, "whether all of its bytes are needed")
	f.PredictedUs, f.LowUs, f.HighUs, f.Next = c.us(), c.us(), c.us(), nameOf(kernel.DRAM)
}

var computeBoundAtPeak = Rule{
	ID:      "compute_bound_at_peak",
	Title:   "At the roof of an arithmetic pipe: only fewer operations help",
	Since:   "0.2",
	Healthy: true,
	Needs:   []Need{needTime, needIssue},
	Doc: `
An arithmetic pipe is used to 80 % or more, or instructions are issued in 85 % of the slots, and no fault was found: the operations are done as fast as the chip can. Warps that are ready and not
selected are the normal state then.`,
	Limits: `
Fewer operations for the same result are not in the counters. Single precision at its peak says nothing about whether tensor cores could be used.`,
	Fix: `
Nothing inside the kernel, except an algorithm with fewer operations, or, where precision allows, a faster type.`,
	RefutedBy: `The same operations in a plain loop over registers take much less time.`,
	Check:     checkComputePeak,
}

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
	f := out.Add(0.9, "%s is at %s of its peak", nameOf(at), percent(u))
	f.Because("DRAM is at %s", percent(c.use(kernel.DRAM)))
	out.unsure(f, "whether all of its operations are needed")
	f.PredictedUs, f.LowUs, f.HighUs, f.Next = c.us(), c.us(), c.us(), nameOf(at)
}

// unsure lowers what is claimed of a healthy kernel where the rules about faults could not judge.
func (o *Findings) unsure(f *Finding, what string) {
	if len(o.Abstained) == 0 {
		return
	}
	f.Confidence = 0.5
	f.Because("%s cannot be told from this report: %d diagnoses lack counters", what, len(o.Abstained))
}
