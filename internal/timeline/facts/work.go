package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/model"
)

// WorkKind is what a piece of GPU work is, in the order in which an instant is counted.
type WorkKind uint8

// The kinds of work.
const (
	WorkKernel WorkKind = iota // a kernel that computes
	WorkGraph                  // a CUDA graph recorded at graph level
	WorkComm                   // a communication kernel
	WorkCopy
	WorkSet
)

// IsCompute says whether work of this kind counts as compute.
func (k WorkKind) IsCompute() bool { return k == WorkKernel || k == WorkGraph }

// Work is all work of all GPUs in one list, ordered by start; ties as kernels, graphs, copies, sets.
type Work struct {
	Kind    []WorkKind
	Row     []uint32 // in the table of that kind
	StartNs []int64
	EndNs   []int64
	Device  []uint32
	Stream  []uint32
	Call    []int32 // the launching call, or NoCall
}

// Len is the number of rows.
func (w *Work) Len() int { return len(w.Kind) }

// Work merges kernels, graphs, copies and sets. Times are the host's: see ClockShifts.
func (f *Facts) Work() *Work {
	return f.kept.work.of(f, func(f *Facts) *Work {
		t, launches, comm := f.Trace, f.Launches(), f.CommKernels()
		sources := []workSource{
			{&t.Kernels.Activity, launches.Kernels, func(i int) WorkKind {
				if comm[i] {
					return WorkComm
				}
				return WorkKernel
			}, 0},
			{&t.GraphRuns.Activity, launches.GraphRuns, func(int) WorkKind { return WorkGraph }, 0},
			{&t.Copies.Activity, launches.Copies, func(int) WorkKind { return WorkCopy }, 0},
			{&t.Sets.Activity, launches.Sets, func(int) WorkKind { return WorkSet }, 0},
		}
		n := 0
		for _, s := range sources {
			n += s.a.Len()
		}
		w := &Work{
			Kind: make([]WorkKind, 0, n), Row: make([]uint32, 0, n), StartNs: make([]int64, 0, n),
			EndNs:  make([]int64, 0, n),
			Device: make([]uint32, 0, n), Stream: make([]uint32, 0, n), Call: make([]int32, 0, n),
		}
		for range n {
			w.take(sources)
		}
		if shifts := f.ClockShifts(); len(shifts) > 0 {
			w.move(shifts)
		}
		return w
	})
}

type workSource struct {
	a    *model.Activity
	call []int32
	kind func(int) WorkKind
	next int
}

// take moves the earliest row of the sources, each of them sorted, to w.
func (w *Work) take(sources []workSource) {
	var best *workSource
	for i := range sources {
		s := &sources[i]
		if s.next < s.a.Len() && (best == nil || s.a.StartNs[s.next] < best.a.StartNs[best.next]) {
			best = s
		}
	}
	i := best.next
	best.next++
	w.Kind = append(w.Kind, best.kind(i))
	w.Row = append(w.Row, uint32(i))
	w.StartNs = append(w.StartNs, best.a.StartNs[i])
	w.EndNs = append(w.EndNs, best.a.EndNs(i))
	w.Device = append(w.Device, at(best.a.Device, i, 0))
	w.Stream = append(w.Stream, at(best.a.Stream, i, 0))
	w.Call = append(w.Call, best.call[i])
}

// move adds to the times of each device's work, and brings all into order again.
func (w *Work) move(shifts map[uint32]int64) {
	order := make([]int, w.Len())
	for i, device := range w.Device {
		order[i] = i
		w.StartNs[i] += shifts[device]
		w.EndNs[i] += shifts[device]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.StartNs[a], w.StartNs[b]) })
	w.Kind, w.Row, w.Call = inOrder(w.Kind, order), inOrder(w.Row, order), inOrder(w.Call, order)
	w.StartNs, w.EndNs = inOrder(w.StartNs, order), inOrder(w.EndNs, order)
	w.Device, w.Stream = inOrder(w.Device, order), inOrder(w.Stream, order)
}

func inOrder[T any](column []T, order []int) []T {
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = column[from]
	}
	return out
}

// at is column[i], or absent where the capture lacks the column.
func at[T any](column []T, i int, absent T) T {
	if i < len(column) {
		return column[i]
	}
	return absent
}

// Name is a name for a row of the work, for people.
func (f *Facts) WorkName(i int) string {
	t, w := f.Trace, f.Work()
	row := w.Row[i]
	switch w.Kind[i] {
	case WorkKernel, WorkComm:
		return t.Strings.Text(t.Kernels.Name[row])
	case WorkGraph:
		return "CUDA graph"
	case WorkCopy:
		return "memcpy " + CopyKindName(t.Copies.Kind[row])
	default:
		return "memset"
	}
}

// CopyKindName is the direction of a copy in short: HtoD, DtoH.
func CopyKindName(k model.CopyKind) string {
	switch k {
	case model.CopyHtoD:
		return "HtoD"
	case model.CopyDtoH:
		return "DtoH"
	case model.CopyHtoA:
		return "HtoA"
	case model.CopyAtoH:
		return "AtoH"
	case model.CopyDtoD:
		return "DtoD"
	case model.CopyHtoH:
		return "HtoH"
	case model.CopyPtoP:
		return "PtoP"
	case model.CopyUMHtoD:
		return "HtoD (unified memory)"
	case model.CopyUMDtoH:
		return "DtoH (unified memory)"
	case model.CopyUMDtoD:
		return "DtoD (unified memory)"
	}
	return "(unknown)"
}
