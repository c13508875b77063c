package changes

import (
	"regexp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

// How much of what lies in a range dropRanges takes away.
type rangeScope bool

const (
	rangeHostOnly rangeScope = false // host work between calls
	rangeAll      rangeScope = true  // calls, the work that they issued, and host work
)

// dropRanges takes away what lies in ranges whose name re matches: on their thread, in the time that they
// were open. It returns how many ranges there were, and the host time, in ns, that went within the steps looked at,
// less what the profiler added to it.
func dropRanges(e *replay.Edit, re *regexp.Regexp, scope rangeScope) (n int, removedNs int64) {
	sets := rangeSets(e, re)
	for thread, set := range sets {
		n += len(set)
		e.NotDone(thread, set)
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		set := sets[c.Thread]
		if set == nil || c.Dropped {
			continue
		}
		gap := e.GapSpan(int32(i))
		if inside := set.Clip(gap).TotalNs(); inside > 0 && c.GapNs > 0 {
			share := float64(inside) / float64(max(1, gap.LenNs()))
			if e.InWindow(int32(i)) {
				removedNs += int64(share * float64(max(0, c.GapNs-c.GapOverNs)))
			}
			e.DropGap(int32(i), int64(float64(c.GapNs)*(1-share)))
		}
		if scope == rangeAll && within(set, c.StartNs) {
			if e.InWindow(int32(i)) {
				removedNs += c.EndNs - c.StartNs
			}
			e.DropCall(int32(i))
		}
	}
	return n, removedNs
}

// rangeSets is, by thread, when ranges were open whose whole name re matches; failing ranges, operators: old profilers
// recorded the framework's own ranges as such.
func rangeSets(e *replay.Edit, re *regexp.Regexp) map[int32]interval.Set {
	t := e.Facts.Trace
	names := make(map[model.StringID]bool)
	spans := make(map[int32][]interval.Span)
	for i, id := range t.Ranges.Name {
		yes, seen := names[id]
		if !seen {
			yes = re.MatchString(t.Strings.Text(id))
			names[id] = yes
		}
		if yes && t.Ranges.DurNs[i] > 0 {
			th := int32(t.Ranges.Thread[i])
			spans[th] = append(spans[th], interval.Span{StartNs: t.Ranges.StartNs[i], EndNs: t.Ranges.EndNs(i)})
		}
	}
	for _, more := range [...]func(*model.Trace, *regexp.Regexp, map[int32][]interval.Span){addOps, addCalls, addMPI,
		addOSCalls} {
		if len(spans) == 0 {
			more(t, re, spans)
		}
	}
	if len(spans) == 0 && re.MatchString(offCore) {
		addOffCore(t, spans)
	}
	sets := make(map[int32]interval.Set)
	for th, s := range spans {
		sets[th] = interval.Union(s)
	}
	return sets
}

// addOps adds the spans of operators whose whole name re matches.
func addOps(t *model.Trace, re *regexp.Regexp, spans map[int32][]interval.Span) {
	addNamed(t, re, spans, t.Ops.Name, t.Ops.Thread, t.Ops.StartNs, t.Ops.EndNs)
}

// addCalls adds the spans of CUDA calls, by their names with or without a version.
func addCalls(t *model.Trace, re *regexp.Regexp, spans map[int32][]interval.Span) {
	addNamed(t, re, spans, t.Calls.Name, t.Calls.Thread, t.Calls.StartNs, t.Calls.EndNs)
}

// addMPI adds the spans of MPI's calls.
func addMPI(t *model.Trace, re *regexp.Regexp, spans map[int32][]interval.Span) {
	m := &t.MPI
	addNamed(t, re, spans, m.Name, m.Thread, m.StartNs, func(i int) int64 { return m.StartNs[i] + m.DurNs[i] })
}

// addOSCalls adds the spans of calls of the operating system.
func addOSCalls(t *model.Trace, re *regexp.Regexp, spans map[int32][]interval.Span) {
	o := &t.OSCalls
	addNamed(t, re, spans, o.Name, o.Thread, o.StartNs, func(i int) int64 { return o.StartNs[i] + o.DurNs[i] })
}

// addNamed adds the spans of events whose whole name re matches.
func addNamed(t *model.Trace, re *regexp.Regexp, spans map[int32][]interval.Span,
	name []model.StringID, thread []model.ThreadRow, start []int64, end func(int) int64) {
	names := make(map[model.StringID]bool)
	for i, id := range name {
		yes, seen := names[id]
		if !seen {
			text := t.Strings.Text(id)
			yes = re.MatchString(text) || re.MatchString(facts.BaseCallName(text))
			names[id] = yes
		}
		if yes && end(i) > start[i] {
			th := int32(thread[i])
			spans[th] = append(spans[th], interval.Span{StartNs: start[i], EndNs: end(i)})
		}
	}
}

// offCore stands for the time in which threads did not run although they could.
const offCore = "off-core"

// addOffCore adds, for each thread, the time between leaving its core and coming back, less its calls of the
// operating system: in those it waits by itself.
func addOffCore(t *model.Trace, spans map[int32][]interval.Span) {
	left, off := make(map[int32]int64), make(map[int32][]interval.Span)
	for i, ns := range t.Sched.TimeNs {
		th := int32(t.Sched.Thread[i])
		if from, gone := left[th]; gone && t.Sched.In[i] && ns > from {
			off[th] = append(off[th], interval.Span{StartNs: from, EndNs: ns})
		}
		if delete(left, th); !t.Sched.In[i] {
			left[th] = ns
		}
	}
	asked := make(map[int32][]interval.Span)
	for i, th := range t.OSCalls.Thread {
		asked[int32(th)] = append(asked[int32(th)],
			interval.Span{StartNs: t.OSCalls.StartNs[i], EndNs: t.OSCalls.StartNs[i] + t.OSCalls.DurNs[i]})
	}
	for th, s := range off {
		for _, rest := range interval.Subtract(interval.Union(s), interval.Union(asked[th])) {
			spans[th] = append(spans[th], rest)
		}
	}
}

// within says whether an instant lies in a set.
func within(set interval.Set, ns int64) bool {
	i, _ := slices.BinarySearchFunc(set, ns, func(s interval.Span, ns int64) int {
		if s.EndNs <= ns {
			return -1
		}
		return 1
	})
	return i < len(set) && set[i].StartNs <= ns
}
