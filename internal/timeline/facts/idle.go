package facts

import (
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// A Cause is what the host did while a device idled: one of the plain causes, or a range or
// operator by name.
type Cause struct {
	Kind CauseKind
	Name model.StringID // of a range or operator
}

// CauseKind is the kind of a Cause.
type CauseKind uint8

// The kinds of causes, in the order of plainCauses, and the named ones.
const (
	causeUnknown CauseKind = iota
	causeSync
	causeAlloc
	causeCopyCall
	causeLaunch
	causeOS
	causeHost
	causeGraph
	causeQueued
	causeLost
	causeRange
	causeOp
)

// CauseText is a cause as idle_by_host names it.
func (f *Facts) CauseText(c Cause) string {
	return f.Named(c).Key()
}

// An IdleGap is an idle span of a device and the work that ended it.
type IdleGap struct {
	interval.Span
	Device uint32
	Before int32           // row of Work that ended last before it, or -1
	After  int32           // row of Work that ended it, or -1
	Thread model.ThreadRow // host thread that issued that work, or NoThread
}

// IdleGaps is the idle spans of a device, in order, with the work around them.
func (f *Facts) IdleGaps(b *Budget) []IdleGap {
	w, t := f.Work(), f.Trace
	out := make([]IdleGap, len(b.Idle))
	next, before, beforeEndNs := 0, int32(-1), int64(0)
	for i, s := range b.Idle {
		for next < w.Len() && (w.Device[next] != b.Device || w.StartNs[next] < s.EndNs) {
			if w.Device[next] == b.Device && (before < 0 || w.EndNs[next] >= beforeEndNs) {
				before, beforeEndNs = int32(next), w.EndNs[next]
			}
			next++
		}
		g := IdleGap{Span: s, Device: b.Device, Before: before, After: -1, Thread: model.NoThread}
		// Of several that start at once, the first whose call is known.
		for j := next; j < w.Len() && (g.After < 0 || w.StartNs[j] == w.StartNs[g.After]); j++ {
			if w.Device[j] != b.Device {
				continue
			}
			if g.After < 0 || w.Call[j] != NoCall {
				g.After = int32(j)
			}
			if w.Call[j] != NoCall && !f.isUnseen(b.Device, s) {
				g.Thread = t.Calls.Thread[w.Call[j]]
				break
			}
		}
		if g.Thread == model.NoThread && g.After >= 0 && f.isMigration(int(g.After)) {
			g.Thread = f.MainFeeder() // no call launches it
		}
		out[i] = g
	}
	return out
}

// IdleByHost divides idle time by what the host thread that issued the work which ended the gap was doing at each
// instant. Between two nodes of one graph it is the graph's, once the next work is launched that work's, if it starts
// late, and behind launches whose work was not recorded nobody's. The parts sum to the idle time.
func (f *Facts) IdleByHost(gaps []IdleGap) map[Cause]int64 {
	out := make(map[Cause]int64)
	for _, g := range gaps {
		if f.inGraph(g) {
			out[Cause{Kind: causeGraph}] += g.LenNs()
			continue
		}
		if known := f.knownIdle(g); known != g.Span {
			out[Cause{Kind: causeLost}] += g.LenNs() - known.LenNs()
			g.Span = known
		} else if late := f.LateStart(g); late.LenNs() > 0 {
			out[Cause{Kind: causeQueued}] += late.LenNs()
			g.EndNs = late.StartNs
		}
		f.HostDoing(g.Thread, g.Span, func(c Cause, s interval.Span) { out[c] += s.LenNs() })
	}
	return out
}

// inGraph says whether a gap lies between two nodes of one launch of a graph: the device goes from one to the next
// without the host.
func (f *Facts) inGraph(g IdleGap) bool {
	w := f.Work()
	return g.Before >= 0 && g.After >= 0 && w.Call[g.After] != NoCall && w.Call[g.Before] == w.Call[g.After] &&
		strings.HasPrefix(CallVerb(f.CallName(w.Call[g.After])), "GraphLaunch")
}

// An Idleness is how a device's time divides over a window, its idle spans, and what the host did in them.
type Idleness struct {
	Budget
	Gaps   []IdleGap
	Causes map[Cause]int64 // ns; sums to IdleNs
}

// Idleness divides window for every device that did work in the capture, by ordinal.
func (f *Facts) Idleness(window interval.Span) []Idleness {
	return f.kept.idleness.of(f, window, func(f *Facts) []Idleness {
		var out []Idleness
		for _, b := range f.Budgets(window) {
			x := Idleness{Budget: b, Gaps: f.IdleGaps(&b)}
			x.Causes = f.IdleByHost(x.Gaps)
			out = append(out, x)
		}
		return out
	})
}

// PlainCauses is the causes that are kinds of calls and can be taken out of a program.
func PlainCauses() []Cause {
	return []Cause{{Kind: causeSync}, {Kind: causeAlloc}, {Kind: causeCopyCall}, {Kind: causeLaunch}}
}
