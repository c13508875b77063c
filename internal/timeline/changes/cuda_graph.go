package changes

import (
	"fmt"
	"regexp"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
)

var cudaGraph = Change{
	Name:   "cuda-graph",
	Syntax: "cuda-graph[:RANGE]",
	Title:  "the kernels of a step, or of a range, are launched as one CUDA graph",
	Doc: `All launches of a step (or inside RANGE) become one call. Nodes follow one another almost without a pause,
and the host spends no time between them. Graphs that the program already uses stay as they are. Copies to the
device before a step's first kernel, and waits there, stay before the graph: they bring its inputs. Host work of
over a millisecond in between stays and starts a new graph.`,
	Assumes: "shapes and addresses are the same in every step; between launches the host only prepares launches",
	NotWhen: "the step synchronizes, allocates memory or copies pageable memory inside: fix that first",
	Example: "cuda-graph",
	Apply:   applyCUDAGraph,
}

// What a graph costs, measured on one H200 and its host (driver 580, CUDA 13.0), without a profiler in it.
const (
	// From node to node: medians of 0.10, 0.26 and 0.42 µs in three programs, which nothing in a capture tells apart.
	graphNodeNs, graphNodeHighNs = 300, 500
	// The host's call: 27 to 31 µs for 312 nodes; a call for few nodes takes about as long as three launches.
	graphCallNs, graphCallNodeNs = 8_000, 70
	// Host work of more than this between two launches is the program's, not the launching of an operator; a
	// graph ends there.
	graphSplitNs = 1_000_000
	// Kernels took 2.9 % longer inside a graph than launched one by one, with pauses between them, in both programs
	// that had them both ways: none of it at best, twice of it at worst.
	graphKernelLow, graphKernelHigh = 0.97, 1.06
)

func applyCUDAGraph(e *replay.Edit, arg string) (int, error) {
	var only *regexp.Regexp
	if arg != "" {
		re, err := pattern("cuda-graph", arg)
		if err != nil {
			return 0, err
		}
		only = re
	}
	inside := graphCalls(e, only)
	leaveInputs(e, inside)
	if err := capturable(e, inside); err != nil {
		return 0, err
	}
	g := &grapher{e: e}
	for i := range e.Calls {
		c := &e.Calls[i]
		if !inside[i] {
			g.end()
			continue
		}
		if c.Step != g.step || c.Pred >= 0 && c.GapNs > graphSplitNs {
			g.end()
		}
		g.add(int32(i))
	}
	g.end()
	if g.graphs > 0 {
		e.Assume("%d graphs of %d nodes in the median; nodes follow one another within 0 to 0.5 µs", g.graphs,
			g.nodes/g.graphs)
	}
	return matched(g.merged)
}

// graphCalls says which calls would be captured: those of a step, or of the ranges that only picks. Of a capture
// without steps, calls that are a start's are none of a loop's.
func graphCalls(e *replay.Edit, only *regexp.Regexp) []bool {
	out, whole := make([]bool, len(e.Calls)), e.Steps.Source == facts.StepsNone
	var sets map[int32]interval.Set
	if only != nil {
		sets = rangeSets(e, only)
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		starts := whole && c.EndNs-c.StartNs >= facts.LongCallNs
		out[i] = !c.Dropped && c.Step >= 0 && !starts
		if only != nil {
			out[i] = out[i] && within(sets[c.Thread], c.StartNs)
		}
	}
	return out
}

// leaveInputs takes out of inside the copies to the device that a step makes before its first kernel, and the waits
// there.
func leaveInputs(e *replay.Edit, inside []bool) {
	computed := make(map[int32]bool) // steps that have launched a kernel
	for i := range e.Calls {
		c := &e.Calls[i]
		if !inside[i] || computed[c.Step] {
			continue
		}
		switch {
		case c.N > 0 && e.Works[c.First].Kind != facts.WorkCopy:
			computed[c.Step] = e.Works[c.First].Kind.IsCompute()
		case c.N > 0:
			inside[i] = copyKind(e, c.First) != model.CopyHtoD
		case c.Wait != replay.WaitNothing:
			inside[i] = false
		}
	}
}

// capturable says what forbids the capture of the calls, if something does in most of the steps looked at.
// What only some steps do (a drain at the end, a log line now and then) can be left outside the graph.
func capturable(e *replay.Edit, inside []bool) error {
	causes := e.Facts.CallCauses()
	type offence struct {
		steps map[int32]bool
		first int32
	}
	found := make(map[string]*offence)
	launched := make(map[int32]bool) // steps that have launched something: a wait before that is outside
	for i := range e.Calls {
		c := &e.Calls[i]
		if !inside[i] || !e.InWindow(int32(i)) {
			continue
		}
		fix := ""
		switch {
		case facts.CauseName(causes[c.Row]) == facts.CauseAlloc:
			fix = "drop-allocs"
		case c.Wait != replay.WaitNothing && c.N > 0:
			fix = "pin"
		case c.Wait != replay.WaitNothing && launched[c.Step]:
			fix = "drop-syncs"
		}
		if c.N > 0 {
			launched[c.Step] = true
		}
		if fix == "" {
			continue
		}
		if found[fix] == nil {
			found[fix] = &offence{make(map[int32]bool), int32(i)}
		}
		found[fix].steps[c.Step] = true
	}
	steps := len(e.Steps.Steady())
	for _, fix := range []string{"drop-allocs", "pin", "drop-syncs"} {
		o := found[fix]
		if o == nil {
			continue
		}
		c := &e.Calls[o.first]
		what := e.CallName(o.first)
		if where := e.Facts.Where(model.ThreadRow(c.Thread), c.StartNs); where != "" {
			what += " in " + where
		}
		if 2*len(o.steps) > steps {
			return &NotAllowedError{First: fix, Why: fmt.Sprintf(
				"%s %s, in %d of %d steps; add -x %s before it, or name a range without it", what, offences[fix],
				len(o.steps), steps, fix)}
		}
		e.Assume("%s, in %d of %d steps, is left outside the graph", what, len(o.steps), steps)
	}
	return nil
}

// offences is why each kind of call cannot be captured, by the change that removes it.
var offences = map[string]string{
	"drop-allocs": "allocates or frees memory",
	"pin":         "copies memory while the host waits, which a graph cannot hold",
	"drop-syncs":  "waits for the device",
}

// A grapher merges calls into graphs.
type grapher struct {
	e      *replay.Edit
	step   int32
	calls  []int32 // of the graph that is being made, those that issue work
	first  int32
	n      int // calls in it
	graphs int
	nodes  int
	merged int
}

// add puts a call into the graph that is being made.
func (g *grapher) add(i int32) {
	c := &g.e.Calls[i]
	if g.n == 0 {
		g.first, g.step = i, c.Step
	} else {
		g.e.DropGap(i, 0)
	}
	g.n++
	if c.N > 0 {
		g.calls = append(g.calls, i)
	}
	c.OwnNs, c.OwnOverNs = 0, 0
}

// end closes the graph: its nodes follow one another on their streams, and its first call pays for all.
func (g *grapher) end() {
	e := g.e
	if g.n > 0 {
		nodes := 0
		last := make(map[int32]int32)
		for _, i := range g.calls {
			c := &e.Calls[i]
			for k := c.First; k < c.First+c.N; k++ {
				w := &e.Works[k]
				if w.Dropped {
					continue
				}
				node := c.N > 1 // of a graph already
				if w.HighNs == 0 && !node {
					e.ScaleDur(k, 1, graphKernelLow, graphKernelHigh)
				}
				if before, seen := last[w.Lane]; seen && (!node || w.After < 0) {
					w.After, w.LagNs, w.LagHigh = before, graphNodeNs, graphNodeHighNs
					if e.ByNode() {
						w.LagOver = int64(e.Overhead.NodeNs)
					}
				}
				last[w.Lane] = k
				nodes++
			}
		}
		if nodes > 0 {
			e.Calls[g.first].OwnNs = graphCallNs + int64(nodes)*graphCallNodeNs
			g.graphs++
			g.nodes += nodes
			g.merged += len(g.calls)
		}
	}
	g.calls, g.n = g.calls[:0], 0
}
