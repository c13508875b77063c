package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
)

var steps = Table{
	Name:  "steps",
	Title: "One row per step: its duration and how it is spent",
	Doc: `
A step lasts on the device from the start of the first kernel launched inside its marker to that of the first one
launched inside the next marker, on the busiest compute stream; without GPU work, from marker to marker on the host.
Step is its position, as --steps counts. Each instant of a device counts once: Compute, else Exposed comm, else
Copy, else Idle; the four add up to Time. With several devices they are the mean. A step with a Start-up note is
left out of the means of a report. In the order of time.`,
	Columns: []Column{
		{"Step", unit.Count, "position, from 0"},
		{"Start", unit.Ms, "since the first step's start"},
		{"Time", unit.Ms, "on the device, else on the host"},
		{"Host", unit.Ms, "of the host: from the step's marker to the next; absent without markers"},
		{"Compute", unit.Ms, "a kernel that computes, or a graph, runs"},
		{"Exposed comm", unit.Ms, "communication runs and no compute"},
		{"Copy", unit.Ms, "copies or memsets run and neither"},
		{"Idle", unit.Ms, "nothing runs"},
		{"Kernels", unit.Count, "kernels and graphs that began in it, on all devices"},
		{"Start-up", unit.Text, "why it is not a steady step; empty if it is one"},
	},
	Needs:   stepNeeds,
	Spares:  stepSpares,
	BySteps: true,
	Fill:    fillSteps,
}

func fillSteps(in []*facts.Facts, _ Args, out *Rows) error {
	f := in[0]
	s, err := f.Steps()
	if err != nil {
		return err
	}
	if len(s.All) == 0 {
		return &MissingError{"steps", "events of a GPU or host",
			"record with lacuna record, torch.profiler or nsys profile --trace=cuda,nvtx"}
	}
	why := make([]string, len(s.All))
	for _, st := range s.Startup {
		why[st.Index] = st.Why
	}
	work := f.Work().Len() > 0
	for i, b := range f.PerStep(s) {
		if s.Pinned && (i < s.First || i >= s.Last) {
			continue // not asked for
		}
		span := s.All[i]
		cells := []Cell{Int(i), Int(span.StartNs - s.All[0].StartNs), Int(span.LenNs()), {}, {}, {}, {}, {}, {},
			Str(why[i])}
		if b.Host.LenNs() > 0 {
			cells[3] = Int(b.Host.LenNs())
		}
		if work {
			copy(cells[4:], []Cell{Float(b.ComputeNs), Float(b.CommExposedNs), Float(b.CopyNs), Float(b.IdleNs),
				Int(b.Kernels)})
		}
		out.Add(cells...)
	}
	out.Notes = append(out.Notes, stepsNotes(s)...)
	return nil
}
