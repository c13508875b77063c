package spool

import (
	"fmt"
	"slices"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
)

func (r *reading) calls(s *stream, c *raw.Chunk) {
	t := &r.trace.Calls
	r.spans(c, &t.StartNs, &t.DurNs)
	t.Thread, t.Name, t.Class = raw.Grow(t.Thread, c.Count), raw.Grow(t.Name, c.Count), raw.Grow(t.Class, c.Count)
	for _, tid := range r.ids(c, "tid") {
		t.Thread = append(t.Thread, r.thread(s, tid))
	}
	for _, id := range r.ids(c, "name") {
		t.Name = append(t.Name, r.text(s, id))
	}
	t.Corr = appendCorr(t.Corr, c)
	for _, driver := range r.ids(c, "driver") {
		class := model.CallRuntime
		if driver != 0 {
			class = model.CallDriver
		}
		t.Class = append(t.Class, class)
	}
	t.Return = raw.Append(t.Return, c.Column("result"), c.Count, 0)
}

// dropNested marks the driver's calls that lie inside a runtime's call of the same thread and correlation ID: that is
// one call, of which CUPTI tells twice.
func (r *reading) dropNested(rows span, calls *callIndex) {
	t := &r.trace.Calls
	for i := rows.From; i < rows.To; i++ {
		if t.Class[i] != model.CallDriver || t.Corr[i] == model.NoCorr {
			continue
		}
		outer := calls.find(t.Corr[i])
		if outer != i && t.Class[outer] == model.CallRuntime && t.Thread[outer] == t.Thread[i] &&
			t.StartNs[outer] <= t.StartNs[i] && t.EndNs(i) <= t.EndNs(outer) {
			r.nested = append(r.nested, uint32(i))
		}
	}
}

// withoutNested takes the marked calls out.
func (r *reading) withoutNested() {
	if len(r.nested) == 0 {
		return
	}
	t := &r.trace.Calls
	kept := make([]uint32, 0, t.Len()-len(r.nested))
	next := 0
	for i := range uint32(t.Len()) {
		if next < len(r.nested) && r.nested[next] == i {
			next++
			continue
		}
		kept = append(kept, i)
	}
	model.Permute(t, kept)
}

// syncs reads synchronisation records: CUPTI's kinds are the model's.
func (r *reading) syncs(s *stream, c *raw.Chunk) {
	t := &r.trace.Syncs
	r.spans(c, &t.StartNs, &t.DurNs)
	t.Process = appendSame(t.Process, s.process, c.Count)
	t.Device = appendSame(t.Device, model.NoDevice, c.Count) // its context's: see places
	t.Context = raw.Append(t.Context, c.Column("context"), c.Count, 0)
	t.Stream = raw.Append(t.Stream, c.Column("stream"), c.Count, model.NoStream)
	t.Corr = appendCorr(t.Corr, c)
	t.Event = raw.Append(t.Event, c.Column("event"), c.Count, model.NoCorr)
	kind, id := c.Column("kind"), c.Column("sync_id")
	for i := range c.Count {
		k := model.SyncUnknown
		if v := raw.At[uint32](kind, i); v <= uint32(model.SyncContext) {
			k = model.SyncKind(v)
		}
		t.Kind = append(t.Kind, k)
		t.SyncID = append(t.SyncID, s.syncID(id, i))
	}
	t.RecordCorr = appendSame(t.RecordCorr, model.NoCorr, c.Count)
}

// syncID is our number of a synchronisation ID, which has 64 bits in CUPTI; 0: none.
func (s *stream) syncID(column raw.Column, i int) uint32 {
	v := raw.At[uint64](column, i)
	if v == 0 || v == ^uint64(0) {
		return 0
	}
	id, ok := s.syncIDs[v]
	if !ok {
		id = uint32(len(s.syncIDs) + 1)
		s.syncIDs[v] = id
	}
	return id
}

// events reads recorded events. One without a time of its own gets its call's: see eventTimes.
func (r *reading) events(s *stream, c *raw.Chunk) {
	t := &r.trace.EventRecords
	c.Keep(func(i int) bool { return raw.At[uint64](c.Column("time"), i) < maxNs })
	t.TimeNs = raw.Append[int64](t.TimeNs, c.Column("time"), c.Count, 0)
	t.Process = appendSame(t.Process, s.process, c.Count)
	t.Device = raw.Append(t.Device, c.Column("device"), c.Count, model.NoDevice)
	t.Context = raw.Append(t.Context, c.Column("context"), c.Count, 0)
	t.Stream = raw.Append(t.Stream, c.Column("stream"), c.Count, model.NoStream)
	t.Corr = appendCorr(t.Corr, c)
	t.Event = raw.Append(t.Event, c.Column("event"), c.Count, model.NoCorr)
	id := c.Column("sync_id")
	for i := range c.Count {
		t.SyncID = append(t.SyncID, s.syncID(id, i))
	}
}

// eventTimes gives an event the start of the call that records it where CUPTI gave no time, which it does only from
// 12.8 on and if asked. One without a call either keeps 0 and is left out at the end.
func (r *reading) eventTimes(rows span, calls *callIndex) {
	t := &r.trace.EventRecords
	for i := rows.From; i < rows.To; i++ {
		if t.TimeNs[i] != 0 {
			continue
		}
		if call := calls.find(t.Corr[i]); call >= 0 {
			t.TimeNs[i] = r.trace.Calls.StartNs[call]
		} else {
			r.trace.Losses.Add(model.LossBadTime, 1,
				fmt.Sprintf("event: correlation %d has no time and no call", t.Corr[i]))
		}
	}
}

// withoutTime takes events out that got no time.
func (r *reading) withoutTime() {
	t := &r.trace.EventRecords
	kept := make([]uint32, 0, t.Len())
	for i, ns := range t.TimeNs {
		if ns != 0 {
			kept = append(kept, uint32(i))
		}
	}
	if len(kept) < t.Len() {
		model.Permute(t, kept)
	}
}

// recorded finds, for each wait for an event, the call that recorded it last before the wait was called: that is what
// CUDA waits for. CUPTI says so itself from 12.8 on.
func (r *reading) recorded(syncs, events span, calls *callIndex) {
	type event struct {
		context, id uint32
	}
	type record struct {
		ns   int64
		corr uint32
	}
	e, t, c := &r.trace.EventRecords, &r.trace.Syncs, &r.trace.Calls
	records := make(map[event][]record)
	for i := events.From; i < events.To; i++ {
		call := calls.find(e.Corr[i])
		if call >= 0 && e.SyncID[i] == 0 && e.Event[i] != model.NoCorr {
			key := event{e.Context[i], e.Event[i]}
			records[key] = append(records[key], record{c.StartNs[call], e.Corr[i]})
		}
	}
	if len(records) == 0 {
		return
	}
	for _, list := range records {
		slices.SortStableFunc(list, func(a, b record) int { return int(min(max(a.ns-b.ns, -1), 1)) })
	}
	for i := syncs.From; i < syncs.To; i++ {
		call := calls.find(t.Corr[i])
		if call < 0 || t.Kind[i] != model.SyncEvent && t.Kind[i] != model.SyncStreamWait {
			continue
		}
		list := records[event{t.Context[i], t.Event[i]}]
		n, _ := slices.BinarySearchFunc(list, c.StartNs[call],
			func(x record, ns int64) int { return int(min(max(x.ns-ns, -1), 1)) })
		if n > 0 {
			t.RecordCorr[i] = list[n-1].corr
		}
	}
}

// overheadKinds is CUpti_ActivityOverheadKind.
var overheadKinds = map[uint32]string{
	1: "driver compiler", 1 << 16: "CUPTI buffer flush", 2 << 16: "CUPTI instrumentation", 3 << 16: "CUPTI resource",
	4 << 16: "runtime triggered module loading", 5 << 16: "lazy function loading", 6 << 16: "command buffer full",
	7 << 16: "activity buffer request", 8 << 16: "UVM activity initialisation",
}

func (r *reading) overheads(s *stream, c *raw.Chunk) {
	t := &r.trace.Overheads
	r.spans(c, &t.StartNs, &t.DurNs)
	kind, tid := c.Column("kind"), c.Column("tid")
	for i := range c.Count {
		k := raw.At[uint32](kind, i)
		name, ok := overheadKinds[k]
		if !ok {
			name = fmt.Sprintf("overhead %d", k)
		}
		thread := model.NoThread
		if id := raw.At[uint32](tid, i); id != 0 {
			thread = r.thread(s, id)
		}
		t.Name, t.Thread = append(t.Name, r.trace.Strings.Intern(name)), append(t.Thread, thread)
	}
}
