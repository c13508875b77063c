package model

import "lacuna/internal/base/interval"

// Activity is what all work of a GPU has in common. It is sorted by StartNs, then
// longest first, then as in the file. Work on one stream can overlap (graphs, programmatic launch).
type Activity struct {
	StartNs   []int64
	DurNs     []int64 // >= 0
	Process   []ProcessRow
	Device    []uint32 // CUDA ordinal
	Context   []uint32
	Stream    []uint32 // CUPTI stream ID, unique within its context
	Corr      []uint32 // correlation ID of the launching call, unique within a process; NoCorr
	External  []uint32 // external ID of the operator that launched it; nil or NoExternal
	Graph     []uint32 // CUDA graph; nil or NoGraph
	GraphNode []uint64 // node in the graph; nil or 0
}

// Len is the number of rows.
func (a *Activity) Len() int { return len(a.StartNs) }

// EndNs is the end of row i.
func (a *Activity) EndNs(i int) int64 { return a.StartNs[i] + a.DurNs[i] }

// Span is when row i ran.
func (a *Activity) Span(i int) interval.Span {
	return interval.Span{StartNs: a.StartNs[i], EndNs: a.StartNs[i] + a.DurNs[i]}
}

// Kernels is every kernel execution of a capture.
type Kernels struct {
	Activity
	Name         []StringID // demangled, with arguments if the file has them
	Short        []StringID // nil, or the base name without templates and arguments
	Mangled      []StringID // nil, or the mangled name; 0: none
	GridX        []int32    // blocks
	GridY        []int32
	GridZ        []int32
	BlockX       []int32 // threads
	BlockY       []int32
	BlockZ       []int32
	Registers    []uint16 // per thread
	StaticShared []int32  // bytes per block
	DynShared    []int32  // bytes per block; a file that gives one sum puts it here
	LocalBytes   []int64  // local memory of the launch
	BlocksPerSM  []float32
	WarpsPerSM   []float32
	OccEstimated []float32 // estimated achieved occupancy, 0 to 1
	Collective   []CollectiveRow
}

// CopyKind is CUPTI's and nsys' number for the direction of a copy.
type CopyKind uint8

// The kinds that matter to us; others keep CUPTI's number.
const (
	CopyUnknown CopyKind = 0
	CopyHtoD    CopyKind = 1
	CopyDtoH    CopyKind = 2
	CopyHtoA    CopyKind = 3
	CopyAtoH    CopyKind = 4
	CopyDtoD    CopyKind = 8
	CopyHtoH    CopyKind = 9
	CopyPtoP    CopyKind = 10
	CopyUMHtoD  CopyKind = 11
	CopyUMDtoH  CopyKind = 12
	CopyUMDtoD  CopyKind = 13
)

// MemKind is where memory lies, in CUPTI's numbers (nsys counts from pageable = 0; its reader translates).
type MemKind uint8

// CUPTI's CUpti_ActivityMemoryKind.
const (
	MemUnknown       MemKind = 0
	MemPageable      MemKind = 1
	MemPinned        MemKind = 2
	MemDevice        MemKind = 3
	MemArray         MemKind = 4
	MemManaged       MemKind = 5
	MemDeviceStatic  MemKind = 6
	MemManagedStatic MemKind = 7
)

// Copies is every memory copy that a GPU or its copy engines did.
type Copies struct {
	Activity
	Kind      []CopyKind
	Src       []MemKind
	Dst       []MemKind
	Bytes     []int64
	SrcDevice []uint32   // nil or NoDevice
	DstDevice []uint32   // nil or NoDevice
	Name      []StringID // nil, or the file's own name: "Memcpy HtoD (Pageable -> Device)"
	GBs       []float64  // nil, or the bandwidth that the file states, 10^9 bytes a second; NaN: none
	Label     []StringID // nil, or the file's label of Kind: "Host-to-Device"
	Addr      []uint64   // nil, or where the pages that a migration of unified memory moved begin; 0: no migration
}

// Sets is every memset.
type Sets struct {
	Activity
	Bytes []int64
	Mem   []MemKind
	Value []uint32
	Name  []StringID
	GBs   []float64
}

// GraphRuns is every execution of a CUDA graph that was recorded at graph level: its kernels are not in Kernels.
type GraphRuns struct {
	Activity
	Exec []uint32 // executable graph ID
}

// SyncKind says what a host thread or stream waited for.
type SyncKind uint8

// What a synchronisation waits for.
const (
	SyncUnknown SyncKind = iota
	SyncEvent
	SyncStreamWait // a stream waits for an event; the host does not
	SyncStream
	SyncContext
)

// Syncs is every synchronisation record: a wait, not work. Sorted by StartNs.
type Syncs struct {
	StartNs    []int64
	DurNs      []int64
	Process    []ProcessRow
	Device     []uint32
	Context    []uint32
	Stream     []uint32 // the stream that waits; NoStream: the whole device
	Kind       []SyncKind
	Corr       []uint32
	Event      []uint32 // CUDA event ID; NoCorr: none
	RecordCorr []uint32 // correlation of the cudaEventRecord waited for; nil or NoCorr
	OnStream   []uint32 // stream of that record; nil or NoStream
	SyncID     []uint32 // nil, or EventRecords.SyncID of that record: unlike Event it is never used again; 0: none
}

// Len is the number of rows.
func (s *Syncs) Len() int { return len(s.StartNs) }

// EventRecords is every recorded CUDA event. Sorted by TimeNs.
type EventRecords struct {
	TimeNs  []int64 // when the event was recorded on the device or, failing that, by the call
	Process []ProcessRow
	Device  []uint32
	Context []uint32
	Stream  []uint32
	Corr    []uint32
	Event   []uint32
	SyncID  []uint32
}

// Len is the number of rows.
func (e *EventRecords) Len() int { return len(e.TimeNs) }

// GraphEvents is the making of CUDA graphs: capture, instantiation, cloning of nodes.
type GraphEvents struct {
	StartNs   []int64
	DurNs     []int64
	Thread    []ThreadRow
	Name      []StringID
	Class     []uint32 // the file's own number
	Graph     []uint32
	FromGraph []uint32
	Exec      []uint32
	Node      []uint64
	FromNode  []uint64
}

// Len is the number of rows.
func (g *GraphEvents) Len() int { return len(g.StartNs) }

// DeviceRanges is user annotations as the profiler projected them to a GPU.
type DeviceRanges struct {
	StartNs  []int64
	DurNs    []int64
	Device   []uint32
	Stream   []uint32
	Name     []StringID
	External []uint32
}

// Len is the number of rows.
func (d *DeviceRanges) Len() int { return len(d.StartNs) }

// PageFaults is page faults of unified memory.
type PageFaults struct {
	StartNs []int64
	DurNs   []int64
	Process []ProcessRow
	Device  []uint32 // NoDevice: a fault of the CPU
	Addr    []uint64
	Count   []int64
	Access  []uint8 // the file's own number
}

// Len is the number of rows.
func (p *PageFaults) Len() int { return len(p.StartNs) }

// DeviceAllocs is cudaMalloc and cudaFree as the driver saw them.
type DeviceAllocs struct {
	TimeNs  []int64
	Process []ProcessRow
	Device  []uint32
	Context []uint32
	Addr    []uint64
	Bytes   []int64 // of the block; negative when it is released
	Mem     []MemKind
	Corr    []uint32
	Name    []StringID
}

// Len is the number of rows.
func (d *DeviceAllocs) Len() int { return len(d.TimeNs) }

// Counters is samples of the tracks. Sorted by (Track, TimeNs).
type Counters struct {
	TimeNs []int64
	Track  []uint32 // row of Trace.Tracks
	Value  []float64
}

// Len is the number of rows.
func (c *Counters) Len() int { return len(c.TimeNs) }
