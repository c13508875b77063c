package spool

import (
	"slices"

	"lacuna/internal/timeline/model"
)

// ownCorrs makes correlation IDs of a stream unique again if CUPTI began to count anew when recording was switched on
// again: those of each such window are raised by as much as the windows before it used. Times must be CLOCK_REALTIME.
func (r *reading) ownCorrs(s *stream) {
	edges := s.windowEdges()
	if len(edges) == 0 {
		return
	}
	t := r.trace
	window := func(ns int64) int {
		n, found := slices.BinarySearch(edges, ns)
		if found {
			n++
		}
		return n
	}
	type bounds struct{ first, last uint32 }
	used := make([]bounds, len(edges)+1)
	calls := s.rows["Calls"]
	for i := calls.From; i < calls.To; i++ {
		if corr := t.Calls.Corr[i]; corr != model.NoCorr {
			b := &used[window(t.Calls.StartNs[i])]
			if b.last == 0 || corr < b.first {
				b.first = corr
			}
			b.last = max(b.last, corr)
		}
	}
	raise, add, last, anew := make([]uint32, len(used)), uint32(0), uint32(0), false
	for i, b := range used {
		if b.last != 0 && b.first <= last && last != 0 {
			add += last
			last, anew = 0, true
		}
		raise[i], last = add, max(last, b.last)
	}
	if !anew {
		return
	}
	for _, x := range []struct {
		name    string
		corr    []uint32
		startNs []int64
	}{
		{"Calls", t.Calls.Corr, t.Calls.StartNs}, {"Kernels", t.Kernels.Corr, t.Kernels.StartNs},
		{"Copies", t.Copies.Corr, t.Copies.StartNs}, {"Sets", t.Sets.Corr, t.Sets.StartNs},
		{"GraphRuns", t.GraphRuns.Corr, t.GraphRuns.StartNs}, {"Syncs", t.Syncs.Corr, t.Syncs.StartNs},
		{"DeviceAllocs", t.DeviceAllocs.Corr, t.DeviceAllocs.TimeNs},
		{"EventRecords", t.EventRecords.Corr, t.EventRecords.TimeNs},
	} {
		for i := s.rows[x.name].From; i < s.rows[x.name].To; i++ {
			switch {
			case x.corr[i] == model.NoCorr:
			case x.startNs[i] == 0: // an event without a time: of which window its call is cannot be told
				x.corr[i] = model.NoCorr
			default:
				x.corr[i] += raise[window(x.startNs[i])]
			}
		}
	}
}
