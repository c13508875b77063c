package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaGPUSum = Table{
	Name:  "cuda_gpu_sum",
	Title: "Kernels, copies and memsets by name, most time first",
	Doc: `
cuda_gpu_kern_sum and cuda_gpu_mem_time_sum in one list. Time is a share of everything listed, not of wall time.

Rows are ordered by Total Time, largest first, then by name.`,
	Origin:      "nsys stats cuda_gpu_sum",
	Columns:     timeColumns("Instances", "executions", categoryColumn, operationColumn),
	KernelNames: "Operation",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels | model.PartCopies,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAGPUSum,
}

var cudaAPIGPUSum = Table{
	Name:  "cuda_api_gpu_sum",
	Title: "API calls, kernels, copies and memsets by name, most time first",
	Doc: `
cuda_api_sum, cuda_gpu_kern_sum and cuda_gpu_mem_time_sum in one list. Time is a share of everything listed. It
adds host time to GPU time, which overlap: it is not a share of elapsed time.

Rows are ordered by Total Time, largest first, then by name.`,
	Origin:      "nsys stats cuda_api_gpu_sum",
	Columns:     timeColumns("Instances", "calls or executions", categoryColumn, operationColumn),
	KernelNames: "Operation",
	Args:        kernelNameArgs,
	Needs:       model.PartKernels | model.PartCopies | model.PartCalls,
	ArgsNeed:    kernelNamesNeed,
	Fill:        fillCUDAAPIGPUSum,
}

var (
	categoryColumn  = Column{"Category", unit.Text, "CUDA_KERNEL, MEMORY_OPER or CUDA_API"}
	operationColumn = Column{"Operation", unit.Text,
		"name of the kernel, kind of the memory operation, or name of the function"}
)

func fillCUDAGPUSum(in []*facts.Facts, args Args, out *Rows) error {
	return fillMixed("cuda_gpu_sum", in[0], args, false, out)
}

func fillCUDAAPIGPUSum(in []*facts.Facts, args Args, out *Rows) error {
	return fillMixed("cuda_api_gpu_sum", in[0], args, true, out)
}

// A mixedRow is a group of cuda_gpu_sum or cuda_api_gpu_sum.
type mixedRow struct {
	summary
	category, name string
}

func fillMixed(table string, f *facts.Facts, args Args, calls bool, out *Rows) error {
	t := f.Trace
	withCalls := calls && t.Calls.StartNs != nil
	if t.Kernels.StartNs == nil && needMemory(table, t) != nil && !withCalls {
		return &MissingError{table, "kernels, copies or memsets", tryCUDA}
	}
	if args.Has("nvtx-name") {
		if err := needKernels(table, f, args); err != nil {
			return err
		}
	}
	var rows []mixedRow
	add := func(category string, sums []summary, name func(int) string) {
		for g, s := range sums {
			if s.count > 0 {
				rows = append(rows, mixedRow{s, category, name(g)})
			}
		}
	}
	names, mem := nameKernels(f, args), memoryOps(t)
	add("CUDA_KERNEL", summarize(names.of, t.Kernels.DurNs, len(names.text)),
		func(g int) string { return names.text[g] })
	add("MEMORY_OPER", summarize(mem.of, memoryNs(t), len(mem.text)), func(g int) string { return mem.text[g] })
	if withCalls {
		add("CUDA_API", summarize(t.Calls.Name, t.Calls.DurNs, t.Strings.Len()), func(g int) string {
			return apiName(t.Strings.Text(model.StringID(g)))
		})
	}
	slices.SortStableFunc(rows, func(a, b mixedRow) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	var all int64
	for i := range rows {
		all += rows[i].total
	}
	for i := range rows {
		out.Add(rows[i].timeCells(all, Str(rows[i].category), Str(rows[i].name))...)
	}
	return nil
}
