package tables

import (
	"cmp"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var mpiEventSum = Table{
	Name:  "mpi_event_sum",
	Title: "MPI calls by kind and name, most time first",
	Doc: `
One row for each MPI function. Most of a call's time is waiting for another rank. Time is a share of the calls
listed, summed over ranks and threads, not of wall time.

The columns are those of nsys stats mpi_event_sum, which nsys 2023.4.4 does not have; no output of it was at hand.
Rows are ordered by Total Time, largest first, then by name and source.`,
	Columns: timeColumns("Instances", "calls",
		Column{"Source", unit.Text, "kind of call: p2p, collective, start_wait or other"},
		Column{"Name", unit.Text, "name of the function"}),
	Needs: model.PartMPI,
	Fill:  fillMPIEventSum,
}

// needMPI is nil if there are MPI calls.
func needMPI(table string, t *model.Trace) error {
	if t.MPI.StartNs == nil {
		return &MissingError{table, "MPI calls", "record with nsys profile --trace=cuda,mpi"}
	}
	return nil
}

func fillMPIEventSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needMPI("mpi_event_sum", t); err != nil {
		return err
	}
	type event struct{ name, source model.StringID }
	var events indexer[event]
	m := &t.MPI
	group := make([]uint32, m.Len())
	for i := range group {
		group[i] = events.id(event{m.Name[i], at(m.Table, i, 0)}, uint32(m.Name[i]))
	}
	sums := summarize(group, m.DurNs, len(events.keys))
	all := grandTotal(sums)
	texts := func(g uint32) (name, source string) {
		return t.Strings.Text(events.keys[g].name), t.Strings.Text(events.keys[g].source)
	}
	for _, g := range byTotal(sums, func(a, b uint32) int {
		an, as := texts(a)
		bn, bs := texts(b)
		return cmp.Or(cmp.Compare(an, bn), cmp.Compare(as, bs))
	}) {
		name, source := texts(g)
		out.Add(sums[g].timeCells(all, Str(source), Str(name))...)
	}
	return nil
}
