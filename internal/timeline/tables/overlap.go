package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var overlap = Table{
	Name:  "overlap",
	Title: "One row per rank: how much of the communication overlaps with compute",
	Doc: `
comp_comm_overlap_pctg is the time in which both a kernel that computes and a communication kernel run, of the
time in which a communication kernel runs (unions of spans, both). It is absent if the rank does not communicate.
A capture with several devices has a row for each. Ordered by rank, then by the first work of a device.
` + htaSelection,
	Origin:    "HTA get_comm_comp_overlap",
	Columns:   overlapColumns(htaKeys{}),
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillOverlap,
}

func overlapColumns(k htaKeys) []Column {
	return k.columns(Column{"comp_comm_overlap_pctg", unit.Percent2, "overlapped communication, of all communication"})
}

func fillOverlap(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	keys := keysOf(ranks, false)
	out.Columns = overlapColumns(keys)
	for _, r := range ranks {
		lanes, rows := r.lanesOf(false)
		for _, lane := range lanes {
			unionNs, _ := r.coverage(rows[lane])
			share := Cell{}
			if comm := unionNs[htaComm]; comm > 0 {
				share = percentOf(unionNs[htaCompute]+comm-unionNs[htaCompute|htaComm], comm)
			}
			out.Add(keys.cells(r, lane, share)...)
		}
	}
	return nil
}
