package tables

import (
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var queue = Table{
	Name:  "queue",
	Title: "One row per stream: its queue length (work launched but not started)",
	Doc: `
The queue of a stream grows by one when the call that launches a piece of work begins, and shrinks by one when
the work starts. It is sampled after each change; a launch counts before a start at the same time. A graph
launch queues all the kernels it leads to. Work without a recorded launch was never in the queue. Quartiles are
interpolated; std is of a sample (n-1). Ordered by rank, streams by their first work.
` + htaSelection,
	Origin:    "HTA get_queue_length_summary",
	Columns:   queueColumns(htaKeys{stream: true}),
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillQueue,
}

func queueColumns(k htaKeys) []Column {
	return k.columns(describedAs("queue_length", unit.Number, "launches and starts of work")...)
}

func fillQueue(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	keys := keysOf(ranks, true)
	out.Columns = queueColumns(keys)
	for _, r := range ranks {
		lanes, rows := r.lanesOf(true)
		for _, lane := range lanes {
			if lengths := r.queueLengths(rows[lane]); len(lengths) > 0 {
				out.Add(keys.cells(r, lane, describe(lengths).cells()...)...)
			}
		}
	}
	noteCalls(ranks, out)
	return nil
}

// queueLengths samples the queue of a stream, whose work rows is, at each launch and each start.
func (r htaRank) queueLengths(rows []uint32) []float64 {
	var launchNs, startNs []int64
	for _, i := range rows {
		if call := r.work.Call[i]; call != facts.NoCall {
			launchNs = append(launchNs, r.Trace.Calls.StartNs[call])
			startNs = append(startNs, r.work.StartNs[i])
		}
	}
	slices.Sort(launchNs)
	n := len(startNs)
	out := make([]float64, 0, 2*n)
	length := 0
	for l, s := 0, 0; l < n || s < n; {
		if l < n && (s == n || launchNs[l] <= startNs[s]) {
			length++
			l++
		} else {
			length--
			s++
		}
		out = append(out, float64(length))
	}
	return out
}
