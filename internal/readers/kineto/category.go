package kineto

import (
	"bytes"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// A kind is what becomes of an event.
type kind uint8

const (
	kindUnset kind = iota
	kindUnwanted
	kindUnknown
	kindForeign // work of an accelerator that the model has no place for
	kindKernel
	kindCopy
	kindSet
	kindCall       // runtime
	kindDriverCall // driver
	kindOp
	kindRange
	kindDeviceRange
	kindPython
	kindSync
	kindOverhead
	kindTraceSpan
	kindMetrics // cuda_profiler_range
	kindInstant
	kindMeta
	kindFlow
	kindCounter
)

// spanKind is the kind of an event with a duration (ph X), by its category. Old names begin with capitals.
func spanKind(cat []byte) kind {
	switch string(cat) {
	case "kernel", "Kernel":
		return kindKernel
	case "gpu_memcpy", "Memcpy":
		return kindCopy
	case "gpu_memset", "Memset":
		return kindSet
	case "cuda_runtime", "Runtime", "hip_runtime", "xpu_runtime":
		return kindCall
	case "cuda_driver", "hip_driver", "xpu_driver":
		return kindDriverCall
	case "cpu_op", "Operator":
		return kindOp
	case "user_annotation":
		return kindRange
	case "gpu_user_annotation":
		return kindDeviceRange
	case "python_function":
		return kindPython
	case "cuda_sync":
		return kindSync
	case "overhead":
		return kindOverhead
	case "Trace":
		return kindTraceSpan
	case "cuda_profiler_range":
		return kindMetrics
	case "cpu_instant_event":
		return kindInstant
	}
	switch {
	case bytes.HasPrefix(cat, profilerStep):
		return kindRange
	case bytes.HasPrefix(cat, []byte("mtia_")), bytes.HasPrefix(cat, []byte("privateuse1_")),
		bytes.HasPrefix(cat, []byte("hpu_")), bytes.HasPrefix(cat, []byte("glow_")):
		return kindForeign
	}
	return kindUnknown
}

// profilerStep begins the name of the ranges that the profiler makes of steps.
var profilerStep = []byte("ProfilerStep")

// A want says what to read of each kind.
type want struct {
	reader.Options
	args [kindCounter + 1]fieldSet // arguments to look at
	skip [kindCounter + 1]bool     // nothing of this kind is wanted
}

// newWant derives what to read of each kind of event from what is needed of the trace.
func newWant(opt reader.Options) *want {
	w := &want{Options: opt}
	gpu := setOf(fieldCorr, fieldExternal, fieldDevice, fieldContext, fieldStream, fieldGraph, fieldGraphNode)
	coll := setOf(fieldCollective, fieldInElems, fieldOutElems, fieldGroupSize, fieldDtype, fieldInSplit, fieldOutSplit,
		fieldGroup, fieldGroupID, fieldGroupDesc, fieldGroupRanks, fieldCollSeq, fieldSrcRank, fieldDstRank, fieldRank)
	launch := setOf(fieldGrid, fieldBlock, fieldShared)
	opArgs := setOf(fieldShapes, fieldTypes, fieldStrides, fieldValues, fieldStack, fieldModule, fieldBackend)
	wants := opt.Wants
	const kernels = model.PartKernels | model.PartLaunchConfig

	w.args[kindKernel] = gpu | coll
	if wants(model.PartLaunchConfig) {
		w.args[kindKernel] |= launch | setOf(fieldRegisters, fieldBlocksPerSM, fieldWarpsPerSM, fieldOccupancy)
	}
	w.args[kindCopy] = gpu | setOf(fieldBytes, fieldBandwidth, fieldKind)
	w.args[kindSet] = w.args[kindCopy]
	w.args[kindCall] = setOf(fieldCorr, fieldExternal)
	if wants(model.PartLaunchConfig | model.PartCopies) {
		w.args[kindCall] |= launch | setOf(fieldKernelName, fieldBytes, fieldSize)
	}
	w.args[kindDriverCall] = w.args[kindCall]
	w.args[kindOp] = setOf(fieldExternal, fieldSequence, fieldFwdThread) | coll
	w.args[kindRange] = setOf(fieldExternal, fieldSequence)
	if wants(model.PartOpArgs) {
		w.args[kindOp] |= opArgs
		w.args[kindRange] |= setOf(fieldShapes)
	}
	w.args[kindDeviceRange] = setOf(fieldExternal, fieldStream, fieldDevice)
	w.args[kindPython] = setOf(fieldPyID, fieldPyParent)
	w.args[kindSync] = setOf(fieldCorr, fieldDevice, fieldContext, fieldStream, fieldSyncKind, fieldWaitStream,
		fieldWaitCorr, fieldWaitEvent)
	w.args[kindInstant] = setOf(fieldMemBytes, fieldAddr, fieldAllocated, fieldReserved, fieldDeviceID, fieldDeviceType)
	w.args[kindMeta] = setOf(fieldMetaName, fieldMetaLabels)

	w.skip[kindKernel] = !wants(kernels)
	w.skip[kindCopy] = !wants(model.PartCopies)
	w.skip[kindSet] = w.skip[kindCopy]
	w.skip[kindCall] = !wants(model.PartCalls) && !wants(model.PartLaunchConfig|model.PartCopies)
	w.skip[kindDriverCall] = w.skip[kindCall]
	w.skip[kindOp] = !wants(model.PartOps | model.PartOpArgs | model.PartRanges) // old steps are operators
	w.skip[kindRange] = !wants(model.PartRanges)
	w.skip[kindDeviceRange] = w.skip[kindRange]
	w.skip[kindPython] = !wants(model.PartPython)
	w.skip[kindSync] = !wants(model.PartSyncs)
	w.skip[kindOverhead] = !wants(model.PartOverheads)
	w.skip[kindMetrics] = !wants(model.PartCounters)
	w.skip[kindCounter] = w.skip[kindMetrics]
	w.skip[kindInstant] = !wants(model.PartMemory | model.PartRanges)
	// A flow matters between operators, or where GPU work has no correlation ID.
	w.skip[kindFlow] = !wants(model.PartOps | kernels | model.PartCopies)
	return w
}
