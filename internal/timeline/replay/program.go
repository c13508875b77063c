// Package replay runs a capture again as a program: calls of host threads, work of devices, and
// what waits for what. Run unmodified it must take as long as was measured; run with a change
// applied it says how long the step would take then.
//
// Every edge points forward in time, so one pass over the calls in the order in which they were
// recorded is enough: O(calls + work), no event queue.
package replay

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// none marks an edge that is not there.
const none = int32(-1)

// WaitKind is what a call waits for before it returns.
type WaitKind uint8

// The kinds of waits.
const (
	WaitNothing WaitKind = iota
	WaitDevice           // all work issued to the device so far
	WaitStream           // all work issued to a stream so far
	WaitEvent            // the work before an event record
	WaitWork             // a piece of work, found by when the call returned
	WaitCopy             // the copy that the call itself issued
	WaitBigCopy          // the same, of more than the driver stages at once
	waitKinds
)

// A Call is an outermost call of a host thread. Host work lies on the edge to it, not in a node.
type Call struct {
	Row     int32 // of Trace.Calls
	Thread  int32
	Pred    int32 // the call that it follows, of its thread or of the one that handed over to it; none
	StartNs int64 // as recorded
	EndNs   int64
	GapNs   int64 // host time from Pred's end, or from the beginning, to here
	OwnNs   int64 // what it takes without waiting
	Wait    WaitKind
	WaitOn  int32 // lane of WaitStream, call that recorded the event of WaitEvent, work of WaitWork; none
	AfterNs int64 // of one that frees memory: what it takes once the work that it waits for is over; 0: Rules.ReturnNs
	First   int32 // the work that it issued is Program.Works[First : First+N]
	N       int32
	Records int32 // lane whose event it records, or none
	Step    int32 // step whose marker it was made in, none: before the first or after the last
	Dropped bool  // it is not made: what it issued is not done either, and it takes no time
	Unsure  bool  // it may be dropped as well, and the host work before it: so it is where everything is taken well

	// GapLowNs and GapHighNs bound GapNs where a change made it uncertain; GapHighNs 0: as sure as any host work.
	GapLowNs, GapHighNs int64

	// What the profiler added, by the overhead model: to the gap before it and to the call itself.
	GapOverNs int64
	OwnOverNs int64
}

// A Work is a kernel, graph node, graph, copy or memset.
type Work struct {
	Row     int32 // of facts.Work
	Lane    int32 // index of Program.Lanes
	Call    int32 // index of Program.Calls, or none: issued before the capture
	StartNs int64 // as recorded
	DurNs   int64
	After   int32 // of a graph's node: the node that it follows; none
	LagNs   int64 // of a graph's node: from the end of After, or from the graph's start
	LagHigh int64 // the lag lies between 0 and this, where a change made it uncertain; 0: it was measured
	LagOver int64 // what the profiler would add to the lag, where a change made the graph that the work is a node of
	Kind    facts.WorkKind
	Host    bool // a copy of pageable memory: the host's memory decides how long it takes
	Dropped bool

	// LowNs and HighNs bound DurNs where a change made it uncertain; 0: as sure as any duration that was measured.
	LowNs, HighNs int64
	// By is the call at whose end it counts as launched, where a change launches it earlier than its own; none: its
	// own.
	By int32
	// Needs is work that must have ended before, or none: a consumer of what a change moved to another stream.
	Needs int32
}

// A StreamWait is a call that makes a stream wait for an event: work issued to Lane after call
// Call waits for what was issued to the record's stream before call Record.
type StreamWait struct {
	Call, Lane   int32
	Record, From int32
	Dropped      bool
}

// A Program is a capture made ready to run.
type Program struct {
	Facts *facts.Facts
	Steps *facts.Steps
	Calls []Call // ordered by StartNs
	Works []Work // ordered by the calls that issue them; those without a call first
	Lanes []facts.Lane
	Waits []StreamWait // ordered by Call
	Rules Rules
	// Anchors is, for each step and for the end of the last, the work that begins it.
	Anchors []int32
	window  interval.Span
	pauses  []int64 // of each thread, the median host time between two calls

	// Left is how many of the steps looked at are not in the program, because they make too many calls.
	Left int
	// Inferred is how many waits between streams were inferred from times, because the capture does not hold them.
	Inferred int
	// Overhead is the profiler with what it is thought to have added, at this host's pace; the zero value
	// if that is not known.
	Overhead model.Tool
	// Pace is how fast the host was.
	Pace Pace
	// gone is the host time, by thread, that is not spent any more: what is left of a pause lies outside it.
	gone map[int32]interval.Set
	// Floor bounds the step from below, in ns, by what the program does not hold: other processes.
	Floor Range

	contention *contention // nil: kernels take as long as recorded, whatever runs beside them

	job       *job // the ranks that it is replayed with; nil: none
	place     int  // its place among them
	residuals *Residuals
}

// Rules is the constants of a run: the capture's own medians where it has enough of them.
type Rules struct {
	LaunchNs    int64            // from a launch call's end to the start of its work on an idle stream
	StreamGapNs int64            // between two pieces of work on one stream
	EventGapNs  int64            // from the end of work of another stream to what waits for it
	ReturnNs    [waitKinds]int64 // from the end of the awaited work to the return of the call, by what it waits for
	QueueDepth  int              // how much work of a device may be issued and not started before a launch blocks
	StubNs      int64            // what a call takes whose wait is over at once
}

// deviceOf is the device of a piece of work.
func (p *Program) deviceOf(i int32) uint32 { return p.Lanes[p.Works[i].Lane].Device }

// threads is one more than the largest thread that makes calls.
func (p *Program) threads() int32 { return int32(len(p.Facts.Trace.Threads)) }

// Defaults of Rules for captures that do not show them, measured on one H200 host (CUDA 13.0); medians of
// the corpus' captures were 1.8 to 2.4 µs, 1.0 to 1.6 µs and 3.05 µs, and a launch blocked at 1,021
// pieces of work that had not started.
const (
	defaultLaunchNs    = 2_100
	defaultStreamGapNs = 1_200
	defaultEventGapNs  = 3_000
	defaultReturnNs    = 3_000
	defaultQueueDepth  = 1021
	defaultStubNs      = 3_000
)
