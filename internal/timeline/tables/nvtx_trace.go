package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var nvtxPushPopTrace = Table{
	Name:  "nvtx_pushpop_trace",
	Title: "Every range that nests on its thread, by start",
	Doc: `
One row for each NVTX push/pop range, annotation of PyTorch and step of its profiler, with its place in the stack of
its thread. Start/end ranges are left out and are not parents. A range that was still open when the capture
ended lasts up to the last time that any range or mark has.

Rows are ordered by start; of equal ones the longer comes first.`,
	Origin: "nsys stats nvtx_pushpop_trace",
	Columns: []Column{
		{"Start", unit.Ns, "start of the range, since time 0 of the capture"},
		{"End", unit.Ns, "end of the range"},
		{"Duration", unit.Ns, "duration of the range"},
		{"DurChild", unit.Ns, "sum of the durations of the ranges directly inside it"},
		{"DurNonChild", unit.Ns, "Duration without DurChild"},
		{"Name", unit.Text, "name of the range, behind its domain"},
		pidColumn, tidColumn,
		{"Lvl", unit.Count, "ranges around it"},
		{"NumChild", unit.Count, "ranges directly inside it"},
		rangeIDColumn, parentIDColumn, rangeStackColumn,
		{"NameTree", unit.Text, "name behind two dashes for each level"},
	},
	Needs: model.PartRanges,
	Fill:  fillNVTXPushPopTrace,
}

var nvtxGPUProjTrace = Table{
	Name:  "nvtx_gpu_proj_trace",
	Title: "Every range with the time in which the GPU did its work, by start",
	Doc: `
The rows that nvtx_gpu_proj_sum sums up: a range with GPU work is projected to the time from the start of the first
to the end of the last kernel, copy or memset that was issued by a call inside it. One row without name,
before the others, has all work that was issued outside all ranges; its PID and TID are of the thread that issued
what ended last.

Rows are ordered by the start of the range; of equal ones the longer comes first.`,
	Origin: "nsys stats nvtx_gpu_proj_trace",
	Columns: []Column{
		{"Name", unit.Text, "name of the range, behind its domain"},
		{"Projected Start", unit.Ns, "start of the first piece of its work"},
		{"Projected Duration", unit.Ns, "from there to the end of the last"},
		{"Orig Start", unit.Ns, "start of the range on the host"},
		{"Orig Duration", unit.Ns, "duration of the range on the host"},
		styleColumn, pidColumn, tidColumn,
		{"NumGPUOps", unit.Count, "calls, by distinct correlation ID, that issued the work"},
		{"Lvl", unit.Count, "ranges around it on its thread, with work or without"},
		{"NumChild", unit.Count, "ranges with work directly inside it"},
		rangeIDColumn, parentIDColumn, rangeStackColumn,
	},
	Needs: model.PartKernels | model.PartCopies | model.PartCalls | model.PartRanges,
	Fill:  fillNVTXGPUProjTrace,
}

var (
	rangeIDColumn    = Column{"RangeId", unit.ID, "number of the range: the file's own row, or its place by start"}
	parentIDColumn   = Column{"ParentId", unit.ID, "RangeId of the range around it"}
	rangeStackColumn = Column{"RangeStack", unit.Text,
		"RangeIds from the outermost to its own, each behind a colon; nothing if there are over 4096"}
)

// maxStack bounds the levels that stacks are written out for: all stacks together are as long as levels times ranges.
const maxStack = 4096

// stacks writes the stacks of ranges, and keeps those that children need.
type stacks struct {
	ranges        *model.Ranges
	parent, level []int32
	text          []string
}

// id is the RangeId of a row.
func (s *stacks) id(row int32) int64 { return at(s.ranges.RowID, int(row), int64(row)+1) }

// parentCell is the RangeId of a row's parent.
func (s *stacks) parentCell(row int32) Cell {
	if up := s.parent[row]; up != facts.NotNested {
		return Int(s.id(up))
	}
	return Cell{}
}

// cell is the stack of a row; its parent's is made before.
func (s *stacks) cell(row int32) Cell {
	if s.level[row] >= maxStack {
		return Cell{}
	}
	if s.text == nil {
		s.text = make([]string, len(s.parent))
	}
	var chain []int32
	for r := row; r != facts.NotNested && s.text[r] == ""; r = s.parent[r] {
		chain = append(chain, r)
	}
	for _, r := range slices.Backward(chain) {
		outer := ""
		if up := s.parent[r]; up != facts.NotNested {
			outer = s.text[up]
		}
		s.text[r] = fmt.Sprintf("%s:%d", outer, s.id(r))
	}
	return Str(s.text[row])
}

func fillNVTXPushPopTrace(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needRanges("nvtx_pushpop_trace", t); err != nil {
		return err
	}
	r, names := &t.Ranges, namesOfRanges(t)
	durNs := slices.Clone(rangeDurations(t))
	for i, kind := range r.Kind {
		if !nestsOnThread(kind) {
			durNs[i] = model.OpenDurNs // takes no part
		}
	}
	parent, level := facts.Nest(r.StartNs, durNs, r.Thread)
	children, childNs := make([]int64, r.Len()), make([]int64, r.Len())
	for i, up := range parent {
		if up != facts.NotNested {
			children[up]++
			childNs[up] += durNs[i]
		}
	}
	s := &stacks{ranges: r, parent: parent, level: level}
	for i, d := range durNs {
		if d < 0 {
			continue
		}
		row := int32(i)
		pid, tid := threadCells(t, r.Thread[i])
		name := names.text[names.of[i]]
		tree := Cell{}
		if level[i] < maxStack {
			tree = Str(strings.Repeat("--", int(level[i])) + name)
		}
		out.Add(Int(r.StartNs[i]), Int(r.StartNs[i]+d), Int(d), Int(childNs[i]), Int(d-childNs[i]), Str(name), pid, tid,
			Int(level[i]), Int(children[i]), Int(s.id(row)), s.parentCell(row), s.cell(row), tree)
	}
	return nil
}

func fillNVTXGPUProjTrace(in []*facts.Facts, _ Args, out *Rows) error {
	f := in[0]
	t := f.Trace
	if err := needProjection("nvtx_gpu_proj_trace", t); err != nil {
		return err
	}
	addOutside(f, out)
	p, tree := f.Projection(), f.RangeTree()
	r, names, children := &t.Ranges, namesOfRanges(t), childrenWithWork(p, tree)
	s := &stacks{ranges: r, parent: tree.Parent, level: tree.Level}
	for i, ops := range p.Ops {
		if ops == 0 {
			continue
		}
		row := int32(i)
		pid, tid := threadCells(t, r.Thread[i])
		out.Add(Str(names.text[names.of[i]]), Int(p.StartNs[i]), Int(p.EndNs[i]-p.StartNs[i]), Int(r.StartNs[i]),
			Int(r.DurNs[i]),
			Str(styleNames[r.Kind[i]]), pid, tid, Int(ops), Int(tree.Level[i]), Int(children[i]), Int(s.id(row)),
			s.parentCell(row), s.cell(row))
	}
	return nil
}

// addOutside adds the row of work that was issued outside all ranges, if there is any.
func addOutside(f *facts.Facts, out *Rows) {
	t, launches, innermost, twins := f.Trace, f.Launches(), f.InnermostRange(), f.Twins()
	start, end, thread := int64(math.MaxInt64), int64(math.MinInt64), model.NoThread
	inside := func(c int32) bool { return innermost[c] != facts.NotNested }
	calls := make(map[int32]struct{})
	for _, work := range []struct {
		a     *model.Activity
		calls []int32
	}{{&t.Kernels.Activity, launches.Kernels}, {&t.Copies.Activity, launches.Copies},
		{&t.Sets.Activity, launches.Sets}} {
		for i, c := range work.calls {
			if c == facts.NoCall || inside(c) || slices.ContainsFunc(twins[c], inside) {
				continue
			}
			calls[c] = struct{}{}
			start = min(start, work.a.StartNs[i])
			if work.a.EndNs(i) > end {
				end, thread = work.a.EndNs(i), t.Calls.Thread[c]
			}
		}
	}
	if len(calls) == 0 {
		return
	}
	pid, tid := threadCells(t, thread)
	out.Add(Cell{}, Int(start), Int(end-start), Cell{}, Cell{}, Cell{}, pid, tid, Int(len(calls)), Cell{}, Int(0),
		Cell{}, Cell{}, Cell{})
}
