package exporters

import (
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// A chromeTable is a table of the model as events.
type chromeTable struct {
	cat     string
	startNs []int64
	durNs   []int64 // nil: instants
	names   []model.StringID
	plain   string // the name of rows without one
	calls   []int32
	args    []evtext.Field
	counter func(pid int64, row int) bool // nil, or writes the row as a sample of a counter, if it can
	isCall  bool
}

// at is a cell, or absent if the column is.
func at[T any](column []T, row int, absent T) T {
	if row < len(column) {
		return column[row]
	}
	return absent
}

// ownPlace is the columns that the track or the event's name says.
var ownPlace = map[string]bool{"Process": true, "Device": true, "Context": true, "Stream": true, "Thread": true,
	"Name": true, "Track": true}

// add puts every row of a table on its track.
func (c *chromeWriter) add(name string, k chromeTable, track func(row int) int) {
	for _, f := range c.fields[name] {
		if !ownPlace[f.Column] {
			k.args = append(k.args, f)
		}
	}
	kind := uint8(len(c.kinds))
	c.kinds = append(c.kinds, k)
	for row, startNs := range k.startNs {
		e := chromeEvent{startNs: startNs, endNs: startNs, kind: kind, row: uint32(row)}
		if k.durNs != nil {
			e.endNs = startNs + k.durNs[row] // below startNs if it is open
		}
		c.endNs = max(c.endNs, e.endNs)
		on := track(row) // may make a track
		x := &c.tracks[on]
		x.events = append(x.events, e)
	}
}

// tables puts every row of every timed table on its track.
func (c *chromeWriter) tables() {
	t := c.t
	c.gpuTables()
	thread := func(rows []model.ThreadRow, label string) func(int) int {
		last, track := model.NoThread, -1 // neighbours are often of one thread
		return func(row int) int {
			if th := at(rows, row, model.NoThread); track < 0 || th != last {
				last, track = th, c.host(th, label)
			}
			return track
		}
	}
	c.add("Calls", chromeTable{cat: "cuda_call", startNs: t.Calls.StartNs, durNs: t.Calls.DurNs, names: t.Calls.Name,
		isCall: true}, thread(t.Calls.Thread, ""))
	c.add("Ops", chromeTable{cat: "op", startNs: t.Ops.StartNs, durNs: t.Ops.DurNs, names: t.Ops.Name},
		thread(t.Ops.Thread, ""))
	c.add("PyCalls", chromeTable{cat: "python", startNs: t.PyCalls.StartNs, durNs: t.PyCalls.DurNs,
		names: t.PyCalls.Name}, thread(t.PyCalls.Thread, ""))
	c.add("Ranges", chromeTable{cat: "range", startNs: t.Ranges.StartNs, durNs: t.Ranges.DurNs, names: t.Ranges.Name},
		thread(t.Ranges.Thread, ""))
	c.add("Marks", chromeTable{cat: "mark", startNs: t.Marks.TimeNs, names: t.Marks.Name}, thread(t.Marks.Thread, ""))
	c.add("GraphEvents", chromeTable{cat: "graph_event", startNs: t.GraphEvents.StartNs, durNs: t.GraphEvents.DurNs,
		names: t.GraphEvents.Name}, thread(t.GraphEvents.Thread, ""))
	c.add("LibCalls", chromeTable{cat: "library", startNs: t.LibCalls.StartNs, durNs: t.LibCalls.DurNs,
		names: t.LibCalls.Name}, thread(t.LibCalls.Thread, ""))
	c.add("MPI", chromeTable{cat: "mpi", startNs: t.MPI.StartNs, durNs: t.MPI.DurNs, names: t.MPI.Name},
		thread(t.MPI.Thread, ""))
	c.add("OpenACC", chromeTable{cat: "openacc", startNs: t.OpenACC.StartNs, durNs: t.OpenACC.DurNs,
		names: t.OpenACC.Name}, thread(t.OpenACC.Thread, ""))
	c.add("OpenMP", chromeTable{cat: "openmp", startNs: t.OpenMP.StartNs, durNs: t.OpenMP.DurNs, names: t.OpenMP.Name},
		thread(t.OpenMP.Thread, ""))
	c.add("Overheads", chromeTable{cat: "overhead", startNs: t.Overheads.StartNs, durNs: t.Overheads.DurNs,
		names: t.Overheads.Name}, thread(t.Overheads.Thread, "profiler"))
	c.add("OSCalls", chromeTable{cat: "os", startNs: t.OSCalls.StartNs, durNs: t.OSCalls.DurNs, names: t.OSCalls.Name},
		thread(t.OSCalls.Thread, "OS calls"))
	c.add("Samples", chromeTable{cat: "sample", startNs: t.Samples.TimeNs, plain: "sample", names: c.innermost()},
		thread(t.Samples.Thread, "samples"))
	c.add("Sched", chromeTable{cat: "sched", startNs: t.Sched.TimeNs, plain: "context switch"},
		thread(t.Sched.Thread, "scheduling"))
	c.add("Diagnostics", chromeTable{cat: "diagnostic", startNs: t.Diagnostics.TimeNs, names: t.Diagnostics.Text},
		thread(nil, "diagnostics"))
	c.memoryTables()
}

// gpuTables puts the work of GPUs on streams.
func (c *chromeWriter) gpuTables() {
	t := c.t
	stream := func(a *model.Activity) func(int) int {
		return func(row int) int {
			return c.stream(at(a.Process, row, 0), at(a.Device, row, 0), at(a.Context, row, 0),
				at(a.Stream, row, model.NoStream), "")
		}
	}
	l := c.launches
	c.add("Kernels", chromeTable{cat: "kernel", startNs: t.Kernels.StartNs, durNs: t.Kernels.DurNs,
		names: t.Kernels.Name, calls: l.Kernels}, stream(&t.Kernels.Activity))
	c.add("Copies", chromeTable{cat: "copy", startNs: t.Copies.StartNs, durNs: t.Copies.DurNs, names: t.Copies.Name,
		plain: "copy", calls: l.Copies}, stream(&t.Copies.Activity))
	c.add("Sets", chromeTable{cat: "set", startNs: t.Sets.StartNs, durNs: t.Sets.DurNs, names: t.Sets.Name,
		plain: "memset", calls: l.Sets}, stream(&t.Sets.Activity))
	c.add("GraphRuns", chromeTable{cat: "graph", startNs: t.GraphRuns.StartNs, durNs: t.GraphRuns.DurNs,
		plain: "CUDA graph", calls: l.GraphRuns}, stream(&t.GraphRuns.Activity))
	s := &t.Syncs
	c.add("Syncs", chromeTable{cat: "wait", startNs: s.StartNs, durNs: s.DurNs, plain: "wait"}, func(row int) int {
		return c.stream(at(s.Process, row, 0), at(s.Device, row, 0), at(s.Context, row, 0),
			at(s.Stream, row, model.NoStream), "waits")
	})
	e := &t.EventRecords
	c.add("EventRecords", chromeTable{cat: "event", startNs: e.TimeNs, plain: "event record"}, func(row int) int {
		return c.stream(at(e.Process, row, 0), at(e.Device, row, 0), at(e.Context, row, 0),
			at(e.Stream, row, model.NoStream), "")
	})
	d := &t.DeviceRanges
	c.add("DeviceRanges", chromeTable{cat: "device_range", startNs: d.StartNs, durNs: d.DurNs, names: d.Name},
		func(row int) int {
			device, stream := at(d.Device, row, 0), at(d.Stream, row, model.NoStream)
			owner := c.owners[[2]uint32{device, stream}] // the zero key if it did no work
			return c.stream(owner.process, device, owner.context, stream, "ranges")
		})
}

// memoryTables puts memory and counters on their tracks.
func (c *chromeWriter) memoryTables() {
	t := c.t
	p := &t.PageFaults
	c.add("PageFaults", chromeTable{cat: "page_fault", startNs: p.StartNs, durNs: p.DurNs, plain: "page fault"},
		func(row int) int {
			return c.device(at(p.Process, row, 0), at(p.Device, row, model.NoDevice), "page faults")
		})
	d := &t.DeviceAllocs
	c.add("DeviceAllocs", chromeTable{cat: "device_alloc", startNs: d.TimeNs, names: d.Name, plain: "memory"},
		func(row int) int {
			return c.device(at(d.Process, row, 0), at(d.Device, row, model.NoDevice), "memory")
		})
	a := &t.AllocEvents
	c.add("AllocEvents", chromeTable{cat: "alloc", startNs: a.TimeNs, plain: "allocation", counter: c.allocSample},
		func(row int) int {
			return c.host(at(a.Thread, row, model.NoThread), "allocations")
		})
	c.add("Counters", chromeTable{startNs: t.Counters.TimeNs, counter: c.counterSample}, func(row int) int {
		device := uint32(model.NoDevice)
		if track := at(t.Counters.Track, row, 0); int(track) < len(t.Tracks) {
			device = t.Tracks[track].Device
		}
		return c.device(0, device, "counters")
	})
}

// innermost is the symbol of each sample's innermost frame.
func (c *chromeWriter) innermost() []model.StringID {
	out := make([]model.StringID, c.t.Samples.Len())
	for i := range out {
		if f := at(c.t.Samples.Stack, i, model.NoFrame); int(f) < len(c.t.Frames.Symbol) {
			out[i] = c.t.Frames.Symbol[f]
		}
	}
	return out
}
