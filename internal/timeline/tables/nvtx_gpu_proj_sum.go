package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var nvtxGPUProjSum = Table{
	Name:  "nvtx_gpu_proj_sum",
	Title: "Ranges by name, with the time in which the GPU did their work, most first",
	Doc: `
A range is projected to the GPU: a kernel, copy or memset belongs to every range that contains the whole call
that issued it, on the same thread, and the projected time is from the start of the first to the end of
the last of them. It is not the time in which the GPU was busy: gaps between them count.

Ranges without such work are left out, as are ranges that were never closed or that another thread ended, and graphs
recorded at graph level, as in nsys. Ranges nest, and each counts in full: the totals do not add up.
Of two ranges with the same start and end the later counts as the child of the earlier; nsys gives neither a level.

Rows are ordered by Total Proj Time, largest first, then by name.`,
	Origin: "nsys stats nvtx_gpu_proj_sum",
	Columns: []Column{
		rangeColumn, styleColumn,
		{"Total Proj Time", unit.Ns, "sum of projected times"},
		{"Total Range Time", unit.Ns, "sum of the ranges' own durations on the host"},
		{"Range Instances", unit.Count, "ranges with work"},
		{"Proj Avg", unit.NsFloat, "mean projected time"},
		{"Proj Med", unit.NsFloat, "median projected time"},
		{"Proj Min", unit.Ns, "shortest"},
		{"Proj Max", unit.Ns, "longest"},
		{"Proj StdDev", unit.NsFloat, "standard deviation of a sample (n-1); 0 for one"},
		{"Total GPU Ops", unit.Count, "calls, by distinct correlation ID, that issued the work; a graph's many " +
			"kernels are one"},
		{"Avg GPU Ops", unit.Number1, "mean of that per range"},
		{"Avg Range Lvl", unit.Number1, "mean number of ranges around it on its thread, with work or without"},
		{"Avg Num Child", unit.Number1, "mean number of ranges with work directly inside it"},
	},
	Needs: model.PartKernels | model.PartCopies | model.PartCalls | model.PartRanges,
	Fill:  fillNVTXGPUProjSum,
}

// needProjection is nil if there are ranges, calls and work to project.
func needProjection(table string, t *model.Trace) error {
	if err := needRanges(table, t); err != nil {
		return err
	}
	if t.Calls.StartNs == nil {
		return &MissingError{table, "CUDA or HIP API calls", tryNVTX}
	}
	if t.Kernels.StartNs == nil && needMemory(table, t) != nil {
		return &MissingError{table, "kernels, copies or memsets", tryNVTX}
	}
	return nil
}

// childrenWithWork is how many direct children with work each range has.
func childrenWithWork(p *facts.Projection, tree *facts.RangeTree) []int32 {
	out := make([]int32, len(p.Ops))
	for i, ops := range p.Ops {
		if up := tree.Parent[i]; ops > 0 && up != facts.NotNested {
			out[up]++
		}
	}
	return out
}

func fillNVTXGPUProjSum(in []*facts.Facts, _ Args, out *Rows) error {
	f := in[0]
	t := f.Trace
	if err := needProjection("nvtx_gpu_proj_sum", t); err != nil {
		return err
	}
	p, tree := f.Projection(), f.RangeTree()
	l, children := labelRanges(t), childrenWithWork(p, tree)
	type extra struct{ rangeNs, ops, level, children int64 }
	extras := make([]extra, len(l.all))
	projNs := make([]int64, len(p.Ops))
	for i, ops := range p.Ops {
		if ops == 0 {
			l.group[i] = noGroup
			continue
		}
		projNs[i] = p.EndNs[i] - p.StartNs[i]
		e := &extras[l.group[i]]
		e.rangeNs += t.Ranges.DurNs[i]
		e.ops += int64(ops)
		e.level += int64(tree.Level[i])
		e.children += int64(children[i])
	}
	sums := summarize(l.group, projNs, len(l.all))
	for _, g := range byTotal(sums, l.compareLabels) {
		s, e := &sums[g], &extras[g]
		style, name := l.cells(g)
		mean := func(sum int64) Cell { return Float(float64(sum) / float64(s.count)) }
		out.Add(name, style, Int(s.total), Int(e.rangeNs), Int(s.count),
			Float(s.mean()), Float(s.median), Int(s.min), Int(s.max), Float(s.deviation),
			Int(e.ops), mean(e.ops), mean(e.level), mean(e.children))
	}
	return nil
}
