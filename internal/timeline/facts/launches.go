package facts

import "lacuna/internal/timeline/model"

// NoCall marks work whose launching call was not recorded.
const NoCall = int32(-1)

// Launches says which call launched what: rows of Trace.Calls, or NoCall.
type Launches struct {
	Kernels   []int32
	Copies    []int32
	Sets      []int32
	GraphRuns []int32
	Syncs     []int32

	// Duplicates is how many calls share process and correlation ID with an earlier call, which is the one used.
	Duplicates int
}

// Launches joins GPU work and synchronisation records to calls by process and correlation ID.
func (f *Facts) Launches() *Launches {
	return f.kept.launches.of(f, func(f *Facts) *Launches {
		t := f.Trace
		x, dup := indexCalls(&t.Calls, t.Threads)
		return &Launches{
			Kernels:    x.join(t.Kernels.Process, t.Kernels.Corr),
			Copies:     x.join(t.Copies.Process, t.Copies.Corr),
			Sets:       x.join(t.Sets.Process, t.Sets.Corr),
			GraphRuns:  x.join(t.GraphRuns.Process, t.GraphRuns.Corr),
			Syncs:      x.join(t.Syncs.Process, t.Syncs.Corr),
			Duplicates: dup,
		}
	})
}

// callIndex finds calls by process and correlation ID. Correlation IDs count up within a
// process, so nearly always an array serves; a map is for the rest.
type callIndex struct {
	byProcess map[model.ProcessRow]*corrIndex
	one       *corrIndex // the only process's, if there is only one
}

type corrIndex struct {
	first, last uint32
	count       int
	dense       []int32 // row+1 by corr-first
	sparse      map[uint32]int32
}

// maxDense bounds the array: at most so many slots for each call, plus some.
const maxDense = 8

func indexCalls(calls *model.Calls, threads []model.Thread) (x callIndex, duplicates int) {
	x.byProcess = make(map[model.ProcessRow]*corrIndex)
	processOf := func(row int) model.ProcessRow {
		if th := calls.Thread[row]; int(th) < len(threads) {
			return threads[th].Process
		}
		return model.NoProcess
	}
	for i, corr := range calls.Corr {
		if corr == model.NoCorr {
			continue
		}
		p := processOf(i)
		c := x.byProcess[p]
		if c == nil {
			c = &corrIndex{first: corr, last: corr}
			x.byProcess[p] = c
		}
		c.first, c.last = min(c.first, corr), max(c.last, corr)
		c.count++
	}
	for _, c := range x.byProcess {
		c.makeRoom()
		x.one = c
	}
	if len(x.byProcess) != 1 {
		x.one = nil
	}
	for i, corr := range calls.Corr {
		if corr == model.NoCorr {
			continue
		}
		c := x.one
		if c == nil {
			c = x.byProcess[processOf(i)]
		}
		if c.find(corr) != NoCall {
			duplicates++
			continue
		}
		c.set(corr, int32(i))
	}
	return x, duplicates
}

// makeRoom prepares for count IDs from first to last.
func (c *corrIndex) makeRoom() {
	switch width := int64(c.last) - int64(c.first) + 1; {
	case c.count == 0:
	case width <= int64(c.count)*maxDense+1<<16:
		c.dense = make([]int32, width)
	default:
		c.sparse = make(map[uint32]int32, c.count)
	}
}

// set makes row what find gives for an ID between first and last.
func (c *corrIndex) set(corr uint32, row int32) {
	if c.dense != nil {
		c.dense[corr-c.first] = row + 1
	} else {
		c.sparse[corr] = row + 1
	}
}

func (c *corrIndex) find(corr uint32) int32 {
	if corr < c.first || corr > c.last {
		return NoCall
	}
	if c.dense != nil {
		return c.dense[corr-c.first] - 1
	}
	return c.sparse[corr] - 1
}

func (x callIndex) join(process []model.ProcessRow, corr []uint32) []int32 {
	out := make([]int32, len(corr))
	for i, id := range corr {
		c := x.one
		if c == nil && i < len(process) {
			c = x.byProcess[process[i]]
		}
		if c == nil || id == model.NoCorr {
			out[i] = NoCall
			continue
		}
		out[i] = c.find(id)
	}
	return out
}
