package facts

import (
	"slices"
	"strings"

	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/model"
)

// commNames begin the names of communication kernels, or of a namespace around them: the collective libraries of
// NVIDIA, AMD, Huawei and Intel, MSCCL and MSCCL++, NVSHMEM and rocSHMEM, and DeepEP's dispatch and combine (deep_ep,
// hybrid_ep; dpsk::ep in traces that DeepSeek published).
var commNames = []string{"nccl", "rccl", "hccl", "oneccl", "msccl", "nvshmem", "rocshmem", "deep_ep", "hybrid_ep",
	"dpsk::ep", "quickreduce"}

// localNames begin names that communicate with nobody: DeepEP counts which tokens go where; PyTorch's Inductor names
// its kernels after the operators that it fuses, and waits for collectives are among those.
var localNames = []string{"get_dispatch_layout", "triton_poi_fused", "triton_red_fused", "triton_per_fused",
	"triton_tem_fused", "triton_for_fused"}

// commParts occur in the names of kernels that do a collective through symmetric or peer memory instead of a library:
// PyTorch's symmetric memory (multimem_all_reduce_kernel, one_shot_all_reduce_kernel), vLLM's, SGLang's and AITER's
// cross_device_reduce_1stage, TensorRT-LLM's and FlashInfer's oneShotAllReduceKernel,
// allreduce_fusion_kernel_oneshot_lamport and twoshotAllreduceKernel, Triton-distributed's allreduce_one_shot_push;
// the exchange of experts' tokens by MORI (EpDispatchIntraNodeKernel), TensorRT-LLM (moeA2ADispatchKernel) and pplx
// (a2a_combine_recv_kernel); Transformer Engine's userbuffers; NVSHMEM's kernels for calls on a stream
// (barrier_all_on_stream_kernel) and PyTorch's on it. They are compared in lower case without "_".
var commParts = []string{"allreduce", "reducescatter", "allgather", "alltoall", "crossdevicereduce", "multimemoneshot",
	"symmmem", "epdispatch", "epcombine", "a2adispatch", "a2acombine", "userbuffers", "barrieronstream",
	"barrierallonstream", "synconstream", "syncallonstream", "exchangesplitandoffset"}

// inOneDevice ends what stands before the name of something that stays within a GPU: a reduction over all of a warp, a
// block, a cluster; and a word that only looks like it, as in zherk_small_reduce_kernel.
var inOneDevice = []string{"warp", "block", "thread", "quad", "cta", "cluster", "group", "grid", "wave", "wavefront",
	"lane", "sm", "over"}

// isCommName says whether a kernel's name is that of a communication kernel.
func isCommName(name string) bool {
	full := strings.ToLower(kernelname.Qualified(name))
	if beginsAny(full[strings.LastIndex(full, ":")+1:], localNames) {
		return false
	}
	for rest := full; rest != ""; {
		for _, p := range commNames {
			if strings.HasPrefix(rest, p) {
				return true
			}
		}
		_, rest, _ = strings.Cut(rest, "::")
	}
	base := full[strings.LastIndex(full, "::")+1:]
	base = strings.ReplaceAll(strings.TrimPrefix(base, ":"), "_", "")
	for _, p := range commParts {
		if before, _, found := strings.Cut(base, p); found && !slices.ContainsFunc(inOneDevice, func(s string) bool {
			return strings.HasSuffix(before, s)
		}) {
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
