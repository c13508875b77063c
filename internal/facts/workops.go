package facts

import "lacuna/internal/model"

// WorkOps is, for each row of Work, the row of the operator that launched it: the one that its external ID names,
// else the innermost around the launching call; NotNested: none. Operators launch from within one another, so that this
// is the innermost one that did.
func (f *Facts) WorkOps() []int32 {
	return fact(f, "work ops", func() []int32 {
		t, w := f.Trace, f.Work()
		byExternal := f.opRows()
		out := make([]int32, w.Len())
		var left []int // rows to be found by time
		for i, call := range w.Call {
			out[i] = NotNested
			if id := f.externalOf(i); linked(id) && int64(id) < int64(len(byExternal)) && byExternal[id] != NotNested {
				out[i] = byExternal[id]
			} else if call != NoCall {
				left = append(left, i)
			}
		}
		if len(left) == 0 || t.Ops.Len() == 0 {
			return out
		}
		tree := f.OpTree()
		around := tree.aroundCalls(t.Calls.Len())
		for _, i := range left {
			e := around[w.Call[i]]
			for e != NotNested && tree.Kind[e] != HostOp {
				e = tree.Parent[e]
			}
			if e != NotNested {
				out[i] = int32(tree.Row[e])
			}
		}
		return out
	})
}

// opRows is the operator of each external ID, as opNames has their names: of several the last.
func (f *Facts) opRows() []int32 {
	ops := &f.Trace.Ops
	limit, last := uint32(ops.Len())*maxDense+1<<16, uint32(0)
	for _, id := range ops.External {
		if id < limit {
			last = max(last, id)
		}
	}
	out := make([]int32, last+1)
	for i := range out {
		out[i] = NotNested
	}
	for i, id := range ops.External {
		if id != 0 && id <= last && id != model.NoExternal {
			out[id] = int32(i)
		}
	}
	return out
}
