package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var idle = Table{
	Name:  "idle",
	Title: "Three rows per stream: its gaps by their cause",
	Doc: `
A gap of a stream is the time between the end of what it ran so far and the start of its next work. It is
host_wait if the call that launched the next work began after the gap did: the host was late. Else it is
kernel_wait if it is shorter than 30 us, the GPU's own time between kernels. Else it is other: mostly
a wait for another stream. Time before the first work and after the last is not a gap. Other streams may be busy
in a gap. idle_time_ratio is of the idle_time of that stream; it is absent if the stream has no gaps.
Ordered by rank, streams by their first work.
` + htaSelection,
	Origin:    "HTA get_idle_time_breakdown",
	Columns:   idleColumns(htaKeys{stream: true}),
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillIdle,
}

// shortGapNs is HTA's consecutive_kernel_delay of 30, which its code compares with microseconds.
const shortGapNs = 30_000

// idleCategories is why a stream waited.
var idleCategories = [...]string{"host_wait", "kernel_wait", "other"}

func idleColumns(k htaKeys) []Column {
	return k.columns(
		Column{"idle_category", unit.Text, "host_wait, kernel_wait or other"},
		Column{"idle_time", unit.Us, "sum of the gaps"},
		Column{"idle_time_ratio", unit.Ratio, "idle_time of all gaps of the stream"},
		Column{"gaps", unit.Count, "number of gaps, empty ones not counted"},
	)
}

func fillIdle(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	keys := keysOf(ranks, true)
	out.Columns = idleColumns(keys)
	for _, r := range ranks {
		lanes, rows := r.lanesOf(true)
		for _, lane := range lanes {
			sums, counts := r.gaps(rows[lane])
			var whole int64
			for _, ns := range sums {
				whole += ns
			}
			for c, name := range idleCategories {
				share := Cell{}
				if whole > 0 {
					share = Float(float64(sums[c]) / float64(whole))
				}
				out.Add(keys.cells(r, lane, Str(name), Int(sums[c]), share, Int(counts[c]))...)
			}
		}
	}
	return nil
}

// gaps sums the gaps between the rows of a stream by category.
func (r htaRank) gaps(rows []uint32) (sums, counts [len(idleCategories)]int64) {
	calls, w := &r.Trace.Calls, r.work
	busyUntil := w.EndNs[rows[0]]
	for _, i := range rows[1:] {
		if gap := w.StartNs[i] - busyUntil; gap > 0 {
			c := 2
			switch call := w.Call[i]; {
			case call != facts.NoCall && calls.StartNs[call] > busyUntil:
				c = 0
			case gap < shortGapNs:
				c = 1
			}
			sums[c] += gap
			counts[c]++
		}
		busyUntil = max(busyUntil, w.EndNs[i])
	}
	return sums, counts
}
