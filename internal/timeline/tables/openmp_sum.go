package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var openmpSum = Table{
	Name:  "openmp_sum",
	Title: "OpenMP events by name, most time first",
	Doc: `
One row for each kind of event: parallel regions, tasks, waits. Events nest and run on many threads: Time is a
share of the events listed, summed over threads, not of wall time.

The columns are those of nsys stats openacc_sum, which openmp_sum is described like; no output of it was at hand.
Rows are ordered by Total Time, largest first, then by name.`,
	Columns: timeColumns("Num Calls", "events", Column{"Name", unit.Text, "kind of event"}),
	Needs:   model.PartOpenMP,
	Fill:    fillOpenMPSum,
}

func fillOpenMPSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	o := &t.OpenMP
	if o.StartNs == nil {
		return &MissingError{"openmp_sum", "OpenMP events", "record with nsys profile --trace=cuda,openmp"}
	}
	n := &naming{of: make([]uint32, o.Len())}
	for i, name := range o.Name {
		if n.of[i] = uint32(name); name == 0 {
			n.of[i] = uint32(at(o.Table, i, 0))
		}
	}
	n.number(func(id uint32) string { return t.Strings.Text(model.StringID(id)) })
	n.addSums(o.DurNs, out)
	return nil
}
