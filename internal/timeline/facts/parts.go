package facts

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// PartKind is what a part of a capture is.
type PartKind string

// The parts of a capture, in their order.
const (
	PartStart  PartKind = "start"  // before the steps, or before the main GPU work
	PartUnseen PartKind = "unseen" // the GPU works on what was launched before the capture
	PartMain   PartKind = "main"   // the steps looked at, or the main GPU work
	PartEnd    PartKind = "end"    // behind it
)

// A CapturePart is a stretch of a capture with what the GPU and the host did in it.
type CapturePart struct {
	interval.Span
	Kind   PartKind
	BusyNs int64    // of the mean device
	Host   []HostNs // what the thread that feeds the device did, most time first
}

// A HostNs is something that a host thread did, by name, and for how long.
type HostNs struct {
	What  string
	Ns    int64
	Count int // of calls; 0: not a call
}

// A lull cuts off what is before or behind it if it is a tenth of the GPU's time or longer and no ordinary pause
// (LongCallNs), and if what is cut off holds a fiftieth of the GPU's work at most: buffers that are cleared long
// before the program begins in earnest.
const (
	lullShare = 0.10
	strayWork = 0.02
)

// mainWork is span without what little the GPU does long before and after its main work.
func (f *Facts) mainWork(span interval.Span) interval.Span {
	var all []interval.Span
	w := f.Work()
	for i := range w.Len() {
		if s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(span); s.LenNs() > 0 {
			all = append(all, s)
		}
	}
	busy := interval.Union(all)
	total, lull, out := busy.TotalNs(), max(LongCallNs, int64(lullShare*float64(span.LenNs()))), span
	for i, done := 0, int64(0); i+1 < len(busy); i++ {
		if done += busy[i].LenNs(); float64(done) > strayWork*float64(total) {
			break
		}
		if busy[i+1].StartNs-busy[i].EndNs >= lull {
			out.StartNs = busy[i+1].StartNs
		}
	}
	for i, done := len(busy)-1, int64(0); i > 0 && busy[i].StartNs > out.StartNs; i-- {
		if done += busy[i].LenNs(); float64(done) > strayWork*float64(total) {
			break
		}
		if busy[i].StartNs-busy[i-1].EndNs >= lull {
			out.EndNs = busy[i-1].EndNs
		}
	}
	return out
}

// mainPart is the window of a capture without steps: its GPU work, without what was launched before the capture, and
// without what little is done long before and after the main part; and what a reader must know of it.
func (f *Facts) mainPart(span interval.Span) (interval.Span, string) {
	note := ""
	if ns, unseen, any := f.unseenUntil(); any && f.busyIn(interval.Span{StartNs: ns, EndNs: span.EndNs}) >
		f.busyIn(interval.Span{StartNs: span.StartNs, EndNs: ns}) {
		span.StartNs = ns
		note = fmt.Sprintf("the GPU then began with work that had been queued for %.1f ms while the host waited: until "+
			"then it ran what was launched before the capture, which is not recorded, and that time is left out", ms(unseen))
	}
	main := f.mainWork(span)
	for _, cut := range []struct {
		ns    int64
		where string
	}{{main.StartNs - span.StartNs, "before"}, {span.EndNs - main.EndNs, "behind"}} {
		if cut.ns > 0 {
			note = join(note, fmt.Sprintf("%.1f ms with little GPU work %s the main part are left out", ms(cut.ns), cut.where))
		}
	}
	return main, note
}

// setUp is all that was recorded of the process that feeds the devices, if these did next to nothing in it and
// computed nothing: the program was setting up, and a window around some copies says nothing. Else it is empty.
func (f *Facts) setUp(main interval.Span) interval.Span {
	w := f.Work()
	for i := range w.Len() {
		if w.Kind[i].IsCompute() || w.Kind[i] == WorkComm {
			return interval.Span{}
		}
	}
	whole := f.processSpan(f.ProcessOf(f.MainFeeder()), main.EndNs)
	if len(f.Trace.Windows) > 1 || float64(f.busyIn(main)) > strayWork*float64(whole.LenNs()) {
		return interval.Span{}
	}
	return interval.Span{StartNs: min(whole.StartNs, main.StartNs), EndNs: max(whole.EndNs, main.EndNs)}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// busyIn is the time of a span in which any device works.
func (f *Facts) busyIn(span interval.Span) int64 { return f.busySet(span).TotalNs() }

// CaptureParts cuts a capture with GPU work into its start, the steps looked at or the main GPU work, and its end.
// They follow one another without a gap. Parts without length are left out.
func (f *Facts) CaptureParts(s *Steps) []CapturePart {
	w := f.Work()
	main := s.Window()
	if w.Len() == 0 || main.LenNs() == 0 {
		return nil
	}
	whole := main
	if host := f.HostSpan(); host.LenNs() > 0 {
		whole.StartNs, whole.EndNs = min(whole.StartNs, host.StartNs), max(whole.EndNs, host.EndNs)
	}
	for i := range w.Len() {
		whole.StartNs, whole.EndNs = min(whole.StartNs, w.StartNs[i]), max(whole.EndNs, w.EndNs[i])
	}
	start := interval.Span{StartNs: whole.StartNs, EndNs: main.StartNs}
	var unseen interval.Span
	if ns, length, any := f.unseenUntil(); any && ns <= main.StartNs {
		unseen = interval.Span{StartNs: ns - length, EndNs: main.StartNs}
		start.EndNs = unseen.StartNs
	}
	thread := f.MainFeeder()
	var out []CapturePart
	for _, p := range []CapturePart{{Span: start, Kind: PartStart}, {Span: unseen, Kind: PartUnseen},
		{Span: main, Kind: PartMain}, {Span: interval.Span{StartNs: main.EndNs, EndNs: whole.EndNs}, Kind: PartEnd}} {
		if p.LenNs() <= 0 {
			continue
		}
		for _, b := range f.Budgets(p.Span) {
			p.BusyNs += (p.LenNs() - b.IdleNs) / int64(len(f.Devices()))
		}
		p.Host = f.hostNs(thread, p.Span)
		out = append(out, p)
	}
	return out
}

// MainFeeder is the thread that issued most work, or NoThread.
func (f *Facts) MainFeeder() model.ThreadRow {
	return f.kept.mainFeeder.of(f, (*Facts).findMainFeeder)
}

func (f *Facts) findMainFeeder() model.ThreadRow {
	count := make(map[model.ThreadRow]int)
	for _, call := range f.Work().Call {
		if call != NoCall {
			count[f.Trace.Calls.Thread[call]]++
		}
	}
	best := model.NoThread
	for th, n := range count {
		if best == model.NoThread || n > count[best] || n == count[best] && th < best {
			best = th
		}
	}
	return best
}

// hostNs is what a thread did in a span by name: its calls, those of the operating system, its ranges and operators;
// most time first. It sums to the span, if anything is known of the thread.
func (f *Facts) hostNs(thread model.ThreadRow, span interval.Span) []HostNs {
	h := threadAt(f.hostThreads(), thread)
	if h == nil {
		return nil
	}
	sums := make(map[string]*HostNs)
	add := func(what string, s interval.Span, calls int) {
		if sums[what] == nil {
			sums[what] = &HostNs{What: what}
		}
		sums[what].Ns += s.LenNs()
		sums[what].Count += calls
	}
	inCalls, names := interval.Set(h.calls), f.doer().names[thread]
	for i := firstEndingAfter(h.calls, span.StartNs); i < len(h.calls) && h.calls[i].StartNs < span.EndNs; i++ {
		add(f.CallName(h.callRow[i]), h.calls[i].Clip(span), 1)
	}
	for _, free := range inCalls.Clip(span).Gaps(span) {
		f.HostDoing(thread, free, func(c Cause, s interval.Span) {
			switch c.Kind {
			case causeOS:
				name, _ := f.OSCallAt(thread, s.StartNs)
				add(name, s, 1)
			case causeRange, causeOp:
				add(f.NameText(c.Name), s, 0)
			case causeLaunch: // between two calls: whatever range or operator makes them, wherever that began
				nameTime(names, s, func(c Cause, s interval.Span) {
					if c.Kind == causeHost {
						add("", s, 0)
					} else {
						add(f.NameText(c.Name), s, 0)
					}
				})
			default:
				add("", s, 0)
			}
		})
	}
	return mostFirst(sums)
}

// mostFirst is sums in order of time.
func mostFirst(sums map[string]*HostNs) []HostNs {
	out := make([]HostNs, 0, len(sums))
	for _, x := range sums {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b HostNs) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.What, b.What)) })
	return out
}

// OutermostCalls is the calls of a thread that no other call makes, in order, as rows of Calls.
func (f *Facts) OutermostCalls(thread model.ThreadRow) []int32 {
	if h := threadAt(f.hostThreads(), thread); h != nil {
		return h.callRow
	}
	return nil
}
