package model

// CallClass is which API a call belongs to.
type CallClass uint8

// The classes of calls.
const (
	CallRuntime CallClass = iota // CUDA or HIP runtime
	CallDriver                   // CUDA driver
)

// Calls is every CUDA or HIP API call of the host. Sorted by StartNs, then longest first.
type Calls struct {
	StartNs  []int64
	DurNs    []int64 // >= 0
	Thread   []ThreadRow
	Name     []StringID // as in the file: cudaLaunchKernel_v7000, hipLaunchKernel
	Corr     []uint32   // correlation ID, unique within a process; NoCorr
	Class    []CallClass
	Return   []int32    // nil, or what it returned; 0: success
	External []uint32   // nil, or the operator it was made in; NoExternal
	Stack    []FrameRow // nil or NoFrame
}

// Len is the number of rows.
func (c *Calls) Len() int { return len(c.StartNs) }

// EndNs is the end of row i.
func (c *Calls) EndNs(i int) int64 { return c.StartNs[i] + c.DurNs[i] }

// Ops is every framework operator on the host. Sorted by StartNs, then longest first.
type Ops struct {
	StartNs    []int64
	DurNs      []int64
	Thread     []ThreadRow
	Name       []StringID
	External   []uint32   // external ID, the link to calls and GPU work; NoExternal
	Sequence   []int64    // autograd sequence number, shared by forward and backward; NoSequence
	FwdThread  []int64    // of a backward operator: the profiler's number of the forward thread; 0: none
	Shapes     []StringID // JSON text of the inputs' shapes: [[64, 512], []]
	Types      []StringID // JSON text of the inputs' types: ["float", ""]
	Strides    []StringID
	Values     []StringID // JSON text of concrete inputs
	Stack      []StringID // call stack as the file gives it, lines joined by ";" or newlines
	Module     []StringID
	Backend    []StringID // "triton" and the like; 0: none
	Collective []CollectiveRow
}

// Len is the number of rows.
func (o *Ops) Len() int { return len(o.StartNs) }

// EndNs is the end of row i.
func (o *Ops) EndNs(i int) int64 { return o.StartNs[i] + o.DurNs[i] }

// PyCalls is every Python function call. Sorted by StartNs, then longest first.
type PyCalls struct {
	StartNs []int64
	DurNs   []int64
	Thread  []ThreadRow
	Name    []StringID // "file.py(12): forward" or "nn.Module: Linear_0"
	ID      []int64
	Parent  []int64 // ID of the caller; -1: none
}

// Len is the number of rows.
func (p *PyCalls) Len() int { return len(p.StartNs) }

// RangeKind is how a range was made.
type RangeKind uint8

// The kinds of ranges.
const (
	RangePushPop    RangeKind = iota // NVTX push and pop: nests on its thread
	RangeStartEnd                    // NVTX start and end: may end on another thread
	RangeAnnotation                  // record_function of PyTorch, by the user or the framework
	RangeProfiler                    // made by the profiler itself: ProfilerStep#3
)

// Ranges is every named range on the host. Sorted by StartNs, then longest first.
type Ranges struct {
	StartNs   []int64
	DurNs     []int64 // OpenDurNs: still open when the capture ended
	Thread    []ThreadRow
	EndThread []ThreadRow // nil, or the thread that ended it where that is another one; NoThread
	Kind      []RangeKind
	Style     []uint8 // nil, or the file's own number of the kind (nsys eventType)
	Name      []StringID
	Domain    []DomainRow // NoDomain: the default domain
	DomainID  []int64     // nil, or the file's number of the domain: it may lack a name
	Category  []uint32
	RowID     []int64  // nil, or the file's number of the row, for reports that print it
	External  []uint32 // nil, or NoExternal
	Sequence  []int64  // nil, or NoSequence
	Shapes    []StringID
	Payload   []StringID // text of the payload, JSON where it is structured; 0: none
}

// Len is the number of rows.
func (r *Ranges) Len() int { return len(r.StartNs) }

// EndNs is the end of row i; of an open range, its start.
func (r *Ranges) EndNs(i int) int64 { return r.StartNs[i] + max(r.DurNs[i], 0) }

// Marks is every instant event of the host: NVTX marks and the like.
type Marks struct {
	TimeNs []int64
	Thread []ThreadRow
	Name   []StringID
	Domain []DomainRow
}

// Len is the number of rows.
func (m *Marks) Len() int { return len(m.TimeNs) }

// Links is arrows between host threads: forward operator to backward operator.
type Links struct {
	ID         []int64
	FromNs     []int64
	FromThread []ThreadRow
	ToNs       []int64
	ToThread   []ThreadRow
}

// Len is the number of rows.
func (l *Links) Len() int { return len(l.ID) }

// Collectives is what is known of a collective or point-to-point operation; kernels and operators point here.
type Collectives struct {
	Name      []StringID // allreduce, all_gather, send, …
	Group     []StringID // process group name
	GroupDesc []StringID
	Ranks     []StringID // JSON text of the group's ranks
	GroupSize []int32
	InElems   []int64
	OutElems  []int64
	InBytes   []int64 // nil, or what a rank puts in, where the communication library says it; 0: unknown
	OutBytes  []int64 // nil, or what it gets; 0: unknown
	Dtype     []StringID
	Seq       []int64 // NoSequence: unknown
	InSplit   []StringID
	OutSplit  []StringID
	Peer      []int32 // of point-to-point: the other rank; -1: none
}

// Len is the number of rows.
func (c *Collectives) Len() int { return len(c.Name) }

// AllocEvents is every allocation and release by the framework's allocator.
type AllocEvents struct {
	TimeNs         []int64
	Thread         []ThreadRow
	Device         []uint32 // NoDevice: host memory
	Addr           []uint64
	DeltaBytes     []int64 // negative: released
	AllocatedBytes []int64 // in use after it; -1: unknown
	ReservedBytes  []int64 // held by the allocator after it; -1: unknown
}

// Len is the number of rows.
func (a *AllocEvents) Len() int { return len(a.TimeNs) }

// OSCalls is every operating system call that was traced. Sorted by StartNs.
type OSCalls struct {
	StartNs []int64
	DurNs   []int64
	Thread  []ThreadRow
	Name    []StringID
	Return  []int64
	Stack   []FrameRow
	Class   []uint32 // nil, or the file's own number: 27 is a call, 31 and 32 are the tracer's marks
}

// Len is the number of rows.
func (o *OSCalls) Len() int { return len(o.StartNs) }

// LibCalls is calls of GPU libraries: cuDNN, cuBLAS.
type LibCalls struct {
	StartNs []int64
	DurNs   []int64
	Thread  []ThreadRow
	Library []StringID
	Name    []StringID
}

// Len is the number of rows.
func (l *LibCalls) Len() int { return len(l.StartNs) }

// MPI is calls of MPI.
type MPI struct {
	StartNs   []int64
	DurNs     []int64
	Thread    []ThreadRow
	Name      []StringID
	Table     []StringID // which kind of event: p2p, collective, start_wait, other
	Rank      []int32    // rank of the thread; -1: unknown
	Peer      []int32    // remote or root rank; -1: none
	Tag       []int64    // NoTag: none
	SendBytes []int64    // -1: none
	RecvBytes []int64    // -1: none
	Comm      []uint64
}

// Len is the number of rows.
func (m *MPI) Len() int { return len(m.StartNs) }

// OpenACC is events of OpenACC. Sorted by StartNs.
type OpenACC struct {
	StartNs []int64
	DurNs   []int64
	Thread  []ThreadRow
	Name    []StringID
	Table   []StringID // data, launch, other
	File    []StringID
	Func    []StringID
	Line    []int32
	Var     []StringID
	Kernel  []StringID
	Bytes   []int64
	Device  []uint32
}

// Len is the number of rows.
func (o *OpenACC) Len() int { return len(o.StartNs) }

// OpenMP is events of OpenMP. Sorted by StartNs.
type OpenMP struct {
	StartNs []int64
	DurNs   []int64
	Thread  []ThreadRow
	Name    []StringID
	Table   []StringID // parallel, task, sync_region, …
}

// Len is the number of rows.
func (o *OpenMP) Len() int { return len(o.StartNs) }

// Samples is samples of the host's instruction pointers. Sorted by TimeNs.
type Samples struct {
	TimeNs []int64
	Thread []ThreadRow
	CPU    []int32
	Weight []int64 // cycles or ns, as the file counts
	Stack  []FrameRow
}

// Len is the number of rows.
func (s *Samples) Len() int { return len(s.TimeNs) }

// Frames is call stacks as a tree: a stack is the row of its innermost frame.
type Frames struct {
	Parent []FrameRow // the caller; NoFrame: outermost
	Symbol []StringID
	Module []StringID
}

// Len is the number of rows.
func (f *Frames) Len() int { return len(f.Symbol) }

// Sched is context switches. Sorted by TimeNs.
type Sched struct {
	TimeNs []int64
	Thread []ThreadRow
	CPU    []int32
	In     []bool // scheduled in; else out
	State  []uint8
}

// Len is the number of rows.
func (s *Sched) Len() int { return len(s.TimeNs) }

// Overheads is time that the profiler itself says it took.
type Overheads struct {
	StartNs []int64
	DurNs   []int64
	Thread  []ThreadRow // NoThread: not of one thread
	Name    []StringID
}

// Len is the number of rows.
func (o *Overheads) Len() int { return len(o.StartNs) }

// Diagnostics is what the tool said about the capture.
type Diagnostics struct {
	TimeNs   []int64
	Severity []uint8 // 1 info, 2 warning, 3 error
	Source   []StringID
	Text     []StringID
}

// Len is the number of rows.
func (d *Diagnostics) Len() int { return len(d.TimeNs) }
