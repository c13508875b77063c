package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var temporal = Table{
	Name:  "temporal",
	Title: "One row per rank: time idle, computing, and in exposed communication or copies",
	Doc: `
kernel_time is from the start of the first work to the end of the last. idle_time is what the union of all
work leaves of it, compute_time the union of the kernels that compute, non_compute_time the rest: communication
and copies that no compute overlaps. The three add up to kernel_time. Percentages are of kernel_time.
A capture with several devices has a row for each. Ordered by rank, then by the first work of a device.
` + htaSelection,
	Origin:    "HTA get_temporal_breakdown",
	Columns:   temporalColumns(htaKeys{}),
	Needs:     htaNeeds,
	Spares:    htaSpares,
	ManyRanks: true,
	Fill:      fillTemporal,
}

func temporalColumns(k htaKeys) []Column {
	return k.columns(
		Column{"idle_time", unit.Us, "no work at all"},
		Column{"compute_time", unit.Us, "a kernel that computes runs"},
		Column{"non_compute_time", unit.Us, "only communication, copies or memsets run"},
		Column{"kernel_time", unit.Us, "first start to last end"},
		Column{"idle_time_pctg", unit.Percent2, "idle_time of kernel_time"},
		Column{"compute_time_pctg", unit.Percent2, "compute_time of kernel_time"},
		Column{"non_compute_time_pctg", unit.Percent2, "non_compute_time of kernel_time"},
	)
}

func fillTemporal(in []*facts.Facts, _ Args, out *Rows) error {
	ranks := htaRanks(in, out)
	keys := keysOf(ranks, false)
	out.Columns = temporalColumns(keys)
	for _, r := range ranks {
		lanes, rows := r.lanesOf(false)
		for _, lane := range lanes {
			unionNs, spanNs := r.coverage(rows[lane])
			idleNs, computeNs := spanNs-unionNs[htaAll], unionNs[htaCompute]
			restNs := unionNs[htaAll] - computeNs
			out.Add(keys.cells(r, lane, Int(idleNs), Int(computeNs), Int(restNs), Int(spanNs),
				percentOf(idleNs, spanNs), percentOf(computeNs, spanNs), percentOf(restNs, spanNs))...)
		}
	}
	return nil
}

// percentOf is part of whole in percent; of nothing it is 0.
func percentOf(part, whole int64) Cell {
	if whole == 0 {
		return Float(0)
	}
	return Float(100 * float64(part) / float64(whole))
}
