package facts

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A HostPause is a stretch between two CUDA calls of a thread, longer than its ordinary pauses, in which a
// device waited for that thread's next call while the host worked or slept.
type HostPause struct {
	interval.Span
	Thread model.ThreadRow
	Last   int32 // call before it, row of Calls, or NoCall
	Next   int32 // call behind it, or NoCall
	Issues int32 // row of Work: the first work that the thread issues behind it, or -1
	Device uint32

	IdleNs    int64           // of the device, within the pause, while the host did something else than feeding it
	OSNs      int64           // of IdleNs, in calls of the operating system
	Names     map[Cause]int64 // IdleNs by what the host was doing
	Range     model.StringID  // the user range that most of the pause's idle time lies in, or 0
	InRangeNs int64           // of IdleNs, in Range
	Framework []NamedNs       // ranges of the framework that lie in it, at least partly, by when they began
}

// HostPauses is the pauses that starved gaps lie in, in the order of their threads and starts.
func (f *Facts) HostPauses(starved []IdleGap) []HostPause {
	threads := f.hostThreads()
	type key struct {
		thread model.ThreadRow
		next   int // index in the thread's calls
		device uint32
	}
	at := make(map[key]int)
	var out []HostPause
	for _, g := range starved {
		h := threadAt(threads, g.Thread)
		if h == nil {
			continue
		}
		issuedNs := f.Trace.Calls.EndNs(int(f.Work().Call[g.After]))
		f.HostDoing(g.Thread, g.Span, func(c Cause, s interval.Span) {
			if c.Kind < causeOS || s.StartNs >= issuedNs {
				return // the device is late then, not the host
			}
			k := key{g.Thread, firstEndingAfter(h.calls, s.StartNs), g.Device}
			n, seen := at[k]
			if !seen {
				n = len(out)
				at[k] = n
				out = append(out, f.pauseBefore(h, k.next, g))
			}
			p := &out[n]
			p.IdleNs += s.LenNs()
			p.Names[c] += s.LenNs()
			if c.Kind == causeOS {
				p.OSNs += s.LenNs()
			}
		})
	}
	for i := range out {
		f.namePause(&out[i])
	}
	slices.SortStableFunc(out, func(a, b HostPause) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.StartNs, b.StartNs),
			cmp.Compare(a.Device, b.Device))
	})
	return out
}

// pauseBefore is the pause of a thread that ends with its call number next.
func (f *Facts) pauseBefore(h *hostThread, next int, g IdleGap) HostPause {
	p := HostPause{Span: g.Span, Thread: g.Thread, Last: NoCall, Next: NoCall, Issues: -1, Device: g.Device,
		Names: make(map[Cause]int64)}
	if next > 0 {
		p.StartNs, p.Last = h.calls[next-1].EndNs, h.callRow[next-1]
	}
	if next < len(h.calls) {
		p.EndNs, p.Next = h.calls[next].StartNs, h.callRow[next]
	}
	issued := f.WorkOfCalls()
	for i := next; i < len(h.calls) && i < next+maxCallsAhead; i++ {
		if w := issued[h.callRow[i]]; w >= 0 {
			p.Issues = w
			break
		}
	}
	return p
}

// maxCallsAhead is how far the work that a pause was for is looked for: in between lie queries and attributes.
const maxCallsAhead = 64

// namePause finds the ranges that a pause lies in.
func (f *Facts) namePause(p *HostPause) {
	h := threadAt(f.hostThreads(), p.Thread)
	inside := make(map[model.StringID]int64)
	for i := firstNamedAfter(h.user, p.StartNs); i < len(h.user) && h.user[i].StartNs < p.EndNs; i++ {
		inside[h.user[i].name] += h.user[i].Clip(p.Span).LenNs()
	}
	for name, ns := range inside {
		if ns > p.InRangeNs || ns == p.InRangeNs && name < p.Range {
			p.Range, p.InRangeNs = name, ns
		}
	}
	if p.InRangeNs = min(p.InRangeNs, p.IdleNs); 2*p.InRangeNs < p.IdleNs {
		p.Range, p.InRangeNs = 0, 0
	}
	p.Framework = f.frameworkRangesIn(p.Thread, p.Span)
}

// A NamedNs is for how long something named lasted.
type NamedNs struct {
	Name model.StringID
	Ns   int64
}

// frameworkRangesIn is the ranges of the framework that overlap a span on a thread, and by how much.
func (f *Facts) frameworkRangesIn(thread model.ThreadRow, span interval.Span) []NamedNs {
	t := f.Trace
	byThread := f.kept.frameworkRanges.of(f, func(f *Facts) [][]uint32 {
		t, class := f.Trace, f.RangeClasses()
		out := make([][]uint32, len(t.Threads))
		for i, th := range t.Ranges.Thread {
			if class[i] == RangeFramework && t.Ranges.DurNs[i] != model.OpenDurNs && int(th) < len(out) {
				out[th] = append(out[th], uint32(i))
			}
		}
		return out
	})
	if int(thread) >= len(byThread) {
		return nil
	}
	rows := byThread[thread]
	n, _ := slices.BinarySearchFunc(rows, span.EndNs,
		func(r uint32, ns int64) int { return cmp.Compare(t.Ranges.StartNs[r], ns) })
	var out []NamedNs
	for i := max(0, n-maxNesting); i < n; i++ {
		r := int(rows[i])
		if ns := (interval.Span{StartNs: t.Ranges.StartNs[r], EndNs: t.Ranges.EndNs(r)}).Clip(span).LenNs(); ns > 0 {
			out = append(out, NamedNs{t.Ranges.Name[r], ns})
		}
	}
	return out
}

// maxNesting is how many ranges back one that is still open is looked for.
const maxNesting = 256
