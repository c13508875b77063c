package writers

import (
	"io"

	"lacuna/internal/kernel/kernelreport"
)

// KernelJSON writes at most top kernels (0: all) by the JSON contract. Lists that are empty are [], never null.
func KernelJSON(w io.Writer, r *kernelreport.Report, top int) error {
	full := *r
	full.Kernels = append([]kernelreport.Kernel{}, topKernels(r, top)...)
	for i := range full.Kernels {
		k := &full.Kernels[i]
		notNil(&k.Roofline)
		notNil(&k.StallParts)
		notNil(&k.Lines)
		notNil(&k.Findings)
		notNil(&k.Mentioned)
		notNil(&k.Abstained)
		notNil(&k.Missing)
		notNil(&k.Profiler)
		if k.Stalls == nil {
			k.Stalls = kernelreport.Stalls{}
		}
		for _, list := range []*[]kernelreport.Finding{&k.Findings, &k.Mentioned} {
			*list = append([]kernelreport.Finding{}, *list...)
			for j := range *list {
				notNil(&(*list)[j].Evidence)
				notNil(&(*list)[j].Where)
			}
		}
	}
	notNil(&full.Inputs)
	notNil(&full.Capture.Losses)
	notNil(&full.Capture.Warnings)
	return JSON(w, full)
}

// topKernels is the first n kernels; 0: all.
func topKernels(r *kernelreport.Report, n int) []kernelreport.Kernel {
	if n == 0 {
		n = len(r.Kernels)
	}
	return r.Kernels[:min(n, len(r.Kernels))]
}
