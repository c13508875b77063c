package facts

import (
	"slices"

	"lacuna/internal/base/interval"
)

// A Budget is how the time of one device divides over a window: each instant counts once, as
// compute before communication before copy before idle. All in nanoseconds of the whole window.
type Budget struct {
	Device        uint32
	ComputeNs     int64
	CommExposedNs int64
	CopyNs        int64
	IdleNs        int64

	CommNs    int64        // union of communication, hidden or not
	CopyAllNs int64        // union of copies and memsets, hidden or not
	SetNs     int64        // the part of CopyNs in which only memsets ran
	Idle      interval.Set // when the device did nothing
}

// Budgets divides window for every device that did work in the capture, by ordinal.
func (f *Facts) Budgets(window interval.Span) []Budget {
	w := f.Work()
	spans := make(map[uint32]*[4][]interval.Span) // compute, comm, copy, set by device
	var devices []uint32
	for i := range w.Len() {
		d := spans[w.Device[i]]
		if d == nil {
			d = new([4][]interval.Span)
			spans[w.Device[i]], devices = d, append(devices, w.Device[i])
		}
		s := interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}.Clip(window)
		if s.LenNs() == 0 {
			continue
		}
		switch {
		case w.Kind[i].IsCompute():
			d[0] = append(d[0], s)
		case w.Kind[i] == WorkComm:
			d[1] = append(d[1], s)
		case w.Kind[i] == WorkSet:
			d[3] = append(d[3], s)
		default:
			d[2] = append(d[2], s)
		}
	}
	slices.Sort(devices)
	var out []Budget
	for _, device := range devices {
		d := spans[device]
		compute, comm, sets := interval.UnionSorted(d[0]), interval.UnionSorted(d[1]), interval.UnionSorted(d[3])
		moved := interval.UnionSorted(d[2])
		copies := interval.Union(append(slices.Clone([]interval.Span(moved)), sets...))
		exposed := interval.Subtract(comm, compute)
		busy := interval.Union(append(slices.Clone([]interval.Span(compute)), comm...))
		b := Budget{
			Device: device, ComputeNs: compute.TotalNs(), CommExposedNs: exposed.TotalNs(),
			CommNs: comm.TotalNs(), CopyAllNs: copies.TotalNs(),
		}
		b.CopyNs = interval.Subtract(copies, busy).TotalNs()
		b.SetNs = b.CopyNs - interval.Subtract(moved, busy).TotalNs()
		b.Idle = interval.Union(append(slices.Clone([]interval.Span(busy)), copies...)).Gaps(window)
		b.IdleNs = b.Idle.TotalNs()
		out = append(out, b)
	}
	return out
}
