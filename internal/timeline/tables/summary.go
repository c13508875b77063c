package tables

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
)

// What NVIDIA's summaries share: rows are groups of durations, described by six figures.

// A summary describes the durations, or sizes, of one group.
type summary struct {
	count     int64
	total     int64
	median    float64 // of an even number: the mean of the two in the middle
	min, max  int64
	deviation float64 // of a sample (n-1); 0 for one value
}

func (s *summary) mean() float64 { return float64(s.total) / float64(s.count) }

// noGroup leaves a value out.
const noGroup = ^uint32(0)

// summarize describes values by group: group[i] is the group of values[i], a number below groups, or noGroup.
func summarize[G ~uint32](group []G, values []int64, groups int) []summary {
	// Counting sort: the values of group g end up in sorted[start[g]:start[g+1]].
	start := make([]int, groups+1)
	for _, g := range group {
		if uint32(g) != noGroup {
			start[g+1]++
		}
	}
	for g := range groups {
		start[g+1] += start[g]
	}
	sorted := make([]int64, start[groups])
	next := slices.Clone(start[:groups])
	for i, g := range group {
		if uint32(g) != noGroup {
			sorted[next[g]] = values[i]
			next[g]++
		}
	}
	out := make([]summary, groups)
	eachOf(groups, func(g int) {
		if v := sorted[start[g]:start[g+1]]; len(v) > 0 {
			out[g] = summaryOf(v)
		}
	})
	return out
}

// summaryOf describes values, of which there must be one at least. It reorders them.
func summaryOf(v []int64) summary {
	s := summary{count: int64(len(v)), min: v[0], max: v[0]}
	for _, x := range v {
		s.total += x
		s.min, s.max = min(s.min, x), max(s.max, x)
	}
	if len(v) > 1 {
		mean, squares, rest := s.mean(), 0.0, 0.0
		for _, x := range v {
			d := float64(x) - mean
			squares += d * d
			rest += d // 0 but for rounding
		}
		s.deviation = math.Sqrt(max(0, squares-rest*rest/float64(len(v))) / float64(len(v)-1))
	}
	s.median = stat.Median(v)
	return s
}

// eachOf calls do for 0 to n-1 on all cores, a few at a time; each call must write to its own place only.
func eachOf(n int, do func(int)) {
	const chunk = 64
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var wait sync.WaitGroup
	var next atomic.Int64
	for range workers {
		wait.Go(func() {
			for {
				from := int(next.Add(chunk)) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(n, from+chunk); i++ {
					do(i)
				}
			}
		})
	}
	wait.Wait()
}

// byTotal is the groups that have values, largest total first; tie orders those with equal totals.
func byTotal(sums []summary, tie func(a, b uint32) int) []uint32 {
	var order []uint32
	for g := range sums {
		if sums[g].count > 0 {
			order = append(order, uint32(g))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(sums[b].total, sums[a].total), tie(a, b))
	})
	return order
}

// grandTotal is the sum of the totals.
func grandTotal(sums []summary) int64 {
	var all int64
	for i := range sums {
		all += sums[i].total
	}
	return all
}

// timeColumns is what a summary prints of durations, with count as the name of the number of values,
// each of which is a what; then the columns that name the row.
func timeColumns(count, what string, names ...Column) []Column {
	return append([]Column{
		{"Time", unit.Percent1, "Total Time out of the sum of Total Time over all rows, not of wall time; nothing " +
			"if that is 0"},
		{"Total Time", unit.Ns, "sum of durations; what overlaps counts in full"},
		{count, unit.Count, "number of " + what},
		{"Avg", unit.NsFloat, "mean duration"},
		{"Med", unit.NsFloat, "median duration; of an even number the mean of the two in the middle"},
		{"Min", unit.Ns, "shortest"},
		{"Max", unit.Ns, "longest"},
		{"StdDev", unit.NsFloat, "standard deviation of a sample (n-1); 0 for one"},
	}, names...)
}

// timeCells is the cells of timeColumns.
func (s *summary) timeCells(allNs int64, names ...Cell) []Cell {
	return append([]Cell{percent(s.total, allNs), Int(s.total), Int(s.count), Float(s.mean()), Float(s.median),
		Int(s.min), Int(s.max), Float(s.deviation)}, names...)
}

// percent is part out of whole; nothing out of nothing is absent.
func percent(part, whole int64) Cell {
	if whole == 0 {
		return Cell{}
	}
	return Float(float64(part) * 100 / float64(whole))
}

// Advice for captures that lack what a table needs.
const (
	tryCUDA = "record with lacuna record, nsys profile --trace=cuda, or torch.profiler with activities CPU and CUDA"
	tryNVTX = "record with lacuna record or nsys profile --trace=cuda,nvtx, and mark ranges with nvtx.range_push " +
		"or torch.profiler.record_function"
)
