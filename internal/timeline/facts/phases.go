package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A Phase is what a named range was to the steps looked at. All sums are over all of them.
type Phase struct {
	Name   model.StringID // as NameText has it
	Calls  int64          // how often it began in the host's part of the steps
	HostNs int64          // how long it lasted, those calls
	Work   int64          // pieces of GPU work that they launched
	WorkNs int64          // their durations; pieces that overlap count in full
	IdleNs int64          // idle time within the steps, of all devices, while it was open
}

// Phases sums the named ranges of the host over the steps looked at, in the order in which they began.
// Step markers and operators that came as ranges are none. Of ranges of one name that
// intersect on a thread only the first counts.
//
// A range launched what was launched while it was open, by its own thread or by a helper: a thread without
// a user range of its own at that time, such as autograd's, works for the thread that marks the steps.
func (f *Facts) Phases(s *Steps) []Phase {
	t := f.Trace
	class, names := f.RangeClasses(), f.RangeNames()
	isOp := judge(&t.Strings, func(name string) bool { return emittedName(name) != name })
	launched, idle, host := f.launchedBy(), f.idleSums(s.Window()), s.HostWindow()
	row := make([]int32, t.Strings.Len()) // of a name in out, plus 1
	openUntil := make(map[uint64]int64)   // by name and thread
	var idleUntil []int64                 // by row of out: the end of what is counted
	var out []Phase
	for i, id := range t.Ranges.Name {
		span := interval.Span{StartNs: t.Ranges.StartNs[i], EndNs: t.Ranges.EndNs(i)}
		if t.Ranges.DurNs[i] == model.OpenDurNs || class[i] == RangeMarker || isOp(id) {
			continue
		}
		id = names[id]
		if row[id] == 0 {
			out, idleUntil = append(out, Phase{Name: id}), append(idleUntil, minTime)
			row[id] = int32(len(out))
		}
		n := row[id] - 1
		p := &out[n]
		if from := max(span.StartNs, idleUntil[n]); from < span.EndNs {
			p.IdleNs += idle.between(from, span.EndNs)
			idleUntil[n] = span.EndNs
		}
		key := uint64(t.Ranges.Thread[i])<<32 | uint64(id)
		if until, seen := openUntil[key]; seen && span.StartNs < until {
			continue
		}
		openUntil[key] = span.EndNs
		if !host.Contains(span.StartNs) {
			continue
		}
		p.Calls++
		p.HostNs += span.LenNs()
		if th := t.Ranges.Thread[i]; int(th) < len(launched) {
			work, ns := launched[th].within(span)
			p.Work, p.WorkNs = p.Work+work, p.WorkNs+ns
		}
	}
	return slices.DeleteFunc(out, func(p Phase) bool { return p.Calls == 0 })
}

// HostWindow is when the host worked for the steps looked at: from the first one's marker to the
// marker behind the last one's; always, if the capture is one step; else, failing markers, the steps themselves.
func (s *Steps) HostWindow() interval.Span {
	if s.Source == StepsNone {
		return interval.Span{StartNs: minTime, EndNs: maxTime}
	}
	if len(s.Markers) != len(s.All) || s.First == s.Last {
		return s.Window()
	}
	last := s.Markers[s.Last-1]
	w := interval.Span{StartNs: s.Markers[s.First].StartNs, EndNs: last.EndNs}
	if h := s.hostStep(s.Last - 1); h.EndNs > last.StartNs {
		w.EndNs = h.EndNs
	}
	return w
}

// hostStep is the host's step of device step i: from its marker to the next one; empty if that is not known.
func (s *Steps) hostStep(i int) interval.Span {
	if i >= len(s.Markers) {
		return interval.Span{}
	}
	n, found := slices.BinarySearchFunc(s.Host, s.Markers[i].StartNs,
		func(h interval.Span, ns int64) int { return cmp.Compare(h.StartNs, ns) })
	if !found {
		return interval.Span{}
	}
	return s.Host[n]
}

// launches of a thread, in the order of their calls, and sums up to each.
type launchSums struct {
	callNs []int64
	workNs []int64 // durations of the work before each, and of all
}

func (l *launchSums) within(s interval.Span) (count, ns int64) {
	if len(l.callNs) == 0 {
		return 0, 0
	}
	from, _ := slices.BinarySearch(l.callNs, s.StartNs)
	to, _ := slices.BinarySearch(l.callNs[from:], s.EndNs)
	to += from
	return int64(to - from), l.workNs[to] - l.workNs[from]
}

// launchedBy is the GPU work launched for each thread: by itself, and for the thread that marks the steps
// of its process by the helpers, too.
func (f *Facts) launchedBy() []launchSums {
	type launch struct{ callNs, durNs int64 }
	t, w := f.Trace, f.Work()
	byThread, main, threads := make([][]launch, len(t.Threads)), f.mainThreads(), f.hostThreads()
	for i, call := range w.Call {
		if call == NoCall || int(t.Calls.Thread[call]) >= len(byThread) {
			continue
		}
		th, l := t.Calls.Thread[call], launch{t.Calls.StartNs[call], w.EndNs[i] - w.StartNs[i]}
		byThread[th] = append(byThread[th], l)
		m, known := main[f.ProcessOf(th)]
		if !known || m == th {
			continue
		}
		if user := threads[th].user; !inSpan(user, firstNamedAfter(user, l.callNs), l.callNs) {
			byThread[m] = append(byThread[m], l)
		}
	}
	out := make([]launchSums, len(byThread))
	for th, list := range byThread {
		slices.SortFunc(list, func(a, b launch) int { return cmp.Compare(a.callNs, b.callNs) })
		sums := launchSums{make([]int64, len(list)), make([]int64, len(list)+1)}
		for i, l := range list {
			sums.callNs[i], sums.workNs[i+1] = l.callNs, sums.workNs[i]+l.durNs
		}
		out[th] = sums
	}
	return out
}

func inSpan(spans []named, i int, ns int64) bool { return i < len(spans) && spans[i].Contains(ns) }

// mainThreads is, for each process, the thread whose step markers last longest or, without markers, whose user ranges
// do.
func (f *Facts) mainThreads() map[model.ProcessRow]model.ThreadRow {
	t, class := f.Trace, f.RangeClasses()
	markersNs, userNs := make([]int64, len(t.Threads)), make([]int64, len(t.Threads))
	for i, th := range t.Ranges.Thread {
		if int(th) >= len(userNs) {
			continue
		}
		switch class[i] {
		case RangeMarker:
			markersNs[th] += max(t.Ranges.DurNs[i], 0)
		case RangeUser:
			userNs[th] += max(t.Ranges.DurNs[i], 0)
		}
	}
	out := make(map[model.ProcessRow]model.ThreadRow)
	for th := range t.Threads {
		p, row := t.Threads[th].Process, model.ThreadRow(th)
		best, known := out[p]
		if markersNs[th]+userNs[th] > 0 && (!known ||
			cmp.Or(cmp.Compare(markersNs[th], markersNs[best]), cmp.Compare(userNs[th], userNs[best])) > 0) {
			out[p] = row
		}
	}
	return out
}

// idleSums is the idle spans of all devices in a window, with sums.
type idleSums []idleSum

type idleSum struct {
	spans  interval.Set
	before []int64 // idle time before each span, and in all
}

func (f *Facts) idleSums(window interval.Span) idleSums {
	var out idleSums
	for _, b := range f.Budgets(window) {
		before := make([]int64, len(b.Idle)+1)
		for i, s := range b.Idle {
			before[i+1] = before[i] + s.LenNs()
		}
		out = append(out, idleSum{b.Idle, before})
	}
	return out
}

// between is the idle time of all devices from one instant to another.
func (d idleSums) between(fromNs, toNs int64) int64 {
	var ns int64
	for _, x := range d {
		ns += x.until(toNs) - x.until(fromNs)
	}
	return ns
}

// until is the idle time before an instant.
func (x idleSum) until(ns int64) int64 {
	i := firstEndingAfter(x.spans, ns)
	sum := x.before[i]
	if i < len(x.spans) {
		sum += max(0, ns-x.spans[i].StartNs)
	}
	return sum
}
