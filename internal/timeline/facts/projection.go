package facts

import (
	"slices"
	"sort"

	"lacuna/internal/timeline/model"
)

// maxTwins bounds how many further calls with the same correlation ID are told apart. More than that
// is no nesting of one API in another but an ID that means nothing.
const maxTwins = 3

// Twins is the calls that share process and correlation ID with an earlier one, by the row of that
// one, in order. Some CUPTI versions record a launch twice, once inside the other, and nsys
// counts its work for both. A call with more than maxTwins of them has none.
func (f *Facts) Twins() map[int32][]int32 {
	return f.kept.twins.of(f, func(f *Facts) map[int32][]int32 {
		if f.Launches().Duplicates == 0 {
			return nil
		}
		t := f.Trace
		index, _ := indexCalls(&t.Calls, t.Threads)
		process := make([]model.ProcessRow, t.Calls.Len())
		for i := range process {
			process[i] = f.ProcessOf(t.Calls.Thread[i])
		}
		twins, many := make(map[int32][]int32), make(map[int32]bool)
		for i, first := range index.join(process, t.Calls.Corr) {
			switch {
			case first == NoCall || first == int32(i) || many[first]:
			case len(twins[first]) == maxTwins:
				delete(twins, first)
				many[first] = true
			default:
				twins[first] = append(twins[first], int32(i))
			}
		}
		return twins
	})
}

// issued is the calls that issued kernels, copies or memsets, in the calls' order, with the time from the
// start of the first to the end of the last of that work. Graphs recorded at graph level do not count, as in nsys.
type issued struct {
	call    []int32
	first   []int32 // the earliest call with the same correlation ID: itself, or the one it is a twin of
	startNs []int64
	endNs   []int64
}

func (f *Facts) issued() *issued {
	return f.kept.issued.of(f, func(f *Facts) *issued {
		t, launches := f.Trace, f.Launches()
		// By call, shifted by one so that 0 is none.
		slot := make([]int32, t.Calls.Len())
		for _, calls := range [][]int32{launches.Kernels, launches.Copies, launches.Sets} {
			for _, c := range calls {
				if c != NoCall {
					slot[c] = c + 1
				}
			}
		}
		for first, others := range f.Twins() {
			if slot[first] != 0 {
				for _, c := range others {
					slot[c] = first + 1
				}
			}
		}
		x := new(issued)
		for c, s := range slot {
			if s == 0 {
				continue
			}
			x.call, x.first = append(x.call, int32(c)), append(x.first, s-1)
			slot[c] = int32(len(x.call))
		}
		x.startNs, x.endNs = make([]int64, len(x.call)), make([]int64, len(x.call))
		for i := range x.endNs {
			x.startNs[i], x.endNs[i] = 1<<63-1, -1<<63
		}
		x.extend(slot, launches.Kernels, &t.Kernels.Activity)
		x.extend(slot, launches.Copies, &t.Copies.Activity)
		x.extend(slot, launches.Sets, &t.Sets.Activity)
		for i, first := range x.first {
			if own := slot[first] - 1; own != int32(i) {
				x.startNs[i], x.endNs[i] = x.startNs[own], x.endNs[own]
			}
		}
		return x
	})
}

// extend widens the times of calls by what they launched.
func (x *issued) extend(slot, calls []int32, a *model.Activity) {
	for i, c := range calls {
		if c == NoCall {
			continue
		}
		s := slot[c] - 1
		x.startNs[s] = min(x.startNs[s], a.StartNs[i])
		x.endNs[s] = max(x.endNs[s], a.EndNs(i))
	}
}

// nestable is the ranges' durations, negative for those that cannot contain a call: never
// closed, or ended by another thread than the one that began them.
func (f *Facts) nestable() []int64 {
	return f.kept.nestableRanges.of(f, func(f *Facts) []int64 {
		r := &f.Trace.Ranges
		dur := r.DurNs
		for i, end := range r.EndThread {
			if end != model.NoThread && end != r.Thread[i] {
				if &dur[0] == &r.DurNs[0] {
					dur = slices.Clone(dur)
				}
				dur[i] = model.OpenDurNs
			}
		}
		return dur
	})
}

// RangeTree is which range lies in which. Ranges that were never closed, or closed by another thread, stand alone.
type RangeTree struct {
	Parent []int32 // row of Trace.Ranges, or NotNested
	Level  []int32 // 0: outermost
}

// RangeTree nests the ranges of each host thread.
func (f *Facts) RangeTree() *RangeTree {
	return f.kept.rangeTree.of(f, func(f *Facts) *RangeTree {
		r := &f.Trace.Ranges
		parent, level := Nest(r.StartNs, f.nestable(), r.Thread)
		return &RangeTree{parent, level}
	})
}

// InnermostRange is, for each call that issued GPU work, the range around the whole call, on its
// thread, that started last; NotNested if there is none, and for all other calls.
func (f *Facts) InnermostRange() []int32 {
	return f.kept.innermostRanges.of(f, func(f *Facts) []int32 {
		t, durNs := f.Trace, f.nestable()
		r, calls := &t.Ranges, &t.Calls
		out := make([]int32, calls.Len())
		for i := range out {
			out[i] = NotNested
		}
		// A stack for each thread, as in Nest: ends grow from its top down.
		stacks := make([][]int32, len(t.Threads)+1)
		end := func(row int32) int64 { return r.StartNs[row] + durNs[row] }
		next := 0
		for _, c := range f.issued().call {
			for ; next < len(durNs) && r.StartNs[next] <= calls.StartNs[c]; next++ {
				if durNs[next] < 0 {
					continue
				}
				s := &stacks[f.threadSlot(r.Thread[next])]
				for len(*s) > 0 && end((*s)[len(*s)-1]) < end(int32(next)) {
					*s = (*s)[:len(*s)-1]
				}
				*s = append(*s, int32(next))
			}
			s := stacks[f.threadSlot(calls.Thread[c])]
			inside := sort.Search(len(s), func(i int) bool { return end(s[i]) < calls.EndNs(int(c)) })
			if inside > 0 {
				out[c] = s[inside-1]
			}
		}
		return out
	})
}

// EachEnclosing visits every call that issued GPU work, in their order, with the ranges around the whole
// call on its thread, in theirs; first is the earliest call with its correlation ID, mostly itself. The rows
// are valid until visit returns; it stops when visit says no. All rows together may be calls times ranges.
func (f *Facts) EachEnclosing(visit func(call, first int32, rows []int32) bool) {
	t, x, durNs := f.Trace, f.issued(), f.nestable()
	r, calls := &t.Ranges, &t.Calls
	open := make([][]int32, len(t.Threads)+1)
	var around []int32
	next := 0
	for i, c := range x.call {
		start, end := calls.StartNs[c], calls.EndNs(int(c))
		for ; next < len(durNs) && r.StartNs[next] <= start; next++ {
			if durNs[next] >= 0 {
				s := f.threadSlot(r.Thread[next])
				open[s] = append(open[s], int32(next))
			}
		}
		mine := &open[f.threadSlot(calls.Thread[c])]
		kept := (*mine)[:0]
		around = around[:0]
		for _, row := range *mine {
			rowEnd := r.StartNs[row] + durNs[row]
			if rowEnd < start {
				continue
			}
			kept = append(kept, row)
			if rowEnd >= end {
				around = append(around, row)
			}
		}
		*mine = kept
		if !visit(c, x.first[i], around) {
			return
		}
	}
}

// threadSlot is a thread's place in a slice of one more than there are threads; the last is for the unknown.
func (f *Facts) threadSlot(th model.ThreadRow) int { return min(int(th), len(f.Trace.Threads)) }
