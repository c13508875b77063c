package facts

import (
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
)

// frameworkRange is annotations that PyTorch and what lies on it make by themselves. They say
// which part of the framework runs, not what the user calls it.
var frameworkRange = regexp.MustCompile(`^(ProfilerStep|Optimizer\.(step|zero_grad)|enumerate\(DataLoader\)|DistributedDataParallel\.|DDP|FSDP|FullyShardedDataParallel|nccl:|c10d::|aten::|prim::|torch::|autograd::|## |Torch-Compiled Region|TorchDynamo|CompiledFunction|CompiledFxGraph|Pregraph|AOTDispatcher|AOTAutograd|inductor|_compile|dynamo|cudagraph|CUDAGraph|PyTorch|record_param_comms|DataParallel\.|Activity Buffer|DataLoader|.*, (seq|op_id) = \d)`)

// libraryDomains is NVTX domains that libraries mark their own calls in.
var libraryDomains = []string{"nccl", "cccl", "cub", "thrust", "cublas", "cudnn", "cusparse", "cusolver", "cufft",
	"curand", "mpi", "tensorrt", "nvshmem", "ucx", "libcudf", "libkvikio", "rmm", "dali", "nvtx", "cupy"}

// RangeClass says who made a range.
type RangeClass uint8

// The makers of ranges.
const (
	RangeUser RangeClass = iota
	RangeFramework
	RangeMarker // a step marker
)

// RangeClasses says of each range who made it, and which are step markers.
func (f *Facts) RangeClasses() []RangeClass {
	return f.kept.rangeClasses.of(f, func(f *Facts) []RangeClass {
		out := f.rangeMakers()
		s, err := f.Steps()
		if err != nil || len(s.markerRows) == 0 {
			return out
		}
		names := f.Trace.Ranges.Name
		marks := make(map[model.StringID]bool, len(s.markerRows))
		for _, r := range s.markerRows {
			marks[names[r]] = true
		}
		out = slices.Clone(out)
		for i, id := range names {
			if marks[id] {
				out[i] = RangeMarker
			}
		}
		return out
	})
}

// rangeMakers is the same by names alone: of step markers, those that are called so.
func (f *Facts) rangeMakers() []RangeClass {
	return f.kept.rangeMakers.of(f, func(f *Facts) []RangeClass {
		t := f.Trace
		byName := judge(&t.Strings, func(name string) RangeClass {
			switch {
			case IsStepName(name), IsProfilerStep(name), f.isEngineMark(name):
				return RangeMarker
			case frameworkRange.MatchString(name):
				return RangeFramework
			}
			return RangeUser
		})
		domain := make([]bool, len(t.Domains))
		for i, d := range t.Domains {
			for _, lib := range libraryDomains {
				domain[i] = domain[i] || strings.EqualFold(d.Name, lib)
			}
		}
		out := make([]RangeClass, t.Ranges.Len())
		for i, id := range t.Ranges.Name {
			out[i] = byName(id)
			if t.Ranges.Kind[i] == model.RangeProfiler {
				out[i] = RangeMarker
			}
			if d := at(t.Ranges.Domain, i, model.NoDomain); d != model.NoDomain && int(d) < len(domain) && domain[d] &&
				out[i] == RangeUser {
				out[i] = RangeFramework
			}
		}
		return out
	})
}
