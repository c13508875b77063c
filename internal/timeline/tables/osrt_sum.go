package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var osrtSum = Table{
	Name:  "osrt_sum",
	Title: "Operating system calls by name, most time first",
	Doc: `
One row for each function of the operating system's runtime that was traced. Most of them wait: a thread that
sleeps in poll or pthread_cond_wait costs nothing. Time is a share of the calls listed, summed over threads.

The tracer's own marks among the calls are left out. Rows are ordered by Total Time, largest first, then by name.`,
	Origin:  "nsys stats osrt_sum",
	Columns: timeColumns("Num Calls", "calls", Column{"Name", unit.Text, "name of the function"}),
	Needs:   model.PartOS,
	Fill:    fillOSRTSum,
}

// osCall is the class of a call among OSCalls; others are marks of the tracer.
const osCall = 27

func fillOSRTSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if t.OSCalls.StartNs == nil {
		return &MissingError{"osrt_sum", "operating system calls", "record with nsys profile --trace=cuda,nvtx,osrt"}
	}
	name := t.OSCalls.Name
	if t.OSCalls.Class != nil {
		name = append([]model.StringID(nil), name...)
		for i, c := range t.OSCalls.Class {
			if c != osCall {
				name[i] = model.StringID(noGroup)
			}
		}
	}
	fillByName(&t.Strings, name, t.OSCalls.DurNs, func(s string) string { return s }, out)
	return nil
}
