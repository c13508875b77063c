package spool

// Types of fields that are more than numbers. Times are ns.
type (
	Text uint32 // a text's ID in its stream; 0: none
	Real uint64 // CLOCK_REALTIME
	Mono uint64 // CLOCK_MONOTONIC
	GPU  uint64 // CUPTI's clock, cuptiGetTimestamp
)

// A Row is a row of a table: one of the structs below. Its fields are the table's, in the table's order; spool.h says
// what they mean. A field's name in the file is its name here in lower case, with _ between a small letter and a
// capital.
type Row interface{ table() int }

// What CUPTI records.
type (
	// A Kernel is a kernel's execution.
	Kernel struct {
		Start, End                   GPU
		Node                         uint64
		GridID                       int64
		Device, Context, Stream      uint32
		Corr                         uint32
		Name                         Text // mangled
		GridX, GridY, GridZ          int32
		BlockX, BlockY, BlockZ       int32
		SharedStatic, SharedDynamic  int32
		LocalTotal                   uint64
		Graph                        uint32
		ClusterX, ClusterY, ClusterZ uint32
		Priority                     int32
		Channel                      uint32
		Registers                    uint16
		LaunchType                   uint8
	}
	// A Copy is a copy of memory.
	Copy struct {
		Start, End                    GPU
		Bytes, Node                   uint64
		Device, Context, Stream, Corr uint32
		Graph, SrcDevice, DstDevice   uint32
		Kind, Src, Dst, Async         uint8
	}
	// A Set is a memset.
	Set struct {
		Start, End                    GPU
		Bytes, Node                   uint64
		Device, Context, Stream, Corr uint32
		Graph, Value                  uint32
		Memory                        uint8
	}
	// A Call is a call of CUDA's runtime or driver API.
	Call struct {
		Start, End GPU
		Tid, Corr  uint32
		Name       Text
		Result     uint32
		Driver     uint8 // 1: of the driver API
	}
	// A Sync is a synchronisation: a wait of the host or of a stream.
	Sync struct {
		Start, End                         GPU
		Kind, Context, Stream, Corr, Event uint32
		SyncID                             uint64
		Result                             uint32
	}
	// An Event is a CUDA event that was recorded.
	Event struct {
		Context, Stream, Corr, Event, Device uint32
		Time                                 GPU
		SyncID                               uint64
	}
	// A GraphRun is a run of a CUDA graph, recorded at graph level.
	GraphRun struct {
		Start, End                           GPU
		Device, Context, Stream, Corr, Graph uint32
	}
	// A Graph is something done to a CUDA graph.
	Graph struct {
		Time                              Real
		Tid, What, Graph, FromGraph, Exec uint32
		Node, FromNode                    uint64
		NodeType                          uint32
	}
	// An Overhead is time that CUPTI says it took.
	Overhead struct {
		Start, End              GPU
		Kind, Object, Tid, Corr uint32
	}
	// A Memory is an allocation or release of memory.
	Memory struct {
		Time                                           GPU
		Address, Bytes                                 uint64
		Operation, Kind, Device, Context, Stream, Corr uint32
		Name                                           Text
		Async                                          uint8
	}
	// A Pool is something done to a pool of memory.
	Pool struct {
		Time                                 GPU
		Address, Size, Used, Threshold, Keep uint64
		Operation, Type, Device, Corr        uint32
	}
	// A JIT is a compilation or load of code.
	JIT struct {
		Start, End                     GPU
		Entry, Operation, Device, Corr uint32
		Bytes                          uint64
		Path                           Text
		Tid                            uint32
	}
)

// What there is: devices, contexts, streams, modules, threads.
type (
	// A Stream is a CUDA stream.
	Stream struct{ Context, Stream, Priority, Flags uint32 }
	// A Context is a CUDA context.
	Context struct{ Context, Device, NullStream, API uint32 }
	// A Device is a GPU.
	Device struct {
		Device                                      uint32
		Name, UUID                                  Text
		Major, Minor, SMs, Warp, ClockKHz           uint32
		BandwidthKBs, Memory                        uint64
		L2, SharedPerSM, RegistersPerSM, WarpsPerSM uint32
	}
	// A Module is a module of GPU code, loaded or unloaded.
	Module struct {
		Time   Real
		Module uint32
		Bytes  uint64
		Loaded uint8
	}
	// A Thread is a thread's name.
	Thread struct {
		Tid  uint32
		Name Text
	}
)

// What NVTX says.
type (
	// An NVTX is a call of NVTX.
	NVTX struct {
		Time                  Real
		ID, Payload           uint64
		Tid, Domain, Category uint32
		Name, Extended        Text
		Color                 uint32
		What, PayloadType     uint8
	}
	// A Domain is an NVTX domain.
	Domain struct {
		Domain uint32
		Name   Text
	}
	// A Category is an NVTX category.
	Category struct {
		Domain, Category uint32
		Name             Text
	}
)

// What NVTX.What says.
const (
	NVTXPush  = 1
	NVTXPop   = 2
	NVTXStart = 3
	NVTXEnd   = 4
	NVTXMark  = 5
)

// What both sides say of the recording itself.
type (
	// A Clock is one moment in every clock.
	Clock struct {
		GPU   GPU // 0: CUPTI was not there
		Real  Real
		Mono  Mono
		TSC   uint64
		Width uint32 // ns from the first reading to the last
	}
	// A Window says that recording began or ended.
	Window struct {
		Time Real
		On   uint8
		Why  Text
	}
	// An Account is what the agent did so far, since the stream began.
	Account struct {
		Time                                                           Real
		Records, Launched, Kernels, Unfinished, CuptiDropped, Dropped  uint64
		NVTX, NvtxNs, Callbacks, CallbackNs, WriterNs, Memory, Written uint64
	}
)

// What the recorder sees.
type (
	// A Track is a series of measured values.
	Track struct {
		Track, Device    uint32 // Device: NVML's index; None: of the host
		Name, Unit, UUID Text
	}
	// A Counter is a value of a track.
	Counter struct {
		Time  Real
		Track uint32
		Value float64
	}
	// A Frame is a function on a call stack; its parent is its caller.
	Frame struct {
		Frame, Parent  uint32 // from 1; Parent 0: none
		Symbol, Module Text
	}
	// A Sample is where a thread was.
	Sample struct {
		Time                 Mono
		Pid, Tid, CPU, Frame uint32
		Weight               uint64
	}
	// A Switch is a thread that left its CPU (In 0) or got one (In 1).
	Switch struct {
		Time          Mono
		Pid, Tid, CPU uint32
		In, Preempted uint8
	}
	// A Task is a process or thread of the program.
	Task struct {
		Pid, Tid uint32
		Name     Text
	}
)

func (Kernel) table() int   { return 16 }
func (Copy) table() int     { return 17 }
func (Set) table() int      { return 18 }
func (Call) table() int     { return 19 }
func (Sync) table() int     { return 20 }
func (Event) table() int    { return 21 }
func (GraphRun) table() int { return 22 }
func (Graph) table() int    { return 23 }
func (Overhead) table() int { return 24 }
func (Memory) table() int   { return 25 }
func (Pool) table() int     { return 26 }
func (Stream) table() int   { return 27 }
func (Context) table() int  { return 28 }
func (Device) table() int   { return 29 }
func (Module) table() int   { return 30 }
func (JIT) table() int      { return 31 }
func (NVTX) table() int     { return 32 }
func (Domain) table() int   { return 33 }
func (Category) table() int { return 34 }
func (Thread) table() int   { return 35 }
func (Clock) table() int    { return 36 }
func (Window) table() int   { return 37 }
func (Account) table() int  { return 38 }
func (Track) table() int    { return 39 }
func (Counter) table() int  { return 40 }
func (Frame) table() int    { return 41 }
func (Sample) table() int   { return 42 }
func (Switch) table() int   { return 43 }
func (Task) table() int     { return 44 }

// ours is a row of every table, in the order of their numbers.
func ours() []Row {
	return []Row{
		Kernel{}, Copy{}, Set{}, Call{}, Sync{}, Event{}, GraphRun{}, Graph{}, Overhead{}, Memory{}, Pool{}, Stream{},
		Context{},
		Device{}, Module{}, JIT{}, NVTX{}, Domain{}, Category{}, Thread{}, Clock{}, Window{}, Account{}, Track{},
		Counter{},
		Frame{}, Sample{}, Switch{}, Task{},
	}
}
