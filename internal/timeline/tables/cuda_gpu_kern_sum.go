package tables

import (
	"cmp"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaGPUKernSum = Table{
	Name:  "cuda_gpu_kern_sum",
	Title: "Kernels by name, most time first",
	Doc: `
One row for each kernel name. Time is a share of the kernels listed, not of wall time: concurrent
kernels each count in full, so the total may exceed the time in which the GPU was busy. Mangled names are
in exports of nsys 2022.2 and later only.

Rows are ordered by Total Time, largest first; equal ones by Instances, smallest first, then by name.`,
	Origin:      "nsys stats cuda_gpu_kern_sum",
	Columns:     timeColumns("Instances", "executions of the kernel", kernelName),
	KernelNames: "Name",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAGPUKernSum,
}

var kernelName = Column{"Name", unit.Text, "demangled name of the kernel, or as the argument asks"}

func fillCUDAGPUKernSum(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	if err := needKernels("cuda_gpu_kern_sum", f, args); err != nil {
		return err
	}
	names := nameKernels(f, args)
	sums := summarize(names.of, f.Trace.Kernels.DurNs, len(names.text))
	all := grandTotal(sums)
	for _, g := range byTotal(sums, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(sums[a].count, sums[b].count), names.compare(a, b))
	}) {
		out.Add(sums[g].timeCells(all, Str(names.text[g]))...)
	}
	return nil
}
