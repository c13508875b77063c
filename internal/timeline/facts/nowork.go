package facts

import (
	"regexp"
	"slices"

	"lacuna/internal/timeline/model"
)

// NoWork is why a capture has no GPU work.
type NoWork string

// Why a capture has no GPU work, what settles it first.
const (
	HasWork      NoWork = ""            // it has
	WorkForeign  NoWork = "foreign"     // an accelerator worked that lacuna does not know
	WorkCut      NoWork = "cut"         // the file ends too early: what came behind is missing
	WorkLost     NoWork = "unrecorded"  // calls launched work or waited for it, and none was recorded
	WorkUnasked  NoWork = "not_asked"   // operators or the allocator used a GPU, and no call to it was recorded
	WorkElse     NoWork = "other_kind"  // operators of a device that has neither CUDA nor HIP
	WorkOnHost   NoWork = "on_host"     // operators of the CPU; or operators, and calls of which none starts work
	WorkNone     NoWork = "none_begun"  // calls were recorded, none of them starts work, and no operator is there
	WorkNoReason NoWork = "not_settled" // nothing settles it
)

// Operators that one kind of device has and no other. Which dispatch key an operator has is in PyTorch's
// native_functions.yaml: linear_backward is dispatched for MPS and for nested tensors only.
var (
	cudaOps = regexp.MustCompile(`cudnn|miopen|cublas|_cuda|nccl:|^aten::_(thnn_fused|flash_attention|efficient_attention|` +
		`scaled_dot_product_(efficient|cudnn)_attention|pin_memory)`)
	otherOps = regexp.MustCompile(`(^|[_:])(mps|xpu|npu|hpu|xla|mtia)([_:]|$)`)
	mpsOps   = regexp.MustCompile(`(^|[_:])mps([_:]|$)|^aten::linear_backward$`)
	cpuOps   = regexp.MustCompile(`mkldnn|onednn|_mkl_|_for_cpu$`)
	nested   = regexp.MustCompile(`_nested_`)
)

// NoWork says why there is no GPU work, as far as calls, operators and the allocator show it.
func (f *Facts) NoWork() NoWork {
	return f.kept.noWork.of(f, func(f *Facts) NoWork {
		t := f.Trace
		switch {
		case f.Work().Len() > 0:
			return HasWork
		case t.Losses.Count(model.LossForeignDevice) > 0:
			return WorkForeign
		case t.Losses.Count(model.LossTruncated) > 0:
			return WorkCut
		case f.Unrecorded().Any() || f.callsMove():
			return WorkLost
		}
		device := slices.ContainsFunc(t.AllocEvents.Device, func(d uint32) bool { return d != model.NoDevice })
		switch {
		case f.OtherDevice() != "":
			return WorkElse
		case t.Calls.Len() == 0 && (device || f.hasOp(cudaOps)):
			return WorkUnasked
		case t.Calls.Len() > 0 && !device && t.Ops.Len() > 0, f.hasOp(cpuOps) && !device && !f.hasOp(cudaOps):
			return WorkOnHost
		case t.Calls.Len() > 0:
			return WorkNone
		}
		return WorkNoReason
	})
}

// callsMove says whether a call copies or sets memory of a device: that is work too.
func (f *Facts) callsMove() bool {
	t := f.Trace
	moves := judge(&t.Strings, func(name string) bool { return hasPrefix(CallVerb(name), "Memcpy", "Memset") })
	return slices.ContainsFunc(t.Calls.Name, func(id model.StringID) bool { return moves(id) })
}

// AppleGPU is what OtherDevice calls a device of PyTorch's MPS.
const AppleGPU = "the Apple GPU (MPS)"

// OtherDevice is the kind of device that operators show which has neither CUDA nor HIP; "" if none.
func (f *Facts) OtherDevice() string {
	switch {
	case f.hasOp(mpsOps) && !f.hasOp(nested):
		return AppleGPU
	case f.hasOp(otherOps):
		return "another accelerator"
	}
	return ""
}

// hasOp says whether the name of an operator matches.
func (f *Facts) hasOp(pattern *regexp.Regexp) bool {
	is := judge(&f.Trace.Strings, pattern.MatchString)
	return slices.ContainsFunc(f.Trace.Ops.Name, func(id model.StringID) bool { return is(id) })
}
