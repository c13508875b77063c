package tables

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var openaccSum = Table{
	Name:  "openacc_sum",
	Title: "OpenACC events by name and source line, most time first",
	Doc: `
One row for each kind of event and the line that caused it, as NAME@FILE:LINE, or NAME where the file is not
known. Events nest (an enter data contains its uploads): Time is a share of the events listed, not of wall time.

Rows are ordered by Total Time, largest first, then by name.`,
	Origin:  "nsys stats openacc_sum",
	Columns: timeColumns("Num Calls", "events", Column{"Name", unit.Text, "kind of event and place in the source"}),
	Needs:   model.PartOpenACC,
	Fill:    fillOpenACCSum,
}

func fillOpenACCSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	o := &t.OpenACC
	if o.StartNs == nil {
		return &MissingError{"openacc_sum", "OpenACC events", "record with nsys profile --trace=cuda,openacc"}
	}
	type place struct {
		name, file model.StringID
		line       int32
	}
	var places indexer[place]
	n := &naming{of: make([]uint32, o.Len())}
	for i, name := range o.Name {
		p := place{name: name, file: at(o.File, i, 0)}
		if p.file != 0 {
			p.line = at(o.Line, i, 0)
		}
		n.of[i] = places.id(p, uint32(p.line))
	}
	n.number(func(id uint32) string {
		p := places.keys[id]
		if p.file == 0 {
			return t.Strings.Text(p.name)
		}
		return fmt.Sprintf("%s@%s:%d", t.Strings.Text(p.name), t.Strings.Text(p.file), p.line)
	})
	n.addSums(o.DurNs, out)
	return nil
}
