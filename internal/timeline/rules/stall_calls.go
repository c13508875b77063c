package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// Fixes of stalls in which nothing runs that has a name.
const (
	fixStallWaits = `
In those steps the host waits for the GPU more often than in the others. If it prints, logs or checks a value there, copy
the value without waiting and look at it a step later. A benchmark that synchronizes between rounds of turns looks like
this as well: then nothing is to be fixed, and the median step is the one to judge by.`
	fixStallUnknown = `
Find out what the program does in those steps: compare one of them with the step before it in the timeline, mark the
suspects with ranges, or record CPU samples. A benchmark that works in rounds of turns looks like this as well: then
nothing is to be fixed, and the median step is the one to judge by.`
)

// ofNearly is the share of the other steps that must have no more of a call for it to tell half of the marked ones from
// them: one in ten may be cut by where a step begins.
const ofNearly = 0.9

// maxMoreCalls is how many calls are named.
const maxMoreCalls = 4

// moreCalls is the calls that the marked steps make more often than the others, those that wait for the device first,
// and whether there are such.
func (c *Case) moreCalls(marked []bool) (rows []string, waits bool) {
	t, causes := c.Trace, c.Facts.CallCauses()
	counts, isWait := make(map[model.StringID][]float64), make(map[model.StringID]bool)
	for i, id := range t.Calls.Name {
		step := c.stepAt(t.Calls.StartNs[i])
		if step < 0 {
			continue
		}
		if counts[id] == nil {
			counts[id] = make([]float64, len(marked))
		}
		counts[id][step]++
		isWait[id] = isWait[id] || facts.CauseName(causes[i]) == facts.CauseSync
	}
	ids := slices.SortedFunc(maps.Keys(counts), func(a, b model.StringID) int {
		if isWait[a] != isWait[b] {
			if isWait[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(t.Strings.Text(a), t.Strings.Text(b))
	})
	for _, id := range ids {
		usual, there, in, all := tellsApart(counts[id], marked)
		if in == 0 || len(rows) == maxMoreCalls {
			continue
		}
		waits = waits || isWait[id]
		rows = append(rows, fmt.Sprintf("%s: %s instead of %g, in %d of %d", facts.BaseCallName(t.Strings.Text(id)),
			times(there), usual, in, all))
	}
	return rows, waits
}

// tellsApart is how much of something the usual one of the other steps has and the usual marked one, and how many of
// all marked steps have more than nearly all others; 0: fewer than half.
func tellsApart(n []float64, marked []bool) (usual, there float64, more, all int) {
	var in, others []float64
	for i, v := range n {
		if marked[i] {
			in = append(in, v)
		} else {
			others = append(others, v)
		}
	}
	if len(in) == 0 || len(others) == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(in)
	slices.Sort(others)
	usual, there = others[(len(others)-1)/2], in[(len(in)-1)/2]
	most := others[int(ofNearly*float64(len(others)-1))]
	if there <= most {
		return usual, there, 0, len(in)
	}
	for _, v := range in {
		if v > most {
			more++
		}
	}
	return usual, there, more, len(in)
}
