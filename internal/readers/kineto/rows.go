package kineto

import "lacuna/internal/timeline/model"

// The rows of a part, as a parser leaves them: text is an ID of that parser's interner, threads
// are still numbers. merge.go makes columns of them.
type (
	gpuRow struct {
		startNs, durNs                                 int64
		graphNode                                      uint64
		device, context, stream, corr, external, graph uint32
		name                                           uint32
	}
	kernelRow struct {
		gpuRow
		grid, block             [3]int32
		shared                  int32
		registers               uint16
		blocksPerSM, warpsPerSM float32
		occupancy               float32
		collective              int32 // index of the part's collectives; -1: none
	}
	copyRow struct {
		gpuRow
		bytes    int64 // -1: unknown
		gbs      float64
		kind     model.CopyKind
		src, dst model.MemKind
	}
	hostRow struct {
		startNs, durNs int64
		pid, tid       int64
		name           uint32
		external       uint32
	}
	callRow struct {
		hostRow
		corr  uint32
		class model.CallClass
	}
	launchRow struct { // what ROCm says at the call and not at the kernel
		corr        uint32
		name        uint32
		grid, block [3]int32
		shared      int32
		bytes       int64
	}
	opRow struct {
		hostRow
		sequence, fwdThread                                    int64
		shapes, types, strides, values, stack, module, backend uint32
		collective                                             int32
	}
	rangeRow struct {
		hostRow
		sequence int64
		shapes   uint32
		kind     model.RangeKind
	}
	pyRow struct {
		hostRow
		id, parent int64
	}
	deviceRangeRow struct {
		startNs, durNs int64
		device, stream uint32
		name, external uint32
	}
	syncRow struct {
		startNs, durNs                                             int64
		device, context, stream, corr, event, recordCorr, onStream uint32
		kind                                                       model.SyncKind
	}
	allocRow struct {
		timeNs, pid, tid           int64
		delta, allocated, reserved int64
		addr                       uint64
		device                     uint32
	}
	markRow struct {
		timeNs, pid, tid int64
		name             uint32
		thread           bool // of one thread
	}
	flowRow struct {
		timeNs, pid, tid, id int64
		start                bool
	}
	counterRow struct {
		timeNs int64
		name   uint32
		device uint32
		value  float64
	}
	spanRow struct {
		startNs, durNs int64
		name           uint32
	}
	metaRow struct {
		pid, tid int64
		what     metaKind
		text     uint32
	}
	collectiveRow struct {
		name, group, desc, ranks, dtype, inSplit, outSplit uint32
		groupSize, peer                                    int32
		inElems, outElems, seq                             int64
	}
)

// metaKind is what a metadata event names.
type metaKind uint8

const (
	metaProcess metaKind = iota + 1
	metaThread
)

// optional columns that some row of a part has a value for.
type optional uint32

const (
	hasExternal optional = 1 << iota
	hasGraph
	hasLaunch
	hasRegisters
	hasPerSM
	hasOccupancy
	hasShapes
	hasTypes
	hasStrides
	hasValues
	hasStack
	hasModule
	hasBackend
	hasSequence
	hasCollective
	hasGBs
	hasBytes
	hasWait
	hasAddr
	hasRangeShapes
	hasRangeSequence
	hasCallExternal
	hasShared
)

// A part is what was parsed of a run of bytes.
type part struct {
	kernels      []kernelRow
	copies, sets []copyRow
	calls        []callRow
	launches     []launchRow
	ops          []opRow
	ranges       []rangeRow
	pyCalls      []pyRow
	deviceRanges []deviceRangeRow
	syncs        []syncRow
	allocs       []allocRow
	overheads    []hostRow
	marks        []markRow
	flows        []flowRow
	counters     []counterRow
	spans        []spanRow
	metas        []metaRow
	collectives  []collectiveRow

	has     optional
	events  int64
	firstNs int64 // least start of anything but 0; maxNs+1: nothing
	losses  model.Ledger
	texts   []string // of the parser's interner, new since its last part
	parser  int      // whose interner
}

func (p *part) reset(parser int) {
	*p = part{
		kernels: p.kernels[:0], copies: p.copies[:0], sets: p.sets[:0], calls: p.calls[:0], launches: p.launches[:0],
		ops: p.ops[:0], ranges: p.ranges[:0], pyCalls: p.pyCalls[:0], deviceRanges: p.deviceRanges[:0],
		syncs:  p.syncs[:0],
		allocs: p.allocs[:0], overheads: p.overheads[:0], marks: p.marks[:0], flows: p.flows[:0],
		counters: p.counters[:0],
		spans:    p.spans[:0], metas: p.metas[:0], collectives: p.collectives[:0],
		firstNs: maxNs + 1, parser: parser,
	}
}

// bytes is about what the rows take as columns.
func (p *part) bytes() int64 {
	return int64(len(p.kernels))*160 + int64(len(p.copies)+len(p.sets))*90 + int64(len(p.calls)+len(p.launches))*50 +
		int64(len(p.ops)+len(p.collectives))*110 +
		int64(len(p.ranges)+len(p.pyCalls)+len(p.deviceRanges)+len(p.syncs)+len(p.allocs))*70 +
		int64(len(p.overheads)+len(p.marks)+len(p.flows)+len(p.counters)+len(p.spans)+len(p.metas))*50
}
