package changes

import (
	"regexp"
	"slices"

	"lacuna/internal/interval"
	"lacuna/internal/model"
	"lacuna/internal/replay"
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
	if len(spans) == 0 {
		addOps(t, re, spans)
	}
	sets := make(map[int32]interval.Set)
	for th, s := range spans {
		sets[th] = interval.Union(s)
	}
	return sets
}

// addOps adds the spans of operators whose whole name re matches.
func addOps(t *model.Trace, re *regexp.Regexp, spans map[int32][]interval.Span) {
	names := make(map[model.StringID]bool)
	for i, id := range t.Ops.Name {
		yes, seen := names[id]
		if !seen {
			yes = re.MatchString(t.Strings.Text(id))
			names[id] = yes
		}
		if yes && t.Ops.DurNs[i] > 0 {
			th := int32(t.Ops.Thread[i])
			spans[th] = append(spans[th], interval.Span{StartNs: t.Ops.StartNs[i], EndNs: t.Ops.EndNs(i)})
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
