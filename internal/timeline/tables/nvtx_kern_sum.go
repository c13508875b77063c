package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var nvtxKernSum = Table{
	Name:  "nvtx_kern_sum",
	Title: "Kernels by the ranges that launched them",
	Doc: `
A kernel belongs to every range that contains the whole call that launched it, on the same thread: to all of a
stack of ranges, not to the innermost only. Within ranges of the same name inside one another it counts once
for each of them in Total Time and in the mean, median and deviation, but once in Kern Inst.
Kernels outside all ranges have rows without a name of a range, those without a recorded call also without thread.
Where a launch was recorded twice, once inside the other, the kernel counts with each of the two calls.

Ranges that were never closed, or that another thread ended, contain nothing.
Rows are ordered by range name, PID, TID, then Total Time, largest first, then by kernel name and style.`,
	Origin: "nsys stats nvtx_kern_sum",
	Columns: []Column{
		{"NVTX Range", unit.Text, "name of the range, behind its domain; nothing: outside all ranges"},
		styleColumn, pidColumn, tidColumn,
		{"NVTX Inst", unit.Count, "ranges that contain such a kernel"},
		{"Kern Inst", unit.Count, "kernels"},
		{"Total Time", unit.Ns, "sum of the kernels' durations, once for each range of this name around the kernel"},
		{"Avg", unit.NsFloat, "mean duration"},
		{"Med", unit.NsFloat, "median duration; of an even number the mean of the two in the middle"},
		{"Min", unit.Ns, "shortest"},
		{"Max", unit.Ns, "longest"},
		{"StdDev", unit.NsFloat, "standard deviation of a sample (n-1); 0 for one"},
		{"Kernel Name", unit.Text, "demangled name of the kernel, or as the argument asks"},
	},
	KernelNames: "Kernel Name",
	Args:        kernelNameArgs[:2],
	Needs:       model.PartKernels | model.PartCalls | model.PartRanges,
	Fill:        fillNVTXKernSum,
}

// noLabel marks kernels outside all ranges.
const noLabel = ^uint32(0)

// A rangeKernel is what rows of nvtx_kern_sum are grouped by.
type rangeKernel struct {
	label  uint32 // of labels, or noLabel
	thread model.ThreadRow
	kernel uint32 // of the naming
}

// A weighted duration counts several times.
type weighted struct {
	ns    int64
	times int32
}

// maxEnclosings bounds the pairs of a call and a range around it that are looked at, maxRangeKernels those of a
// range and a kernel name in it that are remembered.
const (
	maxEnclosings   = 1 << 27
	maxRangeKernels = 1 << 24
)

// rangeKernels gathers kernels by group.
type rangeKernels struct {
	f       *facts.Facts
	kernels *naming
	labels  *labels
	groups  indexer[rangeKernel]
	values  [][]weighted // by group
	inst    []int64      // by group: kernels
	ranges  []int64      // by group: ranges that contain one of its kernels

	first, byCall []int32                // the kernels of call c are byCall[first[c]:first[c+1]]
	firstGroup    []uint32               // by range: one more than the first group that it counted in
	counted       map[[2]uint32]struct{} // range and group: the others that it counted in
	twice         map[[2]uint32]struct{} // kernel and group, of twins: counted
}

func fillNVTXKernSum(in []*facts.Facts, args Args, out *Rows) error {
	f := in[0]
	if err := needLaunches("nvtx_kern_sum", f, args); err != nil {
		return err
	}
	if err := needRanges("nvtx_kern_sum", f.Trace); err != nil {
		return err
	}
	x := &rangeKernels{f: f, kernels: nameKernels(f, args), labels: labelRanges(f.Trace),
		firstGroup: make([]uint32, f.Trace.Ranges.Len()),
		counted:    make(map[[2]uint32]struct{}), twice: make(map[[2]uint32]struct{})}
	x.indexCalls()
	if !x.gather() {
		return fmt.Errorf("nvtx_kern_sum: ranges lie in one another too deep to list all kernels in all of them; " +
			"nvtx_gpu_proj_sum sums them by range")
	}
	x.addRows(out)
	return nil
}

// indexCalls sorts the kernels by call.
func (x *rangeKernels) indexCalls() {
	calls := x.f.Launches().Kernels
	x.first = make([]int32, x.f.Trace.Calls.Len()+1)
	for _, c := range calls {
		if c != facts.NoCall {
			x.first[c+1]++
		}
	}
	for c := range len(x.first) - 1 {
		x.first[c+1] += x.first[c]
	}
	next := slices.Clone(x.first)
	x.byCall = make([]int32, x.first[len(x.first)-1])
	for i, c := range calls {
		if c != facts.NoCall {
			x.byCall[next[c]] = int32(i)
			next[c]++
		}
	}
}

// gather fills the groups; false says that there is too much.
func (x *rangeKernels) gather() bool {
	thread, twins := x.f.Trace.Calls.Thread, x.f.Twins()
	inside := make([]bool, len(thread))
	times := make([]int32, len(x.labels.all)) // by label: how many of its ranges are around the call
	var met []uint32                          // labels, in the order met
	pairs := 0
	x.f.EachEnclosing(func(call, first int32, rows []int32) bool {
		kernels := x.byCall[x.first[first]:x.first[first+1]]
		if len(rows) == 0 || len(kernels) == 0 {
			return true
		}
		inside[first] = true
		for _, l := range met {
			times[l] = 0
		}
		met = met[:0]
		for _, row := range rows {
			l := x.labels.group[row]
			if times[l]++; times[l] == 1 {
				met = append(met, l)
			}
		}
		for _, i := range kernels {
			for _, l := range met {
				x.add(rangeKernel{l, thread[call], x.kernels.of[i]}, i, times[l], twins[first] != nil)
			}
			for _, row := range rows {
				x.addRange(rangeKernel{x.labels.group[row], thread[call], x.kernels.of[i]}, row)
			}
		}
		pairs += len(rows) * len(kernels)
		return pairs <= maxEnclosings && len(x.counted) <= maxRangeKernels
	})
	if pairs > maxEnclosings || len(x.counted) > maxRangeKernels {
		return false
	}
	for i, c := range x.f.Launches().Kernels {
		switch {
		case c == facts.NoCall:
			x.add(rangeKernel{noLabel, model.NoThread, x.kernels.of[i]}, int32(i), 1, false)
		case !inside[c]:
			x.add(rangeKernel{noLabel, thread[c], x.kernels.of[i]}, int32(i), int32(1+len(twins[c])), false)
		}
	}
	return true
}

// group is the number of a group.
func (x *rangeKernels) group(k rangeKernel) uint32 {
	g := x.groups.id(k, k.label*31+k.kernel)
	if int(g) == len(x.values) {
		x.values, x.inst, x.ranges = append(x.values, nil), append(x.inst, 0), append(x.ranges, 0)
	}
	return g
}

// add counts a kernel in a group, several times in its figures but once as a kernel. A kernel of a call
// with twins may be added by each.
func (x *rangeKernels) add(k rangeKernel, kernel, times int32, twins bool) {
	g := x.group(k)
	x.values[g] = append(x.values[g], weighted{x.f.Trace.Kernels.DurNs[kernel], times})
	if twins {
		key := [2]uint32{uint32(kernel), g}
		if _, again := x.twice[key]; again {
			return
		}
		x.twice[key] = struct{}{}
	}
	x.inst[g]++
}

// addRange counts a range in a group, once.
func (x *rangeKernels) addRange(k rangeKernel, row int32) {
	g := x.group(k)
	switch x.firstGroup[row] {
	case g + 1:
		return
	case 0:
		x.firstGroup[row] = g + 1
		x.ranges[g]++
		return
	}
	key := [2]uint32{uint32(row), g}
	if _, again := x.counted[key]; !again {
		x.counted[key] = struct{}{}
		x.ranges[g]++
	}
}

// addRows makes the rows of the groups.
func (x *rangeKernels) addRows(out *Rows) {
	t := x.f.Trace
	sums, order := make([]summary, len(x.values)), make([]uint32, len(x.values))
	eachOf(len(sums), func(g int) { sums[g] = summaryOfWeighted(x.values[g]) })
	for g := range order {
		order[g] = uint32(g)
	}
	name := func(k rangeKernel) string {
		if k.label == noLabel {
			return ""
		}
		return x.labels.text[x.labels.all[k.label].name]
	}
	slices.SortFunc(order, func(a, b uint32) int {
		p, q := x.groups.keys[a], x.groups.keys[b]
		return cmp.Or(cmp.Compare(name(p), name(q)), compareThreads(t, p.thread, q.thread),
			cmp.Compare(sums[b].total, sums[a].total),
			x.kernels.compare(p.kernel, q.kernel), cmp.Compare(p.label, q.label))
	})
	for _, g := range order {
		k, s := x.groups.keys[g], &sums[g]
		var style, rangeName Cell
		if k.label != noLabel {
			style, rangeName = x.labels.cells(k.label)
		}
		pid, tid := threadCells(t, k.thread)
		out.Add(rangeName, style, pid, tid, Int(x.ranges[g]), Int(x.inst[g]), Int(s.total), Float(s.mean()),
			Float(s.median),
			Int(s.min), Int(s.max), Float(s.deviation), Str(x.kernels.text[k.kernel]))
	}
}

// summaryOfWeighted is summaryOf for values that count several times. It reorders them.
func summaryOfWeighted(v []weighted) summary {
	slices.SortFunc(v, func(a, b weighted) int { return cmp.Compare(a.ns, b.ns) })
	s := summary{min: v[0].ns, max: v[len(v)-1].ns}
	for _, x := range v {
		s.count += int64(x.times)
		s.total += x.ns * int64(x.times)
	}
	mean, squares, seen := s.mean(), 0.0, int64(0)
	for _, x := range v {
		d := float64(x.ns) - mean
		squares += d * d * float64(x.times)
		// The middle values are those at (count-1)/2 and count/2, one and the same for an odd count.
		for _, at := range [2]int64{(s.count - 1) / 2, s.count / 2} {
			if seen <= at && at < seen+int64(x.times) {
				s.median += float64(x.ns) / 2
			}
		}
		seen += int64(x.times)
	}
	if s.count > 1 {
		s.deviation = math.Sqrt(squares / float64(s.count-1))
	}
	return s
}
