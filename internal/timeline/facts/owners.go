package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// WorkOwners is, for each row of Work, the name of the operator that launched it: the innermost
// operator by external ID, else by time on the launching thread; where there are no operators, the
// innermost user range around the launching call, as NameText has it. 0: none.
func (f *Facts) WorkOwners() []model.StringID {
	return f.kept.workOwners.of(f, func(f *Facts) []model.StringID {
		t, w := f.Trace, f.Work()
		out := make([]model.StringID, w.Len())
		for i, op := range f.namedOps().rows {
			if op != NotNested {
				out[i] = t.Ops.Name[op]
			} else if call := w.Call[i]; call != NoCall {
				out[i] = f.ownerAt(t.Calls.Thread[call], t.Calls.StartNs[call])
			}
		}
		return out
	})
}

// externalOf is the external ID of a row of Work: its own, else its call's.
func (f *Facts) externalOf(i int) uint32 {
	t, w := f.Trace, f.Work()
	row := int(w.Row[i])
	id := model.NoExternal
	switch w.Kind[i] {
	case WorkKernel, WorkComm:
		id = at(t.Kernels.External, row, id)
	case WorkGraph:
		id = at(t.GraphRuns.External, row, id)
	case WorkCopy:
		id = at(t.Copies.External, row, id)
	case WorkSet:
		id = at(t.Sets.External, row, id)
	}
	if (id == model.NoExternal || id == 0) && w.Call[i] != NoCall {
		id = at(t.Calls.External, int(w.Call[i]), id)
	}
	return id
}

// ownerAt is the innermost operator, else the innermost user range, on a thread at an instant; a thread
// without ranges, such as autograd's, works for the range that another thread of its process is in.
func (f *Facts) ownerAt(thread model.ThreadRow, ns int64) model.StringID {
	if spans := f.innermostOps(thread); len(spans) > 0 {
		if i := firstNamedAfter(spans, ns); i < len(spans) && spans[i].Contains(ns) {
			return spans[i].name
		}
	}
	for _, th := range append([]model.ThreadRow{thread}, f.feeders(thread)...) {
		if name := f.rangeAt(th, ns); name != 0 {
			return name
		}
	}
	return 0
}

// rangeAt is the innermost user range, else the innermost range of the framework, on a thread at an instant.
func (f *Facts) rangeAt(thread model.ThreadRow, ns int64) model.StringID {
	h := threadAt(f.hostThreads(), thread)
	if h == nil {
		return 0
	}
	for _, spans := range [][]named{h.user, h.framework} {
		if i := firstNamedAfter(spans, ns); i < len(spans) && spans[i].Contains(ns) {
			return spans[i].name
		}
	}
	return 0
}

// innermostOps is the innermost operator of a thread at each instant that has one.
func (f *Facts) innermostOps(thread model.ThreadRow) []named {
	all := f.kept.innermostOps.of(f, func(f *Facts) [][]named {
		t := f.Trace
		flat := make([]flattener, len(t.Threads))
		for i, th := range t.Ops.Thread {
			if int(th) < len(flat) {
				flat[th].add(named{interval.Span{StartNs: t.Ops.StartNs[i], EndNs: t.Ops.EndNs(i)}, t.Ops.Name[i]})
			}
		}
		out := make([][]named, len(flat))
		for i := range flat {
			out[i] = flat[i].finish()
		}
		return out
	})
	if int(thread) >= len(all) {
		return nil
	}
	return all[thread]
}

// HostTime is how often something ran on the host, and how long with and without what ran inside it.
type HostTime struct {
	Count   int64
	SelfNs  int64
	TotalNs int64 // each instant of a thread once, however often the name is open there; only HostTimes knows it
}

// OwnerHostTime is the host time of each name that WorkOwners can give, within window.
func (f *Facts) OwnerHostTime(window interval.Span) map[model.StringID]HostTime {
	t := f.Trace
	out := make(map[model.StringID]HostTime)
	add := func(name model.StringID, count, ns int64) {
		h := out[name]
		h.Count, h.SelfNs = h.Count+count, h.SelfNs+ns
		out[name] = h
	}
	if t.Ops.Len() > 0 {
		for i := range t.Threads {
			for _, s := range f.innermostOps(model.ThreadRow(i)) {
				add(s.name, 0, s.Clip(window).LenNs())
			}
		}
		for i, ns := range t.Ops.StartNs {
			if window.Contains(ns) {
				add(t.Ops.Name[i], 1, 0)
			}
		}
		return out
	}
	for _, h := range f.hostThreads() {
		for _, spans := range [][]named{h.user, h.framework} {
			for _, s := range spans {
				add(s.name, 0, s.Clip(window).LenNs())
			}
		}
	}
	class := f.RangeClasses()
	for i, ns := range t.Ranges.StartNs {
		if class[i] != RangeMarker && window.Contains(ns) {
			add(f.RangeNames()[t.Ranges.Name[i]], 1, 0)
		}
	}
	return out
}

// HostTimes is the host time within window of each operator, range and MPI call, with and without that of what ran
// inside it: what there is to tell of a capture without GPU work.
func (f *Facts) HostTimes(window interval.Span) map[model.StringID]HostTime {
	t, class, names := f.Trace, f.RangeClasses(), f.RangeNames()
	threads := make([][]named, len(t.Threads))
	out := make(map[model.StringID]HostTime)
	add := func(th model.ThreadRow, name model.StringID, startNs, endNs int64) {
		if int(th) >= len(threads) {
			return
		}
		threads[th] = append(threads[th], named{interval.Span{StartNs: startNs, EndNs: endNs}, name})
		if window.Contains(startNs) {
			h := out[name]
			h.Count++
			out[name] = h
		}
	}
	for i, th := range t.Ops.Thread {
		add(th, t.Ops.Name[i], t.Ops.StartNs[i], t.Ops.EndNs(i))
	}
	for i, th := range t.Ranges.Thread {
		if class[i] != RangeMarker && t.Ranges.DurNs[i] != model.OpenDurNs {
			add(th, names[t.Ranges.Name[i]], t.Ranges.StartNs[i], t.Ranges.EndNs(i))
		}
	}
	for i, th := range t.MPI.Thread {
		add(th, t.MPI.Name[i], t.MPI.StartNs[i], t.MPI.StartNs[i]+max(t.MPI.DurNs[i], 0))
	}
	for _, spans := range threads {
		slices.SortStableFunc(spans, func(a, b named) int {
			return cmp.Or(cmp.Compare(a.StartNs, b.StartNs), cmp.Compare(b.EndNs, a.EndNs))
		})
		var flat flattener
		seenNs := make(map[model.StringID]int64) // up to where a name's time is counted
		for _, s := range spans {
			flat.add(s)
			from := s.StartNs
			if end, seen := seenNs[s.name]; seen {
				from = max(from, end)
			}
			if s.EndNs <= from {
				continue
			}
			seenNs[s.name] = s.EndNs
			h := out[s.name]
			h.TotalNs += (interval.Span{StartNs: from, EndNs: s.EndNs}).Clip(window).LenNs()
			out[s.name] = h
		}
		for _, s := range flat.finish() {
			h := out[s.name]
			h.SelfNs += s.Clip(window).LenNs()
			out[s.name] = h
		}
	}
	return out
}

// Feeders is how many processes issued GPU work, at least 1.
func (f *Facts) Feeders() int {
	return f.kept.feedingProcesses.of(f, func(f *Facts) int {
		seen := make(map[model.ProcessRow]bool)
		for _, call := range f.Work().Call {
			if call != NoCall {
				seen[f.ProcessOf(f.Trace.Calls.Thread[call])] = true
			}
		}
		return max(1, len(seen))
	})
}

// Devices is the ordinals of the devices that did work, sorted.
func (f *Facts) Devices() []uint32 {
	return f.kept.devices.of(f, func(f *Facts) []uint32 {
		seen := make(map[uint32]bool)
		var out []uint32
		for _, d := range f.Work().Device {
			if !seen[d] {
				seen[d], out = true, append(out, d)
			}
		}
		slices.Sort(out)
		return out
	})
}

// DeviceName is the name of a device, or "". ROCm numbers the devices of its records otherwise than those that the
// capture describes (host processors count): a number without a name has the one that all named devices share.
func (f *Facts) DeviceName(ordinal uint32) string {
	shared, same := "", true
	for _, d := range f.Trace.Devices {
		switch {
		case d.Name == "":
		case d.Ordinal == ordinal:
			return d.Name
		case shared == "":
			shared = d.Name
		default:
			same = same && d.Name == shared
		}
	}
	if !same {
		return ""
	}
	return shared
}

// CopyName is a copy's direction and, where known, the kinds of memory: "HtoD pageable -> device".
func (f *Facts) CopyName(row int) string {
	c := &f.Trace.Copies
	name := CopyKindName(c.Kind[row])
	src, dst := at(c.Src, row, model.MemUnknown), at(c.Dst, row, model.MemUnknown)
	if src == model.MemUnknown && dst == model.MemUnknown {
		return name
	}
	return name + " " + MemKindName(src) + " -> " + MemKindName(dst)
}

// MemKindName is a kind of memory in a word.
func MemKindName(k model.MemKind) string {
	switch k {
	case model.MemPageable:
		return "pageable"
	case model.MemPinned:
		return "pinned"
	case model.MemDevice:
		return "device"
	case model.MemArray:
		return "array"
	case model.MemManaged:
		return "managed"
	case model.MemDeviceStatic:
		return "device static"
	case model.MemManagedStatic:
		return "managed static"
	}
	return "unknown"
}
