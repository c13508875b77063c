// Package compare says what changed between two sets of runs, whether it is real, and what of the program
// explains it. Its types are the JSON contract of `lacuna diff`; writers print them.
//
// All times are milliseconds of a mean step, unless a name says otherwise.
package compare

import (
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A Capture is what is kept of a run to compare it: a capture itself may take gigabytes and is gone by then.
type Capture struct {
	Run     *measure.Run
	Report  *report.Report       // nil: only measures are known
	Rank    *int32               // of a job; nil: not known
	Kernels []Kernel             // by name; of a timeline only
	GraphMs float64              // of a mean step in CUDA graphs recorded at graph level, whose kernels are not known
	Paths   []Path               // operators by call path; of a timeline only
	Inside  *kernelreport.Report // of a kernel report only
	Shapes  []Shape              // of operators' inputs; of a timeline that has them only
}

// A Kernel is the launches of one kernel name in a mean step of a mean device.
type Kernel struct {
	Name  string
	names kernelname.Name
	class facts.KernelClass
	comm  bool    // communication
	Op    string  // that launches most of it, "" if not known
	Range string  // the user's range that most of it is launched in, "" if none
	Calls float64 // per step
	Ms    float64 // per step
	place float64 // where in the step it runs in the mean, 0 to 1
}

// A Path is an operator as it is called: the names of the operators and ranges around it, outermost first.
type Path struct {
	Text  string
	Calls float64
	Ms    float64 // GPU time of the work that it launches itself
}

// Take keeps what a comparison needs of a capture and the report on it.
func Take(f *facts.Facts, steps *facts.Steps, r *report.Report, run *measure.Run) *Capture {
	c := &Capture{Run: run, Report: r}
	window, all := steps.Window(), steps.Steady()
	per := 1 / float64(max(1, len(all))) / float64(max(1, len(f.Devices())))
	t, w, owners, ops := f.Trace, f.Work(), f.WorkOwners(), f.WorkOps()
	ranges, kinds := rangesOf(f), f.KernelKinds()
	kernels, paths, inputs := make(map[model.StringID]*tallied), newPaths(f), newShapes(f)
	for i, start := range w.StartNs {
		if start >= window.EndNs {
			break
		}
		if start < window.StartNs {
			continue
		}
		ms := float64(w.EndNs[i]-start) / 1e6 * per
		paths.add(ops[i], ms, per)
		if ops[i] != facts.NotNested {
			inputs.add(paths.tree, paths.entry[ops[i]], ms, per)
		}
		switch w.Kind[i] {
		case facts.WorkGraph:
			c.GraphMs += ms
			continue
		case facts.WorkCopy, facts.WorkSet:
			continue
		}
		name := t.Kernels.Name[w.Row[i]]
		k := kernels[name]
		if k == nil {
			k = &tallied{class: kinds[w.Row[i]].Class, comm: w.Kind[i] == facts.WorkComm,
				ops: make(map[model.StringID]float64), ranges: make(map[model.StringID]float64)}
			kernels[name] = k
		}
		k.calls += per
		k.ms += ms
		k.ops[owners[i]] += ms
		k.ranges[ranges(w.Call[i])] += ms
		k.place += ms * placeIn(all, start)
	}
	for id, k := range kernels {
		c.Kernels = append(c.Kernels, k.kernel(f, id))
	}
	slices.SortFunc(c.Kernels, func(a, b Kernel) int { return strings.Compare(a.Name, b.Name) })
	c.Kernels = merged(c.Kernels)
	c.Paths, c.Shapes = paths.list(), inputs.list()
	return c
}

// tallied is a kernel while it is counted.
type tallied struct {
	class            facts.KernelClass
	comm             bool
	calls, ms, place float64
	ops, ranges      map[model.StringID]float64 // ms by name
}

func (k *tallied) kernel(f *facts.Facts, id model.StringID) Kernel {
	name := f.Trace.Strings.Text(id)
	return Kernel{Name: name, names: kernelname.Of(name), class: k.class, comm: k.comm, Op: f.NameText(most(k.ops)),
		Range: f.NameText(most(k.ranges)),
		Calls: k.calls, Ms: k.ms, place: k.place / max(k.ms, 1e-12)}
}

// most is the name with the most time; of equals the first that was interned.
func most(of map[model.StringID]float64) model.StringID {
	best, ms := model.StringID(0), -1.0
	for id, x := range of {
		if x > ms || x == ms && id < best {
			best, ms = id, x
		}
	}
	return best
}

// merged makes one kernel of those with the same name: a name may be interned twice.
func merged(sorted []Kernel) []Kernel {
	out := sorted[:0]
	for _, k := range sorted {
		if n := len(out); n > 0 && out[n-1].Name == k.Name {
			out[n-1].Calls += k.Calls
			out[n-1].Ms += k.Ms
			continue
		}
		out = append(out, k)
	}
	return out
}

// rangesOf gives the user's range around a launching call, outermost of those that are not step markers: phases are
// what versions of a program have in common.
func rangesOf(f *facts.Facts) func(call int32) model.StringID {
	inner, tree, classes, names := f.InnermostRange(), f.RangeTree(), f.RangeClasses(), f.RangeNames()
	return func(call int32) model.StringID {
		if call == facts.NoCall {
			return 0
		}
		var out model.StringID
		for r := inner[call]; r != facts.NotNested; r = tree.Parent[r] {
			if classes[r] == facts.RangeUser {
				out = names[f.Trace.Ranges.Name[r]]
			}
		}
		return out
	}
}
