package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var phases = Table{
	Name:  "phases",
	Title: "One row per named range: its time per step, the GPU time of its launches, and the GPU's idle time in it",
	Doc: `
Everything is per step, a mean over the steady steps (table steps has them). Calls and Time are of the ranges
that began in the host's part of those steps, from the first one's marker to the marker behind the last. GPU time is
the sum of the durations of the work launched while a range was open, whenever it ran: by the range's own thread, and
for the thread that marks the steps also by threads without a user range of their own, such as autograd's. GPU idle
is the time in which the device did nothing and the range was open; with several devices, their mean. So ranges
that are nested all count: rows do not add up to the step. Ranges of one name that intersect on a
thread count once, and so do ranges whose names differ only by a counter ("IO 190", "IO 200": "IO *"). Step markers,
and operators recorded as NVTX ranges, are not rows. Most Time first.`,
	Columns: []Column{
		{"Range", unit.Text, "name of the range"},
		{"Calls", unit.Number, "how often it began, per step"},
		{"Time", unit.Ms, "how long the host was in it, per step"},
		{"GPU time", unit.Ms, "durations of the GPU work launched in it, per step; pieces that overlap count in full"},
		{"GPU work", unit.Number, "kernels, graphs, copies and memsets launched in it, per step"},
		{"GPU idle", unit.Ms, "time in which it was open and the device idle, per step"},
	},
	Needs:   stepNeeds,
	Spares:  model.PartOps | model.PartPython,
	BySteps: true,
	Fill:    fillPhases,
}

// stepNeeds is what steps are found by.
const stepNeeds = model.PartsGPU | model.PartCalls | model.PartOps | model.PartPython | model.PartRanges

// stepSpares is what steps are found better by, if it is there.
const stepSpares = model.PartOps | model.PartPython | model.PartRanges

const howToName = `with torch.profiler.record_function("forward") or torch.cuda.nvtx.range("forward")`

func fillPhases(in []*facts.Facts, _ Args, out *Rows) error {
	f := in[0]
	if f.Trace.Ranges.Len() == 0 {
		return &MissingError{"phases", "named ranges", "name the parts of the loop, " + howToName}
	}
	s, err := f.Steps()
	if err != nil {
		return err
	}
	list := f.Phases(s)
	slices.SortStableFunc(list, func(a, b facts.Phase) int { return cmp.Compare(b.HostNs, a.HostNs) })
	steps := float64(max(1, len(s.Steady())))
	devices := float64(max(1, len(f.Devices())))
	for _, p := range list {
		out.Add(Str(f.NameText(p.Name)), Float(float64(p.Calls)/steps), Float(float64(p.HostNs)/steps),
			Float(float64(p.WorkNs)/steps), Float(float64(p.Work)/steps), Float(float64(p.IdleNs)/steps/devices))
	}
	if len(list) == 0 {
		out.Notes = append(out.Notes, "no range except step markers and operators began in the steps: name the "+
			"parts of the loop, "+howToName)
	}
	out.Notes = append(out.Notes, stepsNotes(s)...)
	return nil
}

// stepsNotes says which steps a table is over.
func stepsNotes(s *facts.Steps) []string {
	if s.Source == facts.StepsNone {
		return []string{fmt.Sprintf("%s, of %.3f ms", s.Note, float64(s.Window().LenNs())/1e6)}
	}
	n := len(s.Steady())
	note := fmt.Sprintf("%d steady steps of %.3f ms on average, found by %s", n,
		float64(s.Window().LenNs())/float64(max(1, n))/1e6, stepSourceText(s))
	if k := len(s.Startup); k > 0 {
		note += fmt.Sprintf("; %d start-up steps left out", k)
	}
	if s.Note != "" {
		return []string{note, s.Note}
	}
	return []string{note}
}

func stepSourceText(s *facts.Steps) string {
	marker := s.Marker
	if marker != "" && !strings.Contains(marker, "*") {
		marker += "*"
	}
	switch s.Source {
	case facts.StepsNVTX:
		return "NVTX ranges " + marker
	case facts.StepsAnnotation:
		return strings.TrimSpace("annotations " + marker)
	case facts.StepsProfilerStep:
		return "ProfilerStep annotations"
	}
	return "launches that repeat"
}
