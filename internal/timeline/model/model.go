// Package model holds one capture in memory: a column per field, a row per event.
//
// Every table is a struct of slices of equal length. A column may be nil when the
// capture has no such thing at all, or when it was not asked for (see Part): nil is
// "unknown", never zero. All times are int64 nanoseconds since Trace.Epoch, and all
// spans are half-open. Text is interned: a StringID is an index into Trace.Strings,
// and 0 is the empty string.
//
// Readers fill a Trace and call Finish; from then on nobody changes it.
package model

import "lacuna/internal/base/interval"

// Rows of the tables that others point to. The compiler keeps them apart.
type (
	ProcessRow    uint32
	ThreadRow     uint32
	DomainRow     uint32
	CollectiveRow uint32
	FrameRow      uint32
)

// Absent values. A column that can lack a value names its absent value here.
const (
	NoCorr       = ^uint32(0)        // no correlation ID: not launched by a recorded call
	NoExternal   = ^uint32(0)        // no external ID: not linked to a framework operator
	NoThread     = ^ThreadRow(0)     // thread unknown
	NoProcess    = ^ProcessRow(0)    // process unknown
	NoDomain     = ^DomainRow(0)     // the default NVTX domain
	NoCollective = ^CollectiveRow(0) // not a collective, or nothing known of it
	NoFrame      = ^FrameRow(0)      // no call stack
	NoStream     = ^uint32(0)        // no single stream: the whole device or context
	NoDevice     = ^uint32(0)        // device unknown
	NoSequence   = int64(-1)         // operator without a sequence number
	NoTag        = int64(-1 << 63)   // MPI call without a message tag; -1 is any tag
	NoPriority   = int32(-1)         // thread of unknown priority
	NoGraph      = uint32(0)         // not part of a CUDA graph
	OpenDurNs    = int64(-1)         // a range that was never closed
)

// A Trace is one capture. Tables are sorted as their comments say once Finish returned.
type Trace struct {
	Info    Info
	Epoch   Epoch
	Strings Strings
	Loaded  Parts // what was asked for and read; a table outside it is empty because nobody looked

	Devices   []Device
	Contexts  []Context
	Streams   []Stream
	Processes []Process
	Threads   []Thread
	Domains   []Domain
	Tracks    []CounterTrack
	Windows   []interval.Span // when recording was on, in order, if it was on more than once; nil: once, or unknown

	Kernels      Kernels
	Copies       Copies
	Sets         Sets
	GraphRuns    GraphRuns
	Calls        Calls
	Syncs        Syncs
	EventRecords EventRecords
	GraphEvents  GraphEvents
	Ops          Ops
	PyCalls      PyCalls
	Ranges       Ranges
	Marks        Marks
	DeviceRanges DeviceRanges
	Links        Links
	Collectives  Collectives
	AllocEvents  AllocEvents
	DeviceAllocs DeviceAllocs
	PageFaults   PageFaults
	OSCalls      OSCalls
	LibCalls     LibCalls
	MPI          MPI
	OpenACC      OpenACC
	OpenMP       OpenMP
	Samples      Samples
	Frames       Frames
	Sched        Sched
	Counters     Counters
	Overheads    Overheads
	Diagnostics  Diagnostics

	Losses   Ledger
	Warnings []string // sentences for people, in the order found; not part of the losses
}

// Info says where a capture comes from.
type Info struct {
	Path     string // as the user typed it
	Format   string // the reader's name, for people and files to come: nothing is decided by it
	Producer string // the tool and its version, as far as the file says: "PyTorch profiler", "Nsight Systems 2025.3.1"
	Schema   string // version of the file format, if it has one
	Host     string
	Bytes    int64  // size of the file as it lies, packed or not
	Events   int64  // events met, kept or not
	Rank     int32  // -1: unknown
	World    int32  // number of ranks, 0: unknown
	Merged   int32  // ranks that are merged into this capture: see ByRank; 0: it is of one, or its reader does not say
	Backend  string // "nccl", "gloo", …
	CUPTI    int    // 0: unknown
	Driver   int    // CUDA driver API version, 13000 is 13.0; 0: unknown
	Runtime  int    // CUDA runtime version; 0: unknown
	Command  string // the command line that was profiled, if known
	EndNs    int64  // when recording ended; 0: the file does not say. Calls may be written with later ends
	Cores    int    // CPU cores of the host; 0: unknown
	Graphs   GraphDetail
	Tool     Tool
	Meta     []KeyValue
}

// KeyValue is one line of metadata that a file holds about itself.
type KeyValue struct{ Key, Value string }

// Epoch is what time 0 of a Trace is.
type Epoch struct {
	UnixNs int64  // Unix time of time 0; 0: unknown
	Clock  string // which clock the capture's stamps come from, in words
	Unix   bool   // time 0 is that of Unix: UnixNs is known to be 0
}

// A Device is a GPU of the machine, used or not.
type Device struct {
	Ordinal        uint32 // CUDA ordinal in the process
	Name           string
	UUID           string
	ComputeMajor   int32
	ComputeMinor   int32
	SMs            int32
	WarpSize       int32
	ClockHz        int64 // SM clock, maximum
	MemoryBytes    int64
	BandwidthBps   int64 // bytes a second of device memory, theoretical
	L2Bytes        int64
	SharedPerSM    int64
	RegistersPerSM int64
	ThreadsPerSM   int64
}

// A Context is a CUDA context.
type Context struct {
	Process    ProcessRow
	Device     uint32
	ID         uint32
	NullStream uint32 // ID of the default stream; NoStream: unknown
}

// A Stream is a CUDA stream of a context.
type Stream struct {
	Process  ProcessRow
	Context  uint32
	ID       uint32
	Priority int32
	Flags    int32 // 1: non-blocking, -1: unknown
	Name     string
}

// A Process took part in the capture.
type Process struct {
	Pid  int64
	Name string
	Rank int32 // -1: unknown

	Stdout, Stderr string // the end of what it wrote, at most OutputBytes; "": nothing, or not recorded
}

// OutputBytes is how much of the end of a process's output is kept: what it says when it fails is on the last lines.
const OutputBytes = 4 << 10

// A Thread is a host thread.
type Thread struct {
	Process  ProcessRow
	Tid      int64
	Name     string
	Priority int32 // as the operating system counts; NoPriority: unknown
}

// A Domain is an NVTX domain of one process. The default domain has no row.
type Domain struct {
	Process ProcessRow
	ID      int64
	Name    string
}

// A CounterTrack is a series of measured values.
type CounterTrack struct {
	Name   string
	Unit   string
	Device uint32 // NoDevice: of the host
	Thread ThreadRow
}
