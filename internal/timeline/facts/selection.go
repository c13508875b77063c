package facts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/timeline/model"
)

// A Selection is the GPU work that Holistic Trace Analysis' tables count. With two or more
// ProfilerSteps the last one is left out, since its work is seldom whole: what was launched after its
// start, and work without a recorded launch that ran after it.
type Selection struct {
	Rows       []uint32 // of Work, ordered by start, then shortest first: the order HTA has on a stream
	Steps      int      // different ProfilerSteps of the capture
	LastStepNs int64    // start of the last one, if Steps > 1
	LeftOut    int      // rows of Work that are not selected
}

// Selection chooses what HTA's tables count.
func (f *Facts) Selection() *Selection {
	return f.kept.selection.of(f, func(f *Facts) *Selection {
		t, w := f.Trace, f.Work()
		s := &Selection{Rows: make([]uint32, 0, w.Len())}
		s.Steps, s.LastStepNs = f.lastProfilerStep()
		for i := range w.Len() {
			issuedNs := w.StartNs[i]
			if call := w.Call[i]; call != NoCall {
				issuedNs = t.Calls.StartNs[call]
			}
			if s.Steps > 1 && issuedNs >= s.LastStepNs {
				s.LeftOut++
				continue
			}
			s.Rows = append(s.Rows, uint32(i))
		}
		sortTies(s.Rows, w)
		return s
	})
}

// sortTies puts rows that start together in the order of their ends; rows are already ordered by start.
func sortTies(rows []uint32, w *Work) {
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && w.StartNs[rows[j]] == w.StartNs[rows[i]] {
			j++
		}
		if j > i+1 {
			slices.SortStableFunc(rows[i:j], func(a, b uint32) int { return cmp.Compare(w.EndNs[a], w.EndNs[b]) })
		}
		i = j
	}
}

// lastProfilerStep is how many ProfilerSteps with different numbers the host marked, and when the
// one with the highest number began.
func (f *Facts) lastProfilerStep() (count int, startNs int64) {
	t := f.Trace
	isStep := make([]int8, t.Strings.Len()) // 0: not looked at, 1: yes, -1: no
	seen := make(map[int64]bool)
	last := int64(-1)
	for i, id := range t.Ranges.Name {
		if isStep[id] < 0 {
			continue
		}
		n := profilerStepNumber(t.Strings.Text(id))
		if isStep[id] = 1; n < 0 {
			isStep[id] = -1
			continue
		}
		seen[n] = true
		if n > last {
			last, startNs = n, t.Ranges.StartNs[i]
		}
	}
	return len(seen), startNs
}

// profilerStepNumber is N of ProfilerStep#N, or -1.
func profilerStepNumber(name string) int64 {
	if !IsProfilerStep(name) {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(name, "ProfilerStep#"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// WorkActivity is the table and row that a row of the work came from.
func (f *Facts) WorkActivity(i uint32) (*model.Activity, int) {
	t, w := f.Trace, f.Work()
	row := int(w.Row[i])
	switch w.Kind[i] {
	case WorkKernel, WorkComm:
		return &t.Kernels.Activity, row
	case WorkGraph:
		return &t.GraphRuns.Activity, row
	case WorkCopy:
		return &t.Copies.Activity, row
	default:
		return &t.Sets.Activity, row
	}
}

// WorkProcess is the process whose work a row is, or NoProcess.
func (f *Facts) WorkProcess(i uint32) model.ProcessRow {
	a, row := f.WorkActivity(i)
	return at(a.Process, row, model.NoProcess)
}
