package facts

import (
	"slices"

	"lacuna/internal/timeline/model"
)

// bookDevice adds each piece of GPU work to its event and all above it: to the operator or annotation that
// its external ID names. Where operators have no such IDs (emit_nvtx), to the innermost around the launching call.
func (o *OpTree) bookDevice(f *Facts) {
	w := f.Work()
	o.DeviceNs = make([]int64, o.Len())
	var eventOf func(i int) int32
	if origin := o.byExternal(f); origin.count > 0 && f.namedOps().hold {
		eventOf = func(i int) int32 {
			if id := f.externalOf(i); linked(id) {
				return origin.find(id)
			}
			return NotNested
		}
	} else {
		around := o.aroundCalls(f.Trace.Calls.Len())
		eventOf = func(i int) int32 {
			if call := w.Call[i]; call != NoCall {
				return around[call]
			}
			return NotNested
		}
	}
	for i := range w.Len() {
		if e := eventOf(i); e != NotNested {
			o.DeviceNs[e] += w.EndNs[i] - w.StartNs[i]
		}
	}
	for i := o.Len() - 1; i >= 0; i-- { // parents stand before their children
		if p := o.Parent[i]; p != NotNested {
			o.DeviceNs[p] += o.DeviceNs[i]
		}
	}
}

// aroundCalls is the innermost event around each call that is no call, or NotNested.
func (o *OpTree) aroundCalls(calls int) []int32 {
	out := make([]int32, calls)
	for i, kind := range o.Kind {
		if kind != HostCall {
			continue
		}
		p := o.Parent[i]
		if p != NotNested && o.Kind[p] == HostCall {
			p = out[o.Row[p]] // parents stand before their children
		}
		out[o.Row[i]] = p
	}
	return out
}

// linked says whether an external ID names something. PyTorch counts from 1.
func linked(external uint32) bool { return external != model.NoExternal && external != 0 }

// byExternal finds events by external ID. Of several with one ID it is an operator, and the last.
func (o *OpTree) byExternal(f *Facts) *corrIndex {
	t := f.Trace
	external := func(i int) uint32 {
		switch o.Kind[i] {
		case HostOp:
			return at(t.Ops.External, int(o.Row[i]), 0)
		case HostRange:
			return at(t.Ranges.External, int(o.Row[i]), 0)
		}
		return 0
	}
	x := &corrIndex{first: ^uint32(0)}
	for i := range o.Row {
		if id := external(i); linked(id) {
			x.first, x.last = min(x.first, id), max(x.last, id)
			x.count++
		}
	}
	x.makeRoom()
	for _, kind := range []HostKind{HostRange, HostOp} {
		for i := range o.Row {
			if id := external(i); o.Kind[i] == kind && linked(id) {
				x.set(id, int32(i))
			}
		}
	}
	return x
}

// bookMemory sums the allocator's events that happen between start and end of each event, both included.
func (o *OpTree) bookMemory(t *model.Trace, startNs []int64) {
	a := &t.AllocEvents
	if a.Len() == 0 {
		return
	}
	host, device := make([]int64, a.Len()+1), make([]int64, a.Len()+1) // sums of the events before each
	for i, delta := range a.DeltaBytes {
		host[i+1], device[i+1] = host[i], device[i]
		if at(a.Device, i, model.NoDevice) == model.NoDevice {
			host[i+1] += delta
		} else {
			device[i+1] += delta
		}
	}
	o.HostBytes, o.DeviceBytes = make([]int64, o.Len()), make([]int64, o.Len())
	lo, covered := 0, 0
	for i, start := range startNs {
		for lo < a.Len() && a.TimeNs[lo] < start {
			lo++
		}
		n, _ := slices.BinarySearch(a.TimeNs[lo:], start+o.DurNs[i]+1)
		hi := lo + n
		o.HostBytes[i], o.DeviceBytes[i] = host[hi]-host[lo], device[hi]-device[lo]
		if lo > covered { // no event so far reaches those between
			o.Outside.add(host, device, covered, lo)
		}
		covered = max(covered, hi)
	}
	o.Outside.add(host, device, covered, a.Len())
}

func (m *OutsideMemory) add(host, device []int64, from, to int) {
	m.Count += int64(to - from)
	m.HostBytes += host[to] - host[from]
	m.DeviceBytes += device[to] - device[from]
}
