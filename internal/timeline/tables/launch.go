package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var launch = Table{
	Name: "launch",
	Title: "One row per call that launched one piece of GPU work: durations of the call, the work and the delay " +
		"between them",
	Doc: `
launch_delay is from the end of the call to the start of the work; 0 if the work began before the call
returned. On a busy stream it is the time in the queue. A call that launched many (a CUDA graph) has no row, nor
has work without a recorded call. Ordered by rank, then by correlation ID.
` + htaSelection,
	Origin: "HTA get_cuda_kernel_launch_stats",
	Columns: []Column{
		rankColumn,
		{"correlation", unit.ID, "correlation ID of the call"},
		{"cpu_duration", unit.Us, "duration of the call on the host"},
		{"gpu_duration", unit.Us, "duration of the kernel, copy or memset"},
		{"launch_delay", unit.Us, "end of the call to start of the work, at least 0"},
	},
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillLaunch,
}

func fillLaunch(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	for _, r := range ranks {
		rows := r.soleLaunches()
		calls, w := &r.Trace.Calls, r.work
		cells := make([]Cell, len(rows)*len(out.Columns)) // of all rows: there may be millions
		out.Rows = slices.Grow(out.Rows, len(rows))
		for _, i := range rows {
			call := w.Call[i]
			row := append(cells[:0:len(out.Columns)], Int(r.rank), Int(calls.Corr[call]), Int(calls.DurNs[call]),
				Int(w.EndNs[i]-w.StartNs[i]), Int(max(0, w.StartNs[i]-calls.EndNs(int(call)))))
			out.Rows = append(out.Rows, row)
			cells = cells[len(out.Columns):]
		}
	}
	noteCalls(ranks, out)
	return nil
}

// soleLaunches is the rows whose call launched nothing else, ordered by correlation ID.
func (r htaRank) soleLaunches() []uint32 {
	const many = model.NoCorr
	row := make([]uint32, r.Trace.Calls.Len()) // row+1 of the work that a call launched, or many
	for _, i := range r.rows {
		switch call := r.work.Call[i]; {
		case call == facts.NoCall:
		case row[call] == 0:
			row[call] = i + 1
		default:
			row[call] = many
		}
	}
	var out []uint32
	for _, i := range row {
		if i != 0 && i != many {
			out = append(out, i-1)
		}
	}
	corr := r.Trace.Calls.Corr
	slices.SortFunc(out, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(corr[r.work.Call[a]], corr[r.work.Call[b]]), cmp.Compare(a, b))
	})
	return out
}
