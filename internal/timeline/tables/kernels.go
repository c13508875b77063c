package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var kernels = Table{
	Name:  "kernels",
	Title: "One row per kernel name: its time per step, its share of the step, and the operator that launches it",
	Doc: `
Calls, Time and Share are per step, means over the steady steps (table steps has them). Work counts as far as it lies
in them; a call counts where it starts. Share is Time of the step, so that kernels on several streams or devices
may add up to more than 100 %. Graphs recorded at graph level are one row. Operator is the one, or failing
operators the named range, with the largest part of Time. Most Time first.`,
	Columns: []Column{
		{"Time", unit.Ms, "sum of durations, per step"},
		{"Share", unit.Percent1, "Time of the step"},
		{"Calls", unit.Number, "how often it started, per step"},
		{"Mean", unit.Us, "Time of a call"},
		{"Kind", unit.Text, "compute, comm or graph"},
		{"Operator", unit.Text, "who launches it"},
		{"Name", unit.Text, "demangled name"},
	},
	KernelNames: "Name",
	Needs:       stepNeeds,
	Spares:      stepSpares,
	BySteps:     true,
	Fill:        fillKernels,
}

// A kernelSum is what the steps have of a kernel launched by one owner.
type kernelSum struct {
	kind        facts.WorkKind
	name, owner model.StringID
	calls, ns   int64
}

func fillKernels(in []*facts.Facts, _ Args, out *Rows) error {
	f := in[0]
	if t := f.Trace; t.Kernels.Len()+t.GraphRuns.Len() == 0 {
		return &MissingError{"kernels", "kernels", tryCUDA}
	}
	s, err := f.Steps()
	if err != nil {
		return err
	}
	steps, stepsNs := float64(max(1, len(s.Steady()))), float64(max(1, s.Window().LenNs()))
	for _, k := range sumKernels(f, s) {
		name, kind := f.Trace.Strings.Text(k.name), "compute"
		switch k.kind {
		case facts.WorkComm:
			kind = "comm"
		case facts.WorkGraph:
			name, kind = "CUDA graph, recorded at graph level", "graph"
		}
		out.Add(Float(float64(k.ns)/steps), Float(100*float64(k.ns)/stepsNs), Float(float64(k.calls)/steps),
			Float(float64(k.ns)/float64(max(1, k.calls))), Str(kind), Str(f.NameText(k.owner)), Str(name))
	}
	out.Notes = append(out.Notes, stepsNotes(s)...)
	return nil
}

// sumKernels sums the kernels of the steps by name, most time first, each with its largest owner.
func sumKernels(f *facts.Facts, s *facts.Steps) []kernelSum {
	w, window, owners := f.Work(), s.Window(), f.WorkOwners()
	byOwner := make(map[kernelSum]*kernelSum) // key: kind, name and owner
	var parts []*kernelSum
	for i := range w.Len() {
		span := interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}.Clip(window)
		starts := window.Contains(w.StartNs[i])
		if w.Kind[i] > facts.WorkComm || span.LenNs() == 0 && !starts {
			continue
		}
		key := kernelSum{kind: w.Kind[i], owner: owners[i]}
		if key.kind != facts.WorkGraph {
			key.name = f.Trace.Kernels.Name[w.Row[i]]
		}
		p := byOwner[key]
		if p == nil {
			p = &kernelSum{kind: key.kind, name: key.name, owner: key.owner}
			byOwner[key], parts = p, append(parts, p)
		}
		p.ns += span.LenNs()
		if starts {
			p.calls++
		}
	}
	slices.SortStableFunc(parts, func(a, b *kernelSum) int { return cmp.Compare(b.ns, a.ns) })
	byName := make(map[kernelSum]int) // key: kind and name
	var out []kernelSum
	for _, p := range parts {
		key := kernelSum{kind: p.kind, name: p.name}
		n, seen := byName[key]
		if !seen {
			byName[key], out = len(out), append(out, *p) // the largest owner comes first
			continue
		}
		out[n].calls, out[n].ns = out[n].calls+p.calls, out[n].ns+p.ns
	}
	slices.SortStableFunc(out, func(a, b kernelSum) int { return cmp.Compare(b.ns, a.ns) })
	return out
}
