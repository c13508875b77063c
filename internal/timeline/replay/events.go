package replay

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// addEventWaits finds which calls record events, on which streams, and which streams wait for them. It returns, by row
// of a call with which the host waits for an event, the call that recorded it.
// Only records that name both sides count: guessing the stream of a record from the launches around it
// is wrong as often as right.
func (p *Program) addEventWaits(outer []int32) map[int32]int32 {
	t := p.Facts.Trace
	laneOf := make(map[facts.Lane]int32, len(p.Lanes))
	for i, l := range p.Lanes {
		laneOf[l] = int32(i)
	}
	known := p.recorders(outer)
	for _, rec := range known.byCorr {
		if lane, known := laneOf[rec.stream]; known {
			p.Calls[rec.call].Records = lane
		}
	}
	hostWaits := make(map[int32]int32)
	for i, kind := range t.Syncs.Kind {
		call := p.Facts.Launches().Syncs[i]
		if kind != model.SyncStreamWait && kind != model.SyncEvent || call == facts.NoCall || outer[call] == none {
			continue
		}
		rec, found := p.recordOf(i, outer[call], known)
		from, ran := laneOf[rec.stream]
		if !found || !ran || rec.call >= outer[call] {
			continue
		}
		if kind == model.SyncEvent {
			hostWaits[call] = rec.call
			continue
		}
		lane, ran := laneOf[facts.Lane{Device: t.Syncs.Device[i], Stream: t.Syncs.Stream[i]}]
		if ran && from != lane {
			p.Waits = append(p.Waits, StreamWait{Call: outer[call], Lane: lane, Record: rec.call, From: from})
		}
	}
	slices.SortStableFunc(p.Waits, func(a, b StreamWait) int { return cmp.Compare(a.Call, b.Call) })
	return hostWaits
}

// recordOf is the event record that the synchronisation record of a call waits for. Where only the event is told, it
// is the last one of that event before the call.
func (p *Program) recordOf(i int, call int32, known *recorders) (recorder, bool) {
	s := &p.Facts.Trace.Syncs
	if i < len(s.RecordCorr) && s.RecordCorr[i] != model.NoCorr {
		rec, ok := known.byCorr[processCorr{s.Process[i], s.RecordCorr[i]}]
		return rec, ok
	}
	if i < len(s.SyncID) && s.SyncID[i] != 0 {
		rec, ok := known.bySync[processCorr{s.Process[i], s.SyncID[i]}]
		return rec, ok
	}
	if i < len(s.Event) && s.Event[i] != model.NoCorr {
		list := known.byEvent[processEvent{s.Process[i], s.Context[i], s.Event[i]}]
		n, _ := slices.BinarySearchFunc(list, call, func(r recorder, c int32) int { return cmp.Compare(r.call, c) })
		if n > 0 {
			return list[n-1], true
		}
	}
	return recorder{}, false
}

type processCorr struct {
	process model.ProcessRow
	corr    uint32
}

// A recorder is the call that recorded an event, and the stream that it was recorded on.
type recorder struct {
	call   int32
	stream facts.Lane
}

type processEvent struct {
	process        model.ProcessRow
	context, event uint32
}

// recorders is the event records by correlation ID, by synchronisation ID, and those of an event in order.
type recorders struct {
	byCorr, bySync map[processCorr]recorder
	byEvent        map[processEvent][]recorder
}

// recorders finds event records.
func (p *Program) recorders(outer []int32) *recorders {
	t := p.Facts.Trace
	k := &recorders{make(map[processCorr]recorder), make(map[processCorr]recorder),
		make(map[processEvent][]recorder)}
	if t.EventRecords.Len() == 0 && t.Syncs.Len() == 0 {
		return k
	}
	calls := make(map[processCorr]int32)
	for i, corr := range t.Calls.Corr {
		if corr != model.NoCorr && outer[i] != none && isRecord(facts.BaseCallName(t.Strings.Text(t.Calls.Name[i]))) {
			calls[processCorr{p.Facts.ProcessOf(t.Calls.Thread[i]), corr}] = outer[i]
		}
	}
	e := &t.EventRecords
	for i := range e.Len() {
		c, ok := calls[processCorr{e.Process[i], e.Corr[i]}]
		if !ok {
			continue
		}
		rec := recorder{c, facts.Lane{Device: e.Device[i], Stream: e.Stream[i]}}
		k.byCorr[processCorr{e.Process[i], e.Corr[i]}] = rec
		if i < len(e.SyncID) && e.SyncID[i] != 0 {
			k.bySync[processCorr{e.Process[i], e.SyncID[i]}] = rec
		}
		if i < len(e.Event) {
			event := processEvent{e.Process[i], e.Context[i], e.Event[i]}
			k.byEvent[event] = append(k.byEvent[event], rec)
		}
	}
	for _, list := range k.byEvent {
		slices.SortStableFunc(list, func(a, b recorder) int { return cmp.Compare(a.call, b.call) })
	}
	// Kineto's synchronisation records name the stream that the event was recorded on.
	for i, corr := range t.Syncs.RecordCorr {
		if i >= len(t.Syncs.OnStream) || t.Syncs.OnStream[i] == model.NoStream {
			continue
		}
		key := processCorr{t.Syncs.Process[i], corr}
		if c, ok := calls[key]; ok {
			k.byCorr[key] = recorder{c, facts.Lane{Device: t.Syncs.Device[i], Stream: t.Syncs.OnStream[i]}}
		}
	}
	return k
}

func isRecord(name string) bool {
	switch name {
	case "cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags", "hipEventRecord",
		"hipEventRecordWithFlags":
		return true
	}
	return false
}
