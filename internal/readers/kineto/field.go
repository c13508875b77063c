package kineto

// A field is an argument of an event that may be looked at.
type field uint8

const (
	fieldNone field = iota
	fieldCorr
	fieldExternal
	fieldDevice
	fieldContext
	fieldStream
	fieldGraph
	fieldGraphNode
	fieldGrid
	fieldBlock
	fieldRegisters
	fieldShared
	fieldBlocksPerSM
	fieldWarpsPerSM
	fieldOccupancy
	fieldBytes
	fieldSize
	fieldBandwidth
	fieldKind
	fieldKernelName
	fieldSequence
	fieldFwdThread
	fieldShapes
	fieldTypes
	fieldStrides
	fieldValues
	fieldStack
	fieldModule
	fieldBackend
	fieldPyID
	fieldPyParent
	fieldSyncKind
	fieldWaitStream
	fieldWaitCorr
	fieldWaitEvent
	fieldMemBytes
	fieldAddr
	fieldAllocated
	fieldReserved
	fieldDeviceID
	fieldDeviceType
	fieldMetaName
	fieldMetaLabels
	fieldCollective
	fieldInElems
	fieldOutElems
	fieldGroupSize
	fieldDtype
	fieldInSplit
	fieldOutSplit
	fieldGroup
	fieldGroupID
	fieldGroupDesc
	fieldGroupRanks
	fieldCollSeq
	fieldSrcRank
	fieldDstRank
	fieldRank
	fieldCount
)

// A fieldSet is a set of fields.
type fieldSet uint64

func setOf(fields ...field) (s fieldSet) {
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

func (s fieldSet) has(f field) bool { return s>>f&1 != 0 }

// fieldOf is the field that key names in the arguments of an event.
func fieldOf(key []byte) field {
	switch string(key) {
	case "correlation":
		return fieldCorr
	case "External id", "external id":
		return fieldExternal
	case "device":
		return fieldDevice
	case "context":
		return fieldContext
	case "stream":
		return fieldStream
	case "graph id":
		return fieldGraph
	case "graph node id":
		return fieldGraphNode
	case "grid":
		return fieldGrid
	case "block":
		return fieldBlock
	case "registers per thread":
		return fieldRegisters
	case "shared memory":
		return fieldShared
	case "blocks per SM":
		return fieldBlocksPerSM
	case "warps per SM":
		return fieldWarpsPerSM
	case "est. achieved occupancy %":
		return fieldOccupancy
	case "bytes":
		return fieldBytes
	case "size":
		return fieldSize
	case "memory bandwidth (GB/s)":
		return fieldBandwidth
	case "kind":
		return fieldKind
	case "kernel":
		return fieldKernelName
	case "Sequence number":
		return fieldSequence
	case "Fwd thread id":
		return fieldFwdThread
	case "Input Dims", "Input dims":
		return fieldShapes
	case "Input type":
		return fieldTypes
	case "Input Strides":
		return fieldStrides
	case "Concrete Inputs":
		return fieldValues
	case "Call stack":
		return fieldStack
	case "Module Hierarchy":
		return fieldModule
	case "kernel_backend":
		return fieldBackend
	case "Python id":
		return fieldPyID
	case "Python parent id":
		return fieldPyParent
	case "cuda_sync_kind":
		return fieldSyncKind
	case "wait_on_stream":
		return fieldWaitStream
	case "wait_on_cuda_event_record_corr_id":
		return fieldWaitCorr
	case "wait_on_cuda_event_id":
		return fieldWaitEvent
	case "Bytes":
		return fieldMemBytes
	case "Addr":
		return fieldAddr
	case "Total Allocated":
		return fieldAllocated
	case "Total Reserved":
		return fieldReserved
	case "Device Id":
		return fieldDeviceID
	case "Device Type":
		return fieldDeviceType
	case "name":
		return fieldMetaName
	case "labels":
		return fieldMetaLabels
	case "Collective name":
		return fieldCollective
	case "In msg nelems":
		return fieldInElems
	case "Out msg nelems":
		return fieldOutElems
	case "Group size":
		return fieldGroupSize
	case "dtype":
		return fieldDtype
	case "In split size":
		return fieldInSplit
	case "Out split size":
		return fieldOutSplit
	case "Process Group Name":
		return fieldGroup
	case "Process Group ID":
		return fieldGroupID
	case "Process Group Description":
		return fieldGroupDesc
	case "Process Group Ranks":
		return fieldGroupRanks
	case "Seq":
		return fieldCollSeq
	case "Src Rank":
		return fieldSrcRank
	case "Dst Rank":
		return fieldDstRank
	case "Rank":
		return fieldRank
	}
	return fieldNone
}
