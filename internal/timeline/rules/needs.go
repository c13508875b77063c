package rules

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// What rules need, each with the command that records it.
var (
	needWork = Need{"GPU work", func(f *facts.Facts) bool { return f.Work().Len() > 0 },
		"lacuna record, nsys profile --trace=cuda,nvtx, or ProfilerActivity.CUDA in torch.profiler"}
	needCalls = Need{"CUDA calls", func(f *facts.Facts) bool { return f.Trace.Calls.Len() > 0 },
		"lacuna record, nsys profile --trace=cuda,nvtx, or ProfilerActivity.CPU beside CUDA in torch.profiler"}
	needSteps = Need{"steps", func(f *facts.Facts) bool {
		s, err := f.Steps()
		return err == nil && s.Source != facts.StepsNone
	},
		"torch.cuda.nvtx.range_push(f\"step_{i}\"), prof.step() in torch.profiler, or --step-range NAME"}
	needShapes = Need{"shapes of operators", func(f *facts.Facts) bool { return hasText(f.Trace.Ops.Shapes) },
		"torch.profiler.profile(record_shapes=True)"}
	needAllocs = Need{"allocator events", func(f *facts.Facts) bool {
		return f.Trace.AllocEvents.Len() > 0 ||
			f.Trace.DeviceAllocs.Len() > 0
	},
		"torch.profiler.profile(profile_memory=True), lacuna record, or nsys profile --cuda-memory-usage=true"}
	needMemKinds = Need{"memory kinds of copies (pinned, pageable)", func(f *facts.Facts) bool {
		for i := range f.Trace.Copies.Len() {
			if src, dst := memKinds(&f.Trace.Copies, uint32(i)); src != model.MemUnknown || dst != model.MemUnknown {
				return true
			}
		}
		return f.Trace.Copies.Len() == 0 // nothing is copied: nothing to judge
	},
		"lacuna record, nsys profile --trace=cuda,nvtx, or a PyTorch of 2021 or later"}
	needHostWaits = Need{"records of host waits (operating system calls, MPI or operators)", func(f *facts.Facts) bool {
		return f.Trace.OSCalls.Len() > 0 || f.Trace.MPI.Len() > 0 || f.Trace.Ops.Len() > 0
	},
		"nsys profile --trace=cuda,nvtx,osrt,mpi, or ProfilerActivity.CPU in torch.profiler"}
	needReserved = Need{"allocator events with reserved bytes",
		func(f *facts.Facts) bool { return len(f.Trace.AllocEvents.ReservedBytes) > 0 },
		"torch.profiler.profile(profile_memory=True)"}
	needSched = Need{"context switches", func(f *facts.Facts) bool { return f.Trace.Sched.Len() > 0 },
		"lacuna record --sample, or nsys profile --cpuctxsw=process-tree"}
)

func hasText(column []model.StringID) bool {
	for _, id := range column {
		if id != 0 {
			return true
		}
	}
	return false
}
