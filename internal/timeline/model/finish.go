package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Finish brings every table into its order. A reader calls it once, last.
// Tables that are in order already, as most files have them, are only looked at.
func (t *Trace) Finish() {
	sortSpans(&t.Kernels, t.Kernels.StartNs, t.Kernels.DurNs)
	sortSpans(&t.Copies, t.Copies.StartNs, t.Copies.DurNs)
	sortSpans(&t.Sets, t.Sets.StartNs, t.Sets.DurNs)
	sortSpans(&t.GraphRuns, t.GraphRuns.StartNs, t.GraphRuns.DurNs)
	sortSpans(&t.Calls, t.Calls.StartNs, t.Calls.DurNs)
	sortSpans(&t.Syncs, t.Syncs.StartNs, t.Syncs.DurNs)
	sortSpans(&t.EventRecords, t.EventRecords.TimeNs, nil)
	sortSpans(&t.GraphEvents, t.GraphEvents.StartNs, t.GraphEvents.DurNs)
	sortSpans(&t.Ops, t.Ops.StartNs, t.Ops.DurNs)
	sortSpans(&t.PyCalls, t.PyCalls.StartNs, t.PyCalls.DurNs)
	sortSpans(&t.Ranges, t.Ranges.StartNs, t.Ranges.DurNs)
	sortSpans(&t.Marks, t.Marks.TimeNs, nil)
	sortSpans(&t.DeviceRanges, t.DeviceRanges.StartNs, t.DeviceRanges.DurNs)
	sortSpans(&t.AllocEvents, t.AllocEvents.TimeNs, nil)
	sortSpans(&t.DeviceAllocs, t.DeviceAllocs.TimeNs, nil)
	sortSpans(&t.PageFaults, t.PageFaults.StartNs, t.PageFaults.DurNs)
	sortSpans(&t.OSCalls, t.OSCalls.StartNs, t.OSCalls.DurNs)
	sortSpans(&t.LibCalls, t.LibCalls.StartNs, t.LibCalls.DurNs)
	sortSpans(&t.MPI, t.MPI.StartNs, t.MPI.DurNs)
	sortSpans(&t.OpenACC, t.OpenACC.StartNs, t.OpenACC.DurNs)
	sortSpans(&t.OpenMP, t.OpenMP.StartNs, t.OpenMP.DurNs)
	sortSpans(&t.Samples, t.Samples.TimeNs, nil)
	sortSpans(&t.Sched, t.Sched.TimeNs, nil)
	sortSpans(&t.Overheads, t.Overheads.StartNs, t.Overheads.DurNs)
	sortSpans(&t.Diagnostics, t.Diagnostics.TimeNs, nil)
}

// sortSpans orders a table by start, then longest first, then as it was. durNs may be nil.
func sortSpans(table any, startNs, durNs []int64) {
	before := func(a, b uint32) bool { // for a above b in the file: whether b must move above a
		return startNs[b] < startNs[a] || startNs[b] == startNs[a] && durNs != nil && durNs[b] > durNs[a]
	}
	var runs []int // where each stretch that is in order begins
	for i := 0; i < len(startNs) && len(runs) <= maxRuns; i++ {
		if i == 0 || before(uint32(i-1), uint32(i)) {
			runs = append(runs, i)
		}
	}
	switch {
	case len(runs) < 2:
	case len(runs) <= maxRuns:
		Permute(table, mergeRuns(runs, len(startNs), before))
	default:
		Permute(table, sortRows(startNs, durNs))
	}
}

// maxRuns is how many stretches are merged rather than sorted: files hold a few sorted lists one below the other, or
// are sorted but for a few rows.
const maxRuns = 256

// mergeRuns is the order of n rows that are in order within runs. Neighbours are merged until one is left.
func mergeRuns(runs []int, n int, before func(a, b uint32) bool) []uint32 {
	order, next := make([]uint32, n), make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	for len(runs) > 1 {
		var merged []int
		for r := 0; r < len(runs); r += 2 {
			mid, end := n, n
			if r+1 < len(runs) {
				mid = runs[r+1]
			}
			if r+2 < len(runs) {
				end = runs[r+2]
			}
			i, j, at := runs[r], mid, runs[r]
			for ; i < mid && j < end; at++ {
				if before(order[i], order[j]) {
					next[at], j = order[j], j+1
				} else {
					next[at], i = order[i], i+1
				}
			}
			at += copy(next[at:], order[i:mid])
			copy(next[at:], order[j:end])
			merged = append(merged, runs[r])
		}
		order, next, runs = next, order, merged
	}
	return order
}

// sortRows is the order of rows in any disorder.
func sortRows(startNs, durNs []int64) []uint32 {
	type key struct {
		startNs, durNs int64
		row            uint32
	}
	keys := make([]key, len(startNs))
	for i := range keys {
		keys[i] = key{startNs: startNs[i], row: uint32(i)}
		if durNs != nil {
			keys[i].durNs = durNs[i]
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.startNs != b.startNs {
			return cmp.Compare(a.startNs, b.startNs)
		}
		if a.durNs != b.durNs {
			return cmp.Compare(b.durNs, a.durNs)
		}
		return cmp.Compare(a.row, b.row)
	})
	order := make([]uint32, len(keys))
	for i, k := range keys {
		order[i] = k.row
	}
	return order
}

// Check says what of the model's promises t breaks. Every test that reads a capture calls it.
func Check(t *Trace) error {
	for _, table := range t.Tables() {
		n := table.Len()
		for _, c := range table.Columns {
			if l := c.Slice.Len(); l != n && l != 0 {
				return fmt.Errorf("%s.%s has %d rows, others have %d", table.Name, c.Name, l, n)
			}
			if (c.Name == "StartNs" || c.Name == "TimeNs" || c.Name == "DurNs") && c.Slice.Len() != n {
				return fmt.Errorf("%s.%s is missing", table.Name, c.Name)
			}
		}
	}
	for _, s := range []struct {
		name         string
		startNs, dur []int64
	}{
		{"Kernels", t.Kernels.StartNs, t.Kernels.DurNs}, {"Copies", t.Copies.StartNs, t.Copies.DurNs},
		{"Sets", t.Sets.StartNs, t.Sets.DurNs}, {"GraphRuns", t.GraphRuns.StartNs, t.GraphRuns.DurNs},
		{"Calls", t.Calls.StartNs, t.Calls.DurNs}, {"Ops", t.Ops.StartNs, t.Ops.DurNs},
		{"Ranges", t.Ranges.StartNs, t.Ranges.DurNs}, {"OSCalls", t.OSCalls.StartNs, t.OSCalls.DurNs},
	} {
		for i, d := range s.dur {
			if d < 0 && !(s.name == "Ranges" && d == OpenDurNs) {
				return fmt.Errorf("%s row %d has duration %d", s.name, i, d)
			}
			if i > 0 && s.startNs[i] < s.startNs[i-1] {
				return fmt.Errorf("%s row %d starts before the row above it", s.name, i)
			}
		}
	}
	for name, rows := range map[string][]ThreadRow{"Calls": t.Calls.Thread, "Ops": t.Ops.Thread,
		"Ranges": t.Ranges.Thread, "OSCalls": t.OSCalls.Thread} {
		for i, r := range rows {
			if r != NoThread && int(r) >= len(t.Threads) {
				return fmt.Errorf("%s row %d is on thread %d of %d", name, i, r, len(t.Threads))
			}
		}
	}
	return nil
}

// CheckStrings says which StringID of t was never given out, if any.
func CheckStrings(t *Trace) error {
	for _, table := range t.Tables() {
		for _, c := range table.Columns {
			ids, ok := c.Slice.Addr().Interface().(*[]StringID)
			if !ok {
				continue
			}
			for i, id := range *ids {
				if int(id) >= t.Strings.Len() {
					return fmt.Errorf("%s.%s row %d names string %d of %d", table.Name, c.Name, i, id, t.Strings.Len())
				}
			}
		}
	}
	return nil
}
