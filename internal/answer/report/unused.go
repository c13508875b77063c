package report

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// Unused is events of one kind that the capture holds and this answer does not look at.
type Unused struct {
	What  string `json:"what"` // in words: "CPU samples with stacks"
	Count int64  `json:"count"`
}

// unusedTables is the tables of a capture that no fact of a report, no rule and no replay looks at, in words. A test
// fails when one begins to.
var unusedTables = map[string]string{
	"Links":        "links from forward to backward operators",
	"Marks":        "marks",
	"DeviceRanges": "ranges as the GPU saw them",
	"LibCalls":     "library calls",
	"OpenACC":      "OpenACC",
	"OpenMP":       "OpenMP",
	"GraphEvents":  "events of CUDA graphs",
	"Diagnostics":  "messages of the profiler",
}

// addUnused adds what of an input was not read, or was and does not count in a report.
func (c *Capture) addUnused(f *facts.Facts) {
	t := f.Trace
	add := func(what string, n int64) {
		if n == 0 {
			return
		}
		i := slices.IndexFunc(c.Unused, func(u Unused) bool { return u.What == what })
		if i < 0 {
			i = len(c.Unused)
			c.Unused = append(c.Unused, Unused{What: what})
		}
		c.Unused[i].Count += n
	}
	for _, l := range t.Losses.Left() {
		add(l.What, l.Count)
	}
	for _, table := range t.Tables() {
		if what := unusedTables[table.Name]; what != "" {
			add(what, int64(table.Len()))
		}
	}
	if f.Work().Len() == 0 { // no idle time to be explained
		add("CPU samples", int64(t.Samples.Len()))
	} else {
		add("CPU samples of threads that make no GPU call", samplesElsewhere(t))
	}
	slices.SortFunc(c.Unused, func(a, b Unused) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What))
	})
}

// samplesElsewhere counts the CPU samples of threads that make no GPU call: they explain no idle time.
func samplesElsewhere(t *model.Trace) (n int64) {
	calls := make([]bool, len(t.Threads))
	for _, th := range t.Calls.Thread {
		if int(th) < len(calls) {
			calls[th] = true
		}
	}
	for _, th := range t.Samples.Thread {
		if int(th) >= len(calls) || !calls[th] {
			n++
		}
	}
	return n
}
