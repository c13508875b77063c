package spool

import "lacuna/internal/timeline/model"

// A callIndex finds the call of a stream with a correlation ID: the runtime's, where the driver's inside has the same.
// Correlation IDs count up, so nearly always an array serves; a map is for the rest.
type callIndex struct {
	first  uint32
	dense  []int32 // row+1 by ID-first
	sparse map[uint32]int32
}

// indexCalls indexes some rows of Calls.
func (r *reading) indexCalls(rows span) *callIndex {
	t, x := &r.trace.Calls, &callIndex{}
	first, last, n := model.NoCorr, uint32(0), 0
	for _, corr := range t.Corr[rows.From:rows.To] {
		if corr != model.NoCorr {
			first, last, n = min(first, corr), max(last, corr), n+1
		}
	}
	switch {
	case n == 0:
		return x
	case int64(last)-int64(first) <= int64(n)*8+1<<16:
		x.first, x.dense = first, make([]int32, last-first+1)
	default:
		x.sparse = make(map[uint32]int32, n)
	}
	for i := rows.From; i < rows.To; i++ {
		corr := t.Corr[i]
		if corr == model.NoCorr {
			continue
		}
		if have := x.find(corr); have < 0 || t.Class[have] == model.CallDriver && t.Class[i] == model.CallRuntime {
			x.set(corr, i)
		}
	}
	return x
}

func (x *callIndex) set(corr uint32, row int) {
	if x.dense != nil {
		x.dense[corr-x.first] = int32(row) + 1
	} else {
		x.sparse[corr] = int32(row) + 1
	}
}

// find is the row of Calls; -1: none.
func (x *callIndex) find(corr uint32) int {
	switch {
	case corr == model.NoCorr:
		return -1
	case x.dense == nil:
		return int(x.sparse[corr]) - 1
	case corr < x.first || corr-x.first >= uint32(len(x.dense)):
		return -1
	}
	return int(x.dense[corr-x.first]) - 1
}
