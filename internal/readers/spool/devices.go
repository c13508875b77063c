package spool

import (
	"cmp"
	"fmt"
	"slices"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
)

// places makes devices, contexts and streams of what the processes say of theirs, and gives what two processes call
// the same and is not the same numbers of their own.
func (r *reading) places() {
	r.devices()
	type key struct{ context, stream uint32 }
	for _, s := range r.streams {
		seen := make(map[key]bool)
		for _, c := range s.contexts {
			if k := (key{context: c.Context, stream: raw.None}); !seen[k] {
				seen[k] = true
				r.trace.Contexts = append(r.trace.Contexts,
					model.Context{Process: s.process, Device: s.device(c.Device), ID: c.Context,
						NullStream: c.NullStream})
			}
		}
		for _, c := range s.cudaStreams {
			if k := (key{c.Context, c.Stream}); !seen[k] {
				seen[k] = true
				r.trace.Streams = append(r.trace.Streams,
					model.Stream{Process: s.process, Context: c.Context, ID: c.Stream, Priority: int32(c.Priority),
						Flags: int32(c.Flags)})
			}
		}
	}
	r.syncDevices()
	r.ownStreams()
}

// A numbering gives GPUs numbers. A number is a process' own CUDA ordinal; where two processes mean different GPUs by
// one (CUDA_VISIBLE_DEVICES), as their UUIDs say, the later one gets the next free number.
type numbering struct {
	byUUID map[string]uint32
	taken  map[uint32]bool
	free   uint32 // all below it are taken, or were
}

// of is the number of a GPU; met says that it was asked for before.
func (n *numbering) of(ordinal uint32, uuid string) (number uint32, met bool) {
	if number, met = n.byUUID[uuid]; met {
		return number, true
	}
	number = ordinal
	if n.taken[ordinal] {
		if uuid == "" {
			return ordinal, true // who has no UUID is who comes first
		}
		for n.taken[n.free] {
			n.free++
		}
		number = n.free
	}
	n.taken[number] = true
	if uuid != "" {
		n.byUUID[uuid] = number
	}
	return number, false
}

// devices numbers the GPUs of all processes.
func (r *reading) devices() {
	numbers := numbering{byUUID: make(map[string]uint32), taken: make(map[uint32]bool)}
	for _, s := range r.streams {
		for _, d := range s.devices {
			uuid := r.string(s, d.UUID)
			number, met := numbers.of(d.Device, uuid)
			if number != d.Device {
				if s.ordinals == nil {
					s.ordinals = make(map[uint32]uint32)
				}
				s.ordinals[d.Device] = number
			}
			if !met {
				r.trace.Devices = append(r.trace.Devices, r.deviceOf(s, d, number, uuid))
			}
		}
	}
	slices.SortStableFunc(r.trace.Devices, func(a, b model.Device) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, s := range r.streams {
		if s.ordinals != nil {
			r.renumber(s)
		}
	}
}

// deviceOf is a GPU as CUPTI describes it.
func (r *reading) deviceOf(s *stream, d raw.Device, number uint32, uuid string) model.Device {
	small := func(v uint32) int32 { return int32(min(v, 1<<31-1)) }
	return model.Device{
		Ordinal: number, Name: r.string(s, d.Name), UUID: uuid, ComputeMajor: small(d.Major),
		ComputeMinor: small(d.Minor), SMs: small(d.SMs), WarpSize: small(d.Warp),
		ClockHz: int64(d.ClockKHz) * 1000, MemoryBytes: int64(min(d.Memory, 1<<62)),
		BandwidthBps: int64(min(d.BandwidthKBs, 1<<52)) * 1000, L2Bytes: int64(d.L2),
		SharedPerSM: int64(d.SharedPerSM), RegistersPerSM: int64(d.RegistersPerSM),
		ThreadsPerSM: int64(small(d.WarpsPerSM)) * int64(small(d.Warp)),
	}
}

// device is our number of what a process calls a device.
func (s *stream) device(ordinal uint32) uint32 {
	if number, ok := s.ordinals[ordinal]; ok {
		return number
	}
	return ordinal
}

// renumber gives the devices in a stream's rows our numbers.
func (r *reading) renumber(s *stream) {
	t := r.trace
	for name, columns := range map[string][][]uint32{
		"Kernels": {t.Kernels.Device}, "Copies": {t.Copies.Device, t.Copies.SrcDevice, t.Copies.DstDevice},
		"Sets": {t.Sets.Device}, "GraphRuns": {t.GraphRuns.Device},
		"EventRecords": {t.EventRecords.Device}, "DeviceAllocs": {t.DeviceAllocs.Device},
	} {
		for _, column := range columns {
			for i := s.rows[name].From; i < s.rows[name].To; i++ {
				column[i] = s.device(column[i])
			}
		}
	}
}

// syncDevices takes the device of synchronisations, and of events where CUPTI does not say it, from their contexts.
func (r *reading) syncDevices() {
	type context struct {
		process model.ProcessRow
		id      uint32
	}
	of := make(map[context]uint32)
	for _, c := range r.trace.Contexts {
		of[context{c.Process, c.ID}] = c.Device
	}
	learn := func(a *model.Activity) { // a context of which no record was kept shows by its work
		for i := range a.Len() {
			k := context{a.Process[i], a.Context[i]}
			if _, known := of[k]; !known {
				of[k] = a.Device[i]
			}
		}
	}
	y, e := &r.trace.Syncs, &r.trace.EventRecords
	if y.Len()+e.Len() > 0 {
		learn(&r.trace.Kernels.Activity)
		learn(&r.trace.Copies.Activity)
	}
	for i := range y.Device {
		if d, known := of[context{y.Process[i], y.Context[i]}]; known {
			y.Device[i] = d
		}
	}
	for i, d := range e.Device {
		if known, ok := of[context{e.Process[i], e.Context[i]}]; ok && d == model.NoDevice {
			e.Device[i] = known
		}
	}
}

// A lane is a stream of a device, which the model's readers take for one queue.
type lane struct{ device, stream uint32 }

// ownStreams gives a stream that a process has on a device where another process has one of that number a number that
// is free there: CUPTI numbers streams within a process.
func (r *reading) ownStreams() {
	owner, most := make(map[lane]model.ProcessRow), make(map[uint32]uint32)
	changed := make(map[model.ProcessRow]map[lane]uint32)
	tables := []*model.Activity{&r.trace.Kernels.Activity, &r.trace.Copies.Activity, &r.trace.Sets.Activity,
		&r.trace.GraphRuns.Activity}
	if len(r.streams) < 2 {
		return
	}
	for _, a := range tables {
		for i, stream := range a.Stream {
			if stream != model.NoStream {
				most[a.Device[i]] = max(most[a.Device[i]], stream)
			}
		}
	}
	for _, a := range tables {
		for i, stream := range a.Stream {
			l, p := lane{a.Device[i], stream}, a.Process[i]
			if first, seen := owner[l]; !seen {
				owner[l] = p
			} else if first != p && stream != model.NoStream && most[l.device] < 1<<31 {
				if changed[p] == nil {
					changed[p] = make(map[lane]uint32)
				}
				if _, done := changed[p][l]; !done {
					most[l.device]++
					changed[p][l] = most[l.device]
				}
			}
		}
	}
	if len(changed) == 0 {
		return
	}
	for _, a := range tables {
		for i, stream := range a.Stream {
			if n, ok := changed[a.Process[i]][lane{a.Device[i], stream}]; ok {
				a.Stream[i] = n
			}
		}
	}
	r.movedStreams(changed)
}

// movedStreams gives synchronisations, events and the list of streams the numbers that ownStreams gave out.
func (r *reading) movedStreams(changed map[model.ProcessRow]map[lane]uint32) {
	y, e := &r.trace.Syncs, &r.trace.EventRecords
	for i, stream := range y.Stream {
		if n, ok := changed[y.Process[i]][lane{y.Device[i], stream}]; ok {
			y.Stream[i] = n
		}
	}
	for i, stream := range e.Stream {
		if n, ok := changed[e.Process[i]][lane{e.Device[i], stream}]; ok {
			e.Stream[i] = n
		}
	}
	moved := 0
	devices := make(map[[2]uint32]uint32) // by process and context
	for _, c := range r.trace.Contexts {
		devices[[2]uint32{uint32(c.Process), c.ID}] = c.Device
	}
	for i := range r.trace.Streams {
		x := &r.trace.Streams[i]
		if n, ok := changed[x.Process][lane{devices[[2]uint32{uint32(x.Process), x.Context}], x.ID}]; ok {
			x.ID = n
		}
	}
	for i := range r.trace.Contexts {
		x := &r.trace.Contexts[i]
		if n, ok := changed[x.Process][lane{x.Device, x.NullStream}]; ok {
			x.NullStream = n
		}
	}
	for _, lanes := range changed {
		moved += len(lanes)
	}
	r.meta("streams renumbered", fmt.Sprintf("%d: processes that share a device use the same numbers for streams "+
		"of their own", moved))
}
