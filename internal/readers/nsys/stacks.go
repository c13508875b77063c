package nsys

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/model"
)

// A frame is a place in a call stack: what is called there, and from where.
type frame struct {
	caller         model.FrameRow
	symbol, module model.StringID
}

// chains reads the call chains of calls, OS calls and samples into one tree of frames.
func (r *reading) chains() {
	r.stacks, r.frames = make(map[string]map[int64]model.FrameRow), make(map[frame]model.FrameRow)
	for _, table := range []string{"CUDA_CALLCHAINS", "OSRT_CALLCHAINS", "SAMPLING_CALLCHAINS"} {
		if r.db.Table(table) != nil {
			r.stacks[table] = r.chain(table)
		}
	}
}

// links is one table of call chains, unfolded; the model has no such table, as it keeps the tree only.
type links struct {
	ID, Depth      []int64
	Symbol, Module []model.StringID
}

// chain is the innermost frame of each stack of a table.
func (r *reading) chain(table string) map[int64]model.FrameRow {
	l := &links{}
	alloc := func(n int, _ func(int) bool) { grow(n, &l.ID, &l.Depth, &l.Symbol, &l.Module) }
	r.scan(l, alloc, source{table, []string{"id", "stackDepth", "symbol", "module"}, func(w *worker, i int) bool {
		id, ok := w.int(0)
		if !ok {
			w.lose(model.LossBadEvent, 0, "is not a number")
			return false
		}
		l.ID[i], l.Depth[i], l.Symbol[i], l.Module[i] = id, w.i64(1, 0), w.named(2), w.named(3)
		return true
	}})
	order := l.order()
	innermost := make(map[int64]model.FrameRow)
	for at := 0; at < len(order); {
		end := at + 1
		for end < len(order) && l.ID[order[end]] == l.ID[order[at]] {
			end++
		}
		row := model.NoFrame
		for i := end - 1; i >= at; i-- { // from the outermost frame inwards: a frame's caller is known before the frame
			row = r.frame(frame{row, l.Symbol[order[i]], l.Module[order[i]]})
		}
		innermost[l.ID[order[at]]] = row
		at = end
	}
	return innermost
}

// order is the rows by stack, each from the innermost frame outwards: as files have them.
func (l *links) order() []int {
	order := make([]int, len(l.ID))
	for i := range order {
		order[i] = i
	}
	compare := func(a, b int) int {
		return cmp.Or(cmp.Compare(l.ID[a], l.ID[b]), cmp.Compare(l.Depth[a], l.Depth[b]))
	}
	if !slices.IsSortedFunc(order, compare) {
		slices.SortStableFunc(order, compare)
	}
	return order
}

// frame is the row of f.
func (r *reading) frame(f frame) model.FrameRow {
	row, ok := r.frames[f]
	if !ok {
		t := &r.trace.Frames
		row = model.FrameRow(t.Len())
		r.frames[f] = row
		t.Parent, t.Symbol, t.Module = append(t.Parent, f.caller), append(t.Symbol, f.symbol),
			append(t.Module, f.module)
	}
	return row
}

// stack is the innermost frame of the stack with the ID in a slot; 0 is none.
func (w *worker) stack(stacks map[int64]model.FrameRow, slot int) model.FrameRow {
	if id, ok := w.int(slot); ok {
		if row, ok := stacks[id]; ok {
			return row
		}
	}
	return model.NoFrame
}

func (r *reading) samples() {
	s := &r.trace.Samples
	stacks := r.stacks["SAMPLING_CALLCHAINS"]
	alloc := func(n int, _ func(int) bool) { grow(n, &s.TimeNs, &s.Thread, &s.CPU, &s.Weight, &s.Stack) }
	r.scan(s, alloc, source{"COMPOSITE_EVENTS", []string{"start", "globalTid", "cpu", "cpuCycles", "id"},
		func(w *worker, i int) bool {
			t, ok := w.time(0)
			if !ok {
				return false
			}
			s.TimeNs[i], s.Thread[i], s.CPU[i] = t, w.thread(1), w.i32(2, -1)
			s.Weight[i], s.Stack[i] = w.i64(3, 0), w.stack(stacks, 4)
			return true
		}})
}

func (r *reading) sched() {
	s := &r.trace.Sched
	alloc := func(n int, _ func(int) bool) { grow(n, &s.TimeNs, &s.Thread, &s.CPU, &s.In, &s.State) }
	r.scan(s, alloc, source{"SCHED_EVENTS", []string{"start", "globalTid", "cpu", "isSchedIn", "threadState"},
		func(w *worker, i int) bool {
			t, ok := w.time(0)
			if !ok {
				return false
			}
			s.TimeNs[i], s.Thread[i], s.CPU[i] = t, w.thread(1), w.i32(2, -1)
			s.In[i], s.State[i] = w.i64(3, 0) != 0, w.u8(4)
			return true
		}})
}
