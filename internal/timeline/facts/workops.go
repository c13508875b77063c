package facts

import (
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// WorkOps is, for each row of Work, the row of the operator that launched it: the one that its external ID names,
// else the innermost around the launching call; NotNested: none. Operators launch from within one another, so that this
// is the innermost one that did.
func (f *Facts) WorkOps() []int32 {
	return f.kept.workOps.of(f, func(f *Facts) []int32 {
		t, w := f.Trace, f.Work()
		out := slices.Clone(f.namedOps().rows)
		var left []int // rows to be found by time
		for i, call := range w.Call {
			if out[i] == NotNested && call != NoCall {
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

// opsNamed is, for each row of Work, the row of the operator that its external ID names, or NotNested. hold says
// whether the IDs are believed: where the operators that they name span the calls. PyTorch of 2023 numbered operators
// otherwise than calls.
type opsNamed struct {
	rows []int32
	hold bool
}

func (f *Facts) namedOps() *opsNamed {
	return f.kept.namedOps.of(f, func(f *Facts) *opsNamed {
		w := f.Work()
		byExternal := f.opRows()
		n := &opsNamed{make([]int32, w.Len()), true}
		right, wrong := 0, 0
		for i, call := range w.Call {
			n.rows[i] = NotNested
			id := f.externalOf(i)
			if !linked(id) || int64(id) >= int64(len(byExternal)) || byExternal[id] == NotNested {
				continue
			}
			n.rows[i] = byExternal[id]
			switch {
			case call == NoCall:
			case f.mayLaunch(n.rows[i], call):
				right++
			default:
				wrong++
			}
		}
		if n.hold = float64(wrong) <= maxWrongExternals*float64(right+wrong); !n.hold {
			for i := range n.rows {
				n.rows[i] = NotNested
			}
		}
		return n
	})
}

// mayLaunch says whether a call begins while an operator runs.
func (f *Facts) mayLaunch(op, call int32) bool {
	ops := &f.Trace.Ops
	span := interval.Span{StartNs: ops.StartNs[op] - externalSlackNs, EndNs: ops.EndNs(int(op)) + externalSlackNs}
	return span.Contains(f.Trace.Calls.StartNs[call])
}

const (
	externalSlackNs   = 1_000 // times of old captures are whole microseconds
	maxWrongExternals = 0.1   // share of the IDs that may name an operator which did not launch
)

// opRows is the operator of each external ID: of several the last. IDs count up, so that a list serves;
// IDs far beyond the number of operators are left to the search by time.
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
