package rules

import "lacuna/internal/timeline/facts"

// What rules about kernels need.
var (
	needKernels = Need{"kernels", func(f *facts.Facts) bool { return f.Trace.Kernels.Len() > 0 },
		"lacuna record --cuda-graph=node, nsys profile --trace=cuda,nvtx --cuda-graph-trace=node, or " +
			"ProfilerActivity.CUDA in torch.profiler"}
	needGrids = Need{"grids of kernels", func(f *facts.Facts) bool { return len(f.Trace.Kernels.GridX) > 0 },
		"lacuna record --cuda-graph=node, nsys profile --trace=cuda,nvtx --cuda-graph-trace=node, or " +
			"ProfilerActivity.CUDA in torch.profiler"}
)
