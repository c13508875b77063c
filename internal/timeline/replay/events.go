package replay

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// addEventWaits finds which calls record events, on which streams, and which streams wait for them.
// Only records that name both sides count: guessing the stream of a record from the launches around it
// is wrong as often as right.
func (p *Program) addEventWaits(outer []int32) {
	t := p.Facts.Trace
	laneOf := make(map[facts.Lane]int32, len(p.Lanes))
	for i, l := range p.Lanes {
		laneOf[l] = int32(i)
	}
	byCorr, bySync := p.recorders(outer)
	for _, rec := range byCorr {
		if lane, known := laneOf[rec.stream]; known {
			p.Calls[rec.call].Records = lane
		}
	}
	for i, kind := range t.Syncs.Kind {
		if kind != model.SyncStreamWait {
			continue
		}
		call := p.Facts.Launches().Syncs[i]
		lane, known := laneOf[facts.Lane{Device: t.Syncs.Device[i], Stream: t.Syncs.Stream[i]}]
		if call == facts.NoCall || outer[call] == none || !known {
			continue
		}
		rec, found := p.recordOf(i, byCorr, bySync)
		if from, known := laneOf[rec.stream]; found && known && from != lane && rec.call < outer[call] {
			p.Waits = append(p.Waits, StreamWait{Call: outer[call], Lane: lane, Record: rec.call, From: from})
		}
	}
	slices.SortStableFunc(p.Waits, func(a, b StreamWait) int { return cmp.Compare(a.Call, b.Call) })
}

// recordOf is the event record that a synchronisation record waits for.
func (p *Program) recordOf(i int, byCorr, bySync map[processCorr]recorder) (recorder, bool) {
	s := &p.Facts.Trace.Syncs
	if i < len(s.RecordCorr) && s.RecordCorr[i] != model.NoCorr {
		rec, ok := byCorr[processCorr{s.Process[i], s.RecordCorr[i]}]
		return rec, ok
	}
	if i < len(s.SyncID) && s.SyncID[i] != 0 {
		rec, ok := bySync[processCorr{s.Process[i], s.SyncID[i]}]
		return rec, ok
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

// recorders finds event records by process and correlation ID, and by process and synchronisation ID.
func (p *Program) recorders(outer []int32) (byCorr, bySync map[processCorr]recorder) {
	t := p.Facts.Trace
	byCorr, bySync = make(map[processCorr]recorder), make(map[processCorr]recorder)
	if t.EventRecords.Len() == 0 && t.Syncs.Len() == 0 {
		return byCorr, bySync
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
		byCorr[processCorr{e.Process[i], e.Corr[i]}] = rec
		if i < len(e.SyncID) && e.SyncID[i] != 0 {
			bySync[processCorr{e.Process[i], e.SyncID[i]}] = rec
		}
	}
	// Kineto's synchronisation records name the stream that the event was recorded on.
	for i, corr := range t.Syncs.RecordCorr {
		if i >= len(t.Syncs.OnStream) || t.Syncs.OnStream[i] == model.NoStream {
			continue
		}
		key := processCorr{t.Syncs.Process[i], corr}
		if c, ok := calls[key]; ok {
			byCorr[key] = recorder{c, facts.Lane{Device: t.Syncs.Device[i], Stream: t.Syncs.OnStream[i]}}
		}
	}
	return byCorr, bySync
}

func isRecord(name string) bool {
	switch name {
	case "cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags", "hipEventRecord",
		"hipEventRecordWithFlags":
		return true
	}
	return false
}
