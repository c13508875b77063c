package replay

import (
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// ByNode says whether the tool that made the capture recorded the nodes of a graph one by one.
func (p *Program) ByNode() bool { return p.Facts.Trace.Info.Graphs == model.GraphsByNode }

// scaled is a tool whose events cost the host that many times as much.
func scaled(tool model.Tool, cost float64) model.Tool {
	for _, ns := range []*float64{&tool.CallNs, &tool.OtherNs, &tool.OpNs, &tool.InputNs, &tool.FrameNs} {
		*ns *= cost
	}
	return tool
}

// addOverhead tells every call and the host time before it what the profiler added to them.
func (p *Program) addOverhead() {
	if !p.Facts.Trace.Info.Tool.Priced() {
		return
	}
	o := scaled(p.Facts.Trace.Info.Tool, p.Pace.Cost)
	p.Overhead = o
	events := p.hostEvents(o)
	for i := range p.Calls {
		c := &p.Calls[i]
		over := o.OtherNs
		if c.N > 0 {
			over = o.CallNs
		}
		c.OwnOverNs = int64(over)
		gap := p.GapSpan(int32(i))
		if c.Pred != none {
			c.GapOverNs = int64(events.between(c.Thread, gap.StartNs, gap.EndNs))
			if pred := &p.Calls[c.Pred]; pred.Thread != c.Thread {
				c.GapOverNs += int64(events.between(pred.Thread, gap.StartNs, gap.EndNs))
			}
			if c.GapNs >= pacedNs { // work of another kind, which does not go at the pace of launches
				c.GapOverNs = int64(float64(c.GapOverNs) / p.Pace.Cost)
			}
		}
	}
	p.addToolWork()
}

// addToolWork adds what the tool says that it did on the threads themselves: CUPTI asks for a buffer on the thread
// that launches, 0.4 to
// 0.5 ms before the first launch of a recording that begins late (docs/capture.md), and Nsight Systems allocates
// memory there, 0.2 ms. It is not among what an event costs usually. Where a call waits it may have done so
// meanwhile, and nothing was lost by it.
func (p *Program) addToolWork() {
	told := p.Facts.ToolWork()
	if len(told) == 0 {
		return
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		work := told[model.ThreadRow(c.Thread)]
		if c.Wait == WaitNothing {
			c.OwnOverNs += work.Clip(interval.Span{StartNs: c.StartNs, EndNs: c.EndNs}).TotalNs()
		}
		if c.Pred == none {
			continue
		}
		gap := p.GapSpan(int32(i))
		c.GapOverNs += work.Clip(gap).TotalNs()
		if pred := p.Calls[c.Pred].Thread; pred != c.Thread {
			c.GapOverNs += told[model.ThreadRow(pred)].Clip(gap).TotalNs()
		}
	}
}

// hostEvents is, for each thread, when events were recorded and what all up to each have cost.
type hostEvents struct {
	atNs [][]int64
	sum  [][]float64
}

func (p *Program) hostEvents(o model.Tool) *hostEvents {
	t := p.Facts.Trace
	e := &hostEvents{make([][]int64, len(t.Threads)), make([][]float64, len(t.Threads))}
	if o.OpNs == 0 && o.FrameNs == 0 {
		return e
	}
	inputs := inputCounter(t)
	add := func(th model.ThreadRow, ns int64, cost float64) {
		if int(th) < len(e.atNs) {
			e.atNs[th] = append(e.atNs[th], ns)
			e.sum[th] = append(e.sum[th], cost)
		}
	}
	for i, th := range t.Ops.Thread {
		add(th, t.Ops.StartNs[i], o.OpNs+o.InputNs*inputs(i))
	}
	for i, th := range t.Ranges.Thread {
		if t.Ranges.Kind[i] == model.RangeAnnotation || t.Ranges.Kind[i] == model.RangeProfiler {
			add(th, t.Ranges.StartNs[i], o.OpNs)
		}
	}
	for i, th := range t.PyCalls.Thread {
		add(th, t.PyCalls.StartNs[i], o.FrameNs)
	}
	for th := range e.atNs {
		e.sortThread(th)
	}
	return e
}

// sortThread orders a thread's events by time and turns their costs into running sums.
func (e *hostEvents) sortThread(th int) {
	order := make([]int, len(e.atNs[th]))
	for i := range order {
		order[i] = i
	}
	at, cost := e.atNs[th], e.sum[th]
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case at[a] < at[b]:
			return -1
		case at[a] > at[b]:
			return 1
		}
		return 0
	})
	sorted, sums, total := make([]int64, len(order)), make([]float64, len(order)), 0.0
	for i, k := range order {
		total += cost[k]
		sorted[i], sums[i] = at[k], total
	}
	e.atNs[th], e.sum[th] = sorted, sums
}

// between is what the events of a thread that were recorded in [from, to) have cost.
func (e *hostEvents) between(thread int32, from, to int64) float64 {
	at, sum := e.atNs[thread], e.sum[thread]
	lo, _ := slices.BinarySearch(at, from)
	hi, _ := slices.BinarySearch(at, to)
	if hi <= lo {
		return 0
	}
	before := 0.0
	if lo > 0 {
		before = sum[lo-1]
	}
	return sum[hi-1] - before
}

// inputCounter returns how many inputs were recorded of an operator: the entries of the outer list of its shapes.
func inputCounter(t *model.Trace) func(op int) float64 {
	known := make(map[model.StringID]float64)
	return func(op int) float64 {
		if op >= len(t.Ops.Shapes) {
			return 0
		}
		id := t.Ops.Shapes[op]
		n, seen := known[id]
		if !seen {
			n = float64(entries(t.Strings.Text(id)))
			known[id] = n
		}
		return n
	}
}

// entries counts the entries of a JSON list, whatever they are.
func entries(list string) int {
	list = strings.TrimSpace(list)
	if len(list) < 2 || list[0] != '[' || strings.TrimSpace(list[1:len(list)-1]) == "" {
		return 0
	}
	n, depth := 1, 0
	for _, c := range list {
		switch {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 1:
			n++
		}
	}
	return n
}
