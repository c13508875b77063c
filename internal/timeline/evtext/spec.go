package evtext

import (
	"math"
	"strings"

	"lacuna/internal/timeline/model"
)

// keywords is how a line of a table begins. A table that is not listed is spelled by its own
// name in lower case, so a new one is never left out.
var keywords = map[string]string{
	"Kernels": "kernel", "Copies": "copy", "Sets": "set", "GraphRuns": "graph", "Calls": "call",
	"Syncs": "sync", "EventRecords": "event", "GraphEvents": "graphevent", "Ops": "op", "PyCalls": "py",
	"Ranges": "range", "Marks": "mark", "DeviceRanges": "devrange", "Links": "link",
	"Collectives": "collective", "AllocEvents": "alloc", "DeviceAllocs": "dalloc", "PageFaults": "fault",
	"OSCalls": "os", "LibCalls": "lib", "MPI": "mpi", "OpenACC": "acc", "OpenMP": "omp",
	"Samples": "sample", "Frames": "frame", "Sched": "sched", "Counters": "counter",
	"Overheads": "overhead", "Diagnostics": "diag",

	"Info": "info", "Tool": "tool", "Epoch": "epoch", "Devices": "device", "Contexts": "context", "Streams": "stream",
	"Processes": "process", "Threads": "thread", "Domains": "domain", "Tracks": "track",
}

// shorts is the columns written as a letter and a number.
var shorts = map[string]string{
	"Stream": "s", "Device": "d", "Thread": "t", "Process": "p", "Corr": "c", "External": "x",
}

// restColumn is the column that is the rest of the line; Name unless listed.
var restColumn = map[string]string{
	"Frames": "Symbol", "Diagnostics": "Text", "Epoch": "Clock",
}

// numberColumn is the column of a dimension that stands as a bare number behind the keyword.
var numberColumn = map[string]string{"Devices": "Ordinal", "Contexts": "ID", "Streams": "ID"}

// numbered is the tables whose rows others point to, by number from 1.
var numbered = map[string]bool{
	"Processes": true, "Threads": true, "Domains": true, "Tracks": true, "Collectives": true, "Frames": true,
}

// core is the columns that Parse makes even if no line mentions them, since a row cannot do
// without. Others are nil until a line does. Table.Column overrides Column.
var core = map[string]bool{
	"StartNs": true, "DurNs": true, "TimeNs": true, "Process": true, "Device": true, "Context": true,
	"Stream": true, "Thread": true, "Corr": true, "Name": true, "Kind": true, "Src": true, "Dst": true,
	"Bytes": true, "Class": true, "Domain": true, "Symbol": true, "Text": true, "Track": true, "Value": true,
	"FromNs": true, "FromThread": true, "ToNs": true, "ToThread": true, "DeltaBytes": true, "In": true,
	"Ops.External": true, "Ops.Sequence": true, "Links.ID": true, "Frames.Parent": true,
	"Copies.Name": false, "Sets.Name": false, "Sets.Value": false, "OSCalls.Class": false,
	"GraphEvents.Class": false, "OpenACC.Bytes": false, "OpenACC.Device": false,
}

// defaults is what a row has that does not mention a column, where that is not zero (of row
// numbers: none). Table.Column overrides Column.
var defaults = map[string]float64{
	"Corr": none, "External": none, "Event": none, "RecordCorr": none, "OnStream": none,
	"SrcDevice": none, "DstDevice": none, "NullStream": none, "Syncs.Stream": none,
	"Tracks.Device": none,
	"Context":       1, "Stream": 7,
	"Sequence": -1, "Seq": -1, "Peer": -1, "Rank": -1, "SendBytes": -1, "RecvBytes": -1,
	"AllocatedBytes": -1, "ReservedBytes": -1, "PyCalls.Parent": -1, "Flags": -1,
	"GBs": math.NaN(), "Tag": float64(model.NoTag), "Threads.Priority": float64(model.NoPriority),
}

// none is the absent value of every uint32 column that has one.
const none = math.MaxUint32

// noThread is the columns of threads that may lack one; others have thread 1.
var noThread = map[string]bool{"EndThread": true, "Tracks.Thread": true}

// always is the columns that are printed even if they have their default: the text reads better.
var always = map[string]bool{"Stream": true, "Counters.Track": true, "Counters.Value": true, "DeltaBytes": true,
	"Tid": true, "Pid": true}

// enumWords is the words for the values of an enumeration, by type.
var (
	copyKinds = map[model.CopyKind]string{
		model.CopyHtoD: "HtoD", model.CopyDtoH: "DtoH", model.CopyHtoA: "HtoA", model.CopyAtoH: "AtoH",
		model.CopyDtoD: "DtoD", model.CopyHtoH: "HtoH", model.CopyPtoP: "PtoP",
		model.CopyUMHtoD: "UM-HtoD", model.CopyUMDtoH: "UM-DtoH", model.CopyUMDtoD: "UM-DtoD",
	}
	memKinds = map[model.MemKind]string{
		model.MemUnknown: "unknown", model.MemPageable: "pageable", model.MemPinned: "pinned",
		model.MemDevice: "device",
		model.MemArray:  "array", model.MemManaged: "managed", model.MemDeviceStatic: "device-static",
		model.MemManagedStatic: "managed-static",
	}
	syncKinds = map[model.SyncKind]string{
		model.SyncEvent: "event", model.SyncStreamWait: "wait", model.SyncStream: "stream",
		model.SyncContext: "context",
	}
	callClasses = map[model.CallClass]string{model.CallDriver: "driver"}
	rangeKinds  = map[model.RangeKind]string{
		model.RangeStartEnd: "startend", model.RangeAnnotation: "annotation", model.RangeProfiler: "profiler",
	}
	graphDetails = map[model.GraphDetail]string{model.GraphsWhole: "whole", model.GraphsByNode: "node"}
)

// lookup is the entry of Table.Column, else of Column.
func lookup[V any](m map[string]V, table, column string) (V, bool) {
	if v, ok := m[table+"."+column]; ok {
		return v, true
	}
	v, ok := m[column]
	return v, ok
}

// keyOf is the key of a column.
func keyOf(column string) string {
	if column == "Context" {
		return "ctx"
	}
	return strings.ToLower(strings.TrimSuffix(column, "Ns"))
}

func keywordOf(table string) string {
	if k, ok := keywords[table]; ok {
		return k
	}
	return strings.ToLower(table)
}
