package facts

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// commNames begin the base names of communication kernels. NVIDIA's, AMD's, Huawei's and
// Intel's collective libraries name theirs so; MSCCL and DeepEP likewise.
var commNames = []string{"nccl", "rccl", "hccl", "oneccl", "msccl", "nvshmem", "deep_ep"}

// commParts occur in the names of kernels that do a collective through symmetric or
// peer memory instead of a library: PyTorch's symmetric memory, vLLM's and TensorRT-LLM's custom all-reduce.
var commParts = []string{"multimem_all_", "multimem_one_shot", "one_shot_all_reduce", "two_shot_all_reduce",
	"cross_device_reduce", "symm_mem_", "all_reduce_one_shot", "allreduce_fusion_kernel"}

// isCommName says whether a kernel's name is that of a communication kernel.
func isCommName(name string) bool {
	name = strings.ToLower(strings.TrimPrefix(name, "void "))
	base := name
	if i := strings.IndexAny(base, "<("); i >= 0 {
		base = base[:i]
	}
	if i := strings.LastIndex(base, "::"); i >= 0 {
		base = base[i+2:]
	}
	for _, p := range commNames {
		if strings.HasPrefix(name, p) || strings.HasPrefix(base, p) {
			return true
		}
	}
	for _, p := range commParts {
		if strings.Contains(base, p) {
			return true
		}
	}
	return false
}

// commOps are operators that do nothing but start a collective; what they launch is communication.
var commOps = []string{"record_param_comms", "nccl:", "c10d::"}

// CommKernels says of each kernel whether it communicates: by its name, by collective arguments
// of its own, or because the operator that launched it is the record of a collective.
func (f *Facts) CommKernels() []bool {
	return f.kept.commKernels.of(f, func(f *Facts) []bool {
		t := f.Trace
		byName := make([]int8, t.Strings.Len())
		out := make([]bool, t.Kernels.Len())
		collectiveOp := f.collectiveOps()
		for i := range out {
			id := t.Kernels.Name[i]
			if byName[id] == 0 {
				byName[id] = -1
				if isCommName(t.Strings.Text(id)) {
					byName[id] = 1
				}
			}
			out[i] = byName[id] > 0
			if !out[i] && i < len(t.Kernels.Collective) {
				out[i] = t.Kernels.Collective[i] != model.NoCollective
			}
			if !out[i] && collectiveOp != nil && i < len(t.Kernels.External) {
				out[i] = collectiveOp[t.Kernels.External[i]]
			}
		}
		return out
	})
}

// collectiveOps is the external IDs of operators that record a collective.
func (f *Facts) collectiveOps() map[uint32]bool {
	t := f.Trace
	var out map[uint32]bool
	byName := make(map[model.StringID]bool)
	for i, id := range t.Ops.Name {
		is, seen := byName[id]
		if !seen {
			name := t.Strings.Text(id)
			for _, p := range commOps {
				is = is || strings.HasPrefix(name, p)
			}
			byName[id] = is
		}
		if is && t.Ops.External[i] != model.NoExternal {
			if out == nil {
				out = make(map[uint32]bool)
			}
			out[t.Ops.External[i]] = true
		}
	}
	return out
}
