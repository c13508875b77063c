package nsys

import (
	"strings"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

func (r *reading) syncs() {
	s := &r.trace.Syncs
	columns := []string{"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType",
		"eventId", "eventSyncId"}
	old := r.schemaBefore(3, 16)
	alloc := func(n int, _ func(int) bool) {
		grow(n, &s.StartNs, &s.DurNs, &s.Process, &s.Device, &s.Context, &s.Stream, &s.Kind, &s.Corr, &s.Event,
			&s.SyncID)
	}
	r.scan(s, alloc, source{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, func(w *worker, i int) bool {
		if !w.span(s.StartNs, s.DurNs, i) {
			return false
		}
		s.Device[i], s.Context[i], s.Stream[i] = w.u32(2, model.NoDevice), w.u32(3, 0), w.u32(4, model.NoStream)
		s.Corr[i], s.Process[i] = w.corr(5), w.process(6)
		s.Kind[i], s.Event[i], s.SyncID[i] = syncNumber(w.i64(7, 0), old), w.u32(8, model.NoCorr), w.u32(9, 0)
		return true
	}})
	r.syncDevices()
	r.syncKinds()
}

// syncDevices takes the device of a synchronisation from its context: CUPTI writes 0, whichever device it is.
func (r *reading) syncDevices() {
	type context struct {
		process model.ProcessRow
		id      uint32
	}
	device := make(map[context]uint32)
	for _, c := range r.trace.Contexts {
		device[context{c.Process, c.ID}] = c.Device
	}
	s := &r.trace.Syncs
	for i := range s.Device {
		if d, known := device[context{s.Process[i], s.Context[i]}]; known && d != model.NoDevice {
			s.Device[i] = d
		}
	}
}

// syncNumber is what syncType means where the call is not known. Its numbers changed with Nsight
// Systems 2024.6, schema 3.16; the file's own labels are wrong for most versions (docs/formats/nsys.md).
func syncNumber(v int64, old bool) model.SyncKind {
	switch {
	case old && v == 1, !old && v == 4:
		return model.SyncContext
	case old && v == 2, !old && v == 1:
		return model.SyncEvent
	case v == 3, !old && v == 2:
		return model.SyncStream
	}
	return model.SyncUnknown
}

// syncName is what a call of that name waits for.
func syncName(name string) model.SyncKind {
	switch {
	case strings.Contains(name, "StreamWaitEvent"):
		return model.SyncStreamWait
	case strings.Contains(name, "StreamSynchronize"), strings.Contains(name, "StreamQuery"):
		return model.SyncStream
	case strings.Contains(name, "EventSynchronize"), strings.Contains(name, "EventQuery"):
		return model.SyncEvent
	case strings.Contains(name, "CtxSynchronize"), strings.Contains(name, "DeviceSynchronize"):
		return model.SyncContext
	}
	return model.SyncUnknown
}

// syncKinds lets the name of the call that made a record say what kind it is: the only dependable source.
func (r *reading) syncKinds() {
	s, kinds := &r.trace.Syncs, make(map[model.StringID]model.SyncKind)
	if s.Len() == 0 {
		return
	}
	for id := 1; id < r.trace.Strings.Len(); id++ {
		if k := syncName(r.trace.Strings.Text(model.StringID(id))); k != model.SyncUnknown {
			kinds[model.StringID(id)] = k
		}
	}
	type call struct {
		process model.ProcessRow
		corr    uint32
	}
	made := make(map[call]model.SyncKind)
	if c := &r.trace.Calls; c.Len() > 0 {
		for i, name := range c.Name {
			if k := kinds[name]; k != model.SyncUnknown && c.Thread[i] != model.NoThread {
				made[call{r.trace.Threads[c.Thread[i]].Process, c.Corr[i]}] = k
			}
		}
	} else {
		r.each("CUPTI_ACTIVITY_KIND_RUNTIME", []string{"globalTid", "correlationId", "nameId"}, func(row *sqlite.Row) {
			tid, _ := row.Int(0)
			corr, _ := row.Int(1)
			id, ok := row.Int(2)
			if name, found := r.texts.id(id); ok && found && kinds[name] != model.SyncUnknown {
				if p, seen := r.procs[tid&processMask]; seen {
					made[call{model.ProcessRow(p), uint32(corr)}] = kinds[name]
				}
			}
		})
	}
	for i, corr := range s.Corr {
		if k := made[call{s.Process[i], corr}]; k != model.SyncUnknown && corr != model.NoCorr {
			s.Kind[i] = k
		}
	}
}

// eventRecords reads recorded events. Before schema 3.24 a record has no time of its own and takes its call's start.
func (r *reading) eventRecords() {
	e := &r.trace.EventRecords
	columns := []string{"timestamp", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId",
		"eventSyncId"}
	var began map[[2]int64]int64
	if t := r.db.Table("CUPTI_ACTIVITY_KIND_CUDA_EVENT"); t == nil {
		return
	} else if !t.Has("timestamp") {
		began = r.callStarts()
	}
	alloc := func(n int, _ func(int) bool) {
		grow(n, &e.TimeNs, &e.Process, &e.Device, &e.Context, &e.Stream, &e.Corr, &e.Event, &e.SyncID)
	}
	r.scan(e, alloc, source{"CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, func(w *worker, i int) bool {
		if began == nil {
			t, ok := w.time(0)
			if !ok {
				return false
			}
			e.TimeNs[i] = t
		} else {
			t, ok := began[[2]int64{w.i64(5, 0), w.i64(4, 0)}]
			if !ok {
				w.lose(model.LossBadTime, -1, "has no time and no call")
				return false
			}
			e.TimeNs[i] = t
		}
		e.Device[i], e.Context[i], e.Stream[i] = w.u32(1, model.NoDevice), w.u32(2, 0), w.u32(3, model.NoStream)
		e.Corr[i], e.Process[i] = w.corr(4), w.process(5)
		e.Event[i], e.SyncID[i] = w.u32(6, 0), w.u32(7, 0)
		return true
	}})
}

// callStarts is when the calls that record events began, by globalPid and correlation ID.
func (r *reading) callStarts() map[[2]int64]int64 {
	out := make(map[[2]int64]int64)
	r.each("CUPTI_ACTIVITY_KIND_RUNTIME", []string{"globalTid", "correlationId", "nameId", "start"},
		func(row *sqlite.Row) {
			if !strings.Contains(r.string(row, 2), "EventRecord") {
				return
			}
			tid, _ := row.Int(0)
			corr, _ := row.Int(1)
			if start, ok := row.Int(3); ok && start >= -maxNs && start <= maxNs {
				out[[2]int64{tid & processMask, corr}] = start
			}
		})
	return out
}
