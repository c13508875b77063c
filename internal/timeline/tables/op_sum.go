package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var opSum = Table{
	Name:  "op_sum",
	Title: "One row per operator, annotation or CUDA call of the host: its self and total time on host and GPU",
	Doc: `
Host events of a thread nest by time, whether operator, annotation or CUDA call. CPU total is the sum of
durations, Self CPU the same without what lies directly inside. Device times are the durations of GPU work, booked
on the operator that launched it: Self Device for its own launches, Device total for all launches inside it.
Work that overlaps counts in full. The memory columns are there if allocations were recorded: bytes taken less
bytes released while the operator ran, on any thread.

As PyTorch counts: an operator that is the only child of one of its name is one call with it; all ProfilerStep#N are
one row, ProfilerStep*; memory that no event contains is in the row [memory]. Rows of kernels are left out
(cuda_gpu_kern_sum has them). Totals of nested operators do not add up, self times do.

Without operators of the framework, the NVTX ranges of torch.autograd.profiler.emit_nvtx() are taken for them.
Most Self Device first, then most Self CPU.`,
	Origin:  "torch.profiler key_averages(), rows of the CPU",
	Columns: opColumns,
	Args: []Arg{{Name: "group-by", Value: "shape|stack",
		Doc: "a row for each shapes of inputs, or for each Python call stack (its five innermost functions; " +
			"those of a backward operator are where its forward operator was called)"}},
	Needs:  model.PartsGPU | model.PartCalls | model.PartOps | model.PartRanges | model.PartMemory,
	Spares: model.PartOps | model.PartMemory,
	ArgsNeed: func(args Args) model.Parts {
		switch args["group-by"] {
		case "shape":
			return model.PartOpArgs
		case "stack":
			return model.PartOpArgs | model.PartPython
		}
		return 0
	},
	Fill: fillOpSum,
}

var opColumns = []Column{
	{"Name", unit.Text, "operator, annotation or CUDA call"},
	{"Calls", unit.Count, "how often it ran"},
	{"Self CPU", unit.Us, "host time without what lies directly inside"},
	{"CPU total", unit.Us, "host time"},
	{"Self Device", unit.Us, "GPU time of what it launched itself"},
	{"Device total", unit.Us, "GPU time of all that was launched in it"},
}

var opMemoryColumns = []Column{
	{"Self CPU Mem", unit.Bytes, "host memory taken less released, without what lies directly inside"},
	{"CPU Mem", unit.Bytes, "host memory taken less released"},
	{"Self Device Mem", unit.Bytes, "device memory taken less released, without what lies directly inside"},
	{"Device Mem", unit.Bytes, "device memory taken less released"},
}

// An opRow sums the events of a row: own and inclusive values of each quantity.
type opRow struct {
	label, group uint32
	calls        int64
	self, total  [4]int64 // host time, device time, host bytes, device bytes
}

func fillOpSum(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	if !f.HasOps() {
		return &MissingError{"op_sum", "framework operators",
			"record with torch.profiler, or run under torch.autograd.profiler.emit_nvtx() and nsys profile " +
				"--trace=cuda,nvtx"}
	}
	out.Columns = slices.Clone(opColumns)
	o := f.OpTree()
	if o.HostBytes != nil {
		out.Columns = append(out.Columns, opMemoryColumns...)
	}
	groups, group, err := opGroups(f, o, args, out)
	if err != nil {
		return err
	}
	rows := sumOps(o, group)
	slices.SortFunc(rows, func(a, b opRow) int {
		return cmp.Or(cmp.Compare(b.self[1], a.self[1]), cmp.Compare(b.self[0], a.self[0]),
			cmp.Compare(o.Labels[a.label], o.Labels[b.label]), cmp.Compare(groups[a.group], groups[b.group]))
	})
	for _, r := range rows {
		cells := []Cell{Str(o.Labels[r.label]), Int(r.calls), Int(r.self[0]), Int(r.total[0]), Int(r.self[1]),
			Int(r.total[1])}
		if o.HostBytes != nil {
			cells = append(cells, Int(r.self[2]), Int(r.total[2]), Int(r.self[3]), Int(r.total[3]))
		}
		if group != nil {
			cells = append(cells, Str(groups[r.group]))
		}
		out.Add(cells...)
	}
	if m := o.Outside; m.Count > 0 {
		cells := make([]Cell, len(out.Columns))
		copy(cells, []Cell{Str("[memory]"), Int(m.Count), Int(0), Int(0), Int(0), Int(0), Int(m.HostBytes),
			Int(m.HostBytes), Int(m.DeviceBytes), Int(m.DeviceBytes)})
		out.Add(cells...)
	}
	return nil
}

// opGroups is what splits the rows of an operator: texts, and for each event the index of its own. It
// adds the column that shows them.
func opGroups(f *facts.Facts, o *facts.OpTree, args Args, out *Rows) (texts []string, group []uint32, err error) {
	switch by := args["group-by"]; by {
	case "":
		return []string{""}, nil, nil
	case "shape":
		out.Columns = append(out.Columns, Column{"Input Shapes", unit.Text,
			"shapes of the inputs, as the capture has them"})
		texts, group = f.OpShapes()
	case "stack":
		out.Columns = append(out.Columns, Column{"Source", unit.Text,
			"Python functions around it, the innermost first: inner < outer"})
		texts, group = f.OpStacks()
	default:
		return nil, nil, &ArgError{"op_sum", "group-by", by, "shape or stack"}
	}
	if len(texts) < 2 {
		out.Notes = append(out.Notes, "the capture has no such data: record with record_shapes=True for shapes, "+
			"with_stack=True for stacks")
	}
	return texts, group, nil
}

// sumOps sums the events by label and group. Own values come by taking each event's from the row of its parent.
func sumOps(o *facts.OpTree, group []uint32) []opRow {
	var rows []opRow
	index := make(map[uint64]int32)
	rowOf := make([]int32, o.Len())
	byLabel := make([]int32, len(o.Labels)) // row+1, without groups
	for i, label := range o.Label {
		switch {
		case o.Merged(i):
			rowOf[i] = rowOf[o.Parent[i]]
			continue
		case group == nil:
			if byLabel[label] == 0 {
				rows = append(rows, opRow{label: label})
				byLabel[label] = int32(len(rows))
			}
			rowOf[i] = byLabel[label] - 1
			continue
		}
		key := uint64(label)<<32 | uint64(group[i])
		n, known := index[key]
		if !known {
			n = int32(len(rows))
			index[key], rows = n, append(rows, opRow{label: label, group: group[i]})
		}
		rowOf[i] = n
	}
	for i, n := range rowOf {
		values := [4]int64{o.DurNs[i], o.DeviceNs[i]}
		if o.HostBytes != nil {
			values[2], values[3] = o.HostBytes[i], o.DeviceBytes[i]
		}
		r := &rows[n]
		if !o.Merged(i) {
			r.calls++
		}
		for q, v := range values {
			r.self[q] += v
			if !o.Merged(i) {
				r.total[q] += v
			}
			if p := o.Parent[i]; p != facts.NotNested {
				rows[rowOf[p]].self[q] -= v
			}
		}
	}
	return rows
}
