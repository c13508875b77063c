package model

import (
	"reflect"
	"slices"
)

// ByRank takes a capture of several ranks apart: a Trace for each rank whose processes have GPU work (each rank, if
// that was not read), in order. They share texts, and processes and threads keep their rows. What belongs to no rank
// and the losses go to the first; the events are counted where their rows go, those without rows at the first. A
// capture that its reader does not call merged is one: it comes back as it is.
func ByRank(t *Trace) []*Trace {
	if t.Info.Merged < 2 {
		return []*Trace{t}
	}
	ranks := workingRanks(t)
	if len(ranks) < int(t.Info.Merged) {
		ranks = allRanks(t) // GPU work was not read, or not all of it
	}
	if len(ranks) < 2 {
		return []*Trace{t}
	}
	var out []*Trace
	events := t.Info.Events
	for i, rank := range ranks {
		one := *t
		one.Info.Rank, one.Info.Merged = rank, 0
		if i > 0 {
			one.Losses, one.Warnings = Ledger{}, nil
		}
		for _, table := range tablesByOwner(&one) {
			table.keep(func(p ProcessRow) bool {
				owner := ranks[0]
				if int(p) < len(t.Processes) && slices.Contains(ranks, t.Processes[p].Rank) {
					owner = t.Processes[p].Rank
				}
				return owner == rank
			})
		}
		used := make(map[uint32]bool)
		for _, a := range []*Activity{&one.Kernels.Activity, &one.Copies.Activity, &one.Sets.Activity,
			&one.GraphRuns.Activity} {
			for _, d := range a.Device {
				used[d] = true
			}
		}
		one.Devices = slices.DeleteFunc(slices.Clone(t.Devices), func(d Device) bool { return !used[d.Ordinal] })
		if i > 0 && t.Info.Events > 0 {
			one.Info.Events = min(rowsOf(&one), events)
			events -= one.Info.Events
		}
		out = append(out, &one)
	}
	out[0].Info.Events = events
	return out
}

// rowsOf is the number of rows that belong to processes.
func rowsOf(t *Trace) (n int64) {
	for _, table := range tablesByOwner(t) {
		n += int64(table.rows)
	}
	return n
}

// workingRanks is the ranks whose processes have GPU work, each once, in order.
func workingRanks(t *Trace) []int32 {
	var ranks []int32
	for _, a := range []*Activity{&t.Kernels.Activity, &t.Copies.Activity, &t.GraphRuns.Activity} {
		last := NoProcess
		for _, p := range a.Process {
			if p == last || int(p) >= len(t.Processes) {
				continue
			}
			last = p
			if r := t.Processes[p].Rank; r >= 0 && !slices.Contains(ranks, r) {
				ranks = append(ranks, r)
			}
		}
	}
	slices.Sort(ranks)
	return ranks
}

// allRanks is the ranks of all processes, each once, in order.
func allRanks(t *Trace) []int32 {
	var ranks []int32
	for _, p := range t.Processes {
		if p.Rank >= 0 && !slices.Contains(ranks, p.Rank) {
			ranks = append(ranks, p.Rank)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// An owned is a table whose rows belong to processes or their threads.
type owned struct {
	table any // pointer to it
	of    func(row int) ProcessRow
	rows  int
}

// tablesByOwner is the tables of t whose rows have a process or a thread.
func tablesByOwner(t *Trace) []owned {
	var out []owned
	v := reflect.ValueOf(t).Elem()
	for _, table := range t.Tables() {
		x := owned{table: v.FieldByName(table.Name).Addr().Interface(), rows: table.Len()}
		for _, c := range table.Columns {
			switch column := c.Slice.Interface().(type) {
			case []ProcessRow:
				if c.Name == "Process" && len(column) > 0 {
					x.of = func(row int) ProcessRow { return column[row] }
				}
			case []ThreadRow:
				if c.Name == "Thread" && len(column) > 0 {
					x.of = func(row int) ProcessRow {
						if th := column[row]; int(th) < len(t.Threads) {
							return t.Threads[th].Process
						}
						return NoProcess
					}
				}
			}
		}
		if x.of != nil {
			out = append(out, x)
		}
	}
	return out
}

// keep takes the rows out whose process keep does not want.
func (x owned) keep(keep func(ProcessRow) bool) {
	order := make([]uint32, 0, x.rows)
	for i := range x.rows {
		if keep(x.of(i)) {
			order = append(order, uint32(i))
		}
	}
	Permute(x.table, order)
}
