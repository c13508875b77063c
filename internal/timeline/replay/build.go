package replay

import (
	"cmp"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// Build makes a capture ready to run:
//
//  1. calls: the outermost ones of each thread, in the order in which they start;
//  2. work: given to the outermost call around the one that launched it;
//  3. predecessors: the call before on the same thread, or on the thread that handed over to it;
//  4. rules: the capture's own constants;
//  5. waits: what each call waited for, if only for room in the queue, and what it takes without waiting.
func Build(f *facts.Facts, steps *facts.Steps) *Program {
	part, first, last := excerpt(f, steps)
	p := &Program{Facts: f, Steps: part, window: part.Window(), Rules: defaultRules(),
		Left: len(steps.Steady()) - len(part.Steady())}
	outer := p.addCalls(first, last)
	p.addWork(outer)
	p.link()
	p.pauses = p.usualPauses()
	p.addWaits(p.addEventWaits(outer))
	p.splitQueued()
	p.measureReturns()
	p.inferWaits()
	p.measureGaps()
	p.measurePace()
	p.addOverhead()
	p.anchor()
	return p
}

// addCalls adds the outermost calls among rows first to last, last excluded, and returns, for each row of
// Trace.Calls, its index in Calls.
func (p *Program) addCalls(first, to int) []int32 {
	t := p.Facts.Trace
	last := make([]int32, len(t.Threads)) // index+1 of each thread's last outermost call
	outer := make([]int32, t.Calls.Len())
	for i := range outer {
		outer[i] = none
	}
	p.Calls = make([]Call, 0, to-first)
	step := stepFinder(p.Steps)
	for i := first; i < to; i++ {
		th := t.Calls.Thread[i]
		if int(th) >= len(last) {
			continue
		}
		start, end := t.Calls.StartNs[i], t.Calls.EndNs(i)
		if l := last[th]; l > 0 && start < p.Calls[l-1].EndNs {
			outer[i] = l - 1
			continue
		}
		outer[i] = int32(len(p.Calls))
		last[th] = outer[i] + 1
		p.Calls = append(p.Calls, Call{Row: int32(i), Thread: int32(th), Pred: none, StartNs: start, EndNs: end,
			OwnNs: end - start, WaitOn: none, Records: none, Step: step(start)})
	}
	return outer
}

// stepFinder returns a function that says for which step the host works at an instant: from its marker's
// start to the next one's; none before the first, and one too many behind the last. A capture without steps is one.
func stepFinder(s *facts.Steps) func(int64) int32 {
	if s.Source == facts.StepsNone {
		return func(int64) int32 { return 0 }
	}
	marks := s.Markers
	return func(ns int64) int32 {
		i, exact := slices.BinarySearchFunc(marks, ns,
			func(m interval.Span, t int64) int { return cmp.Compare(m.StartNs, t) })
		if !exact {
			i--
		}
		if i == len(marks)-1 && i >= 0 && ns >= marks[i].EndNs {
			i++
		}
		return int32(i)
	}
}

// addWork adds all work in the order in which it is issued, and numbers its streams.
func (p *Program) addWork(outer []int32) {
	w := p.Facts.Work()
	lanes := make(map[facts.Lane]int32)
	p.Works = make([]Work, 0, w.Len())
	for i := range w.Len() {
		if !p.holds(w, i, outer) {
			continue
		}
		lane := facts.Lane{Device: w.Device[i], Stream: w.Stream[i]}
		n, seen := lanes[lane]
		if !seen {
			n = int32(len(p.Lanes))
			lanes[lane] = n
			p.Lanes = append(p.Lanes, lane)
		}
		call := none
		if row := w.Call[i]; row != facts.NoCall {
			call = outer[row]
		}
		p.Works = append(p.Works, Work{Row: int32(i), Lane: n, Call: call, StartNs: w.StartNs[i],
			DurNs: w.EndNs[i] - w.StartNs[i], After: none, By: none, Needs: none, Kind: w.Kind[i],
			Host: touchesHost(p.Facts, i)})
	}
	slices.SortStableFunc(p.Works, func(a, b Work) int { return cmp.Compare(a.Call, b.Call) })
	for i := range p.Works {
		c := p.Works[i].Call
		if c == none {
			continue
		}
		if p.Calls[c].N == 0 {
			p.Calls[c].First = int32(i)
		}
		p.Calls[c].N++
	}
	for i := range p.Calls {
		if p.Calls[i].N > 1 {
			p.linkNodes(&p.Calls[i])
		}
	}
}

// holds says whether the program has a piece of work: what its calls launch, and what was launched
// before and is not over when they begin.
func (p *Program) holds(w *facts.Work, i int, outer []int32) bool {
	row := w.Call[i]
	if row == facts.NoCall || outer[row] != none || len(p.Calls) == 0 {
		return true
	}
	first := &p.Calls[0]
	return row < first.Row && w.EndNs[i] > first.StartNs
}

// linkNodes finds what each of several pieces of work of one launch, the nodes of a graph, follows: the
// one that ended last before it began. Their order is not recorded.
func (p *Program) linkNodes(c *Call) {
	nodes := p.Works[c.First : c.First+c.N] // by start
	byEnd := make([]int32, len(nodes))
	for i := range byEnd {
		byEnd[i] = int32(i)
	}
	slices.SortStableFunc(byEnd, func(a, b int32) int {
		return cmp.Compare(nodes[a].StartNs+nodes[a].DurNs, nodes[b].StartNs+nodes[b].DurNs)
	})
	ended := 0
	for i := range nodes {
		for ended < len(byEnd) && nodes[byEnd[ended]].StartNs+nodes[byEnd[ended]].DurNs <= nodes[i].StartNs {
			ended++
		}
		// The last that ended before, if it comes before in order; a node of no duration may tie with itself.
		for k := ended - 1; k >= 0; k-- {
			if b := byEnd[k]; b < int32(i) {
				nodes[i].After = c.First + b
				nodes[i].LagNs = nodes[i].StartNs - nodes[b].StartNs - nodes[b].DurNs
				break
			}
		}
		if nodes[i].After == none && i > 0 {
			nodes[i].LagNs = nodes[i].StartNs - nodes[0].StartNs
		}
	}
}

// link finds the predecessor of each call. Between threads nothing is recorded (forward, autograd,
// optimizer): a thread that begins after a long pause follows the thread that was busy in that pause
// and has been quiet since.
func (p *Program) link() {
	t := p.Facts.Trace
	last := make([]int32, len(t.Threads)) // index+1 of each thread's last call so far
	next := p.nextOnThread()
	var recent []int32 // threads in the order of their last call, latest last
	for i := range p.Calls {
		c := &p.Calls[i]
		own := last[c.Thread] - 1
		c.Pred = own
		if from := p.handOff(c, own, recent, last, next); from != none {
			c.Pred = from
		} else if own == none {
			c.Pred = p.startedBy(c, recent, last)
		}
		c.GapNs = c.StartNs
		if c.Pred != none {
			c.GapNs = c.StartNs - p.Calls[c.Pred].EndNs
		}
		last[c.Thread] = int32(i) + 1
		if n := len(recent); n == 0 || recent[n-1] != c.Thread {
			recent = append(slices.DeleteFunc(recent, func(th int32) bool { return th == c.Thread }), c.Thread)
		}
	}
}

// handOff is the call of another thread that c follows, or none: the latest call of the process
// that ended within the pause before c, on a thread that makes no other call until c has begun and
// whose own pause is the longer one.
func (p *Program) handOff(c *Call, own int32, recent, last, next []int32) int32 {
	pauseFrom := int64(minNs)
	if own != none {
		pauseFrom = p.Calls[own].EndNs
	}
	process := p.Facts.ProcessOf(model.ThreadRow(c.Thread))
	best := none
	for k := len(recent) - 1; k >= 0 && k >= len(recent)-maxHandOff; k-- {
		th := recent[k]
		if th == c.Thread || p.Facts.ProcessOf(model.ThreadRow(th)) != process {
			continue
		}
		a := last[th] - 1
		e := p.Calls[a].EndNs
		if e <= pauseFrom || e > c.StartNs {
			continue
		}
		if n := next[a]; n != none && p.Calls[n].StartNs < c.EndNs {
			continue
		}
		if c.StartNs-e >= c.StartNs-pauseFrom {
			continue
		}
		if best == none || e > p.Calls[best].EndNs {
			best = a
		}
	}
	return best
}

// startedBy is the call that a thread's first one follows where none hands over to it: the one of its process that
// ended last before it. What a thread that begins in the middle of a program does there is not settled by the clock.
func (p *Program) startedBy(c *Call, recent, last []int32) int32 {
	process, best := p.Facts.ProcessOf(model.ThreadRow(c.Thread)), none
	for k := len(recent) - 1; k >= 0 && k >= len(recent)-maxHandOff; k-- {
		a := last[recent[k]] - 1
		if p.Facts.ProcessOf(model.ThreadRow(recent[k])) == process && p.Calls[a].EndNs <= c.StartNs &&
			(best == none || p.Calls[a].EndNs > p.Calls[best].EndNs) {
			best = a
		}
	}
	return best
}

const (
	minNs      = -1 << 62
	maxNs      = 1<<62 - 1
	maxHandOff = 8 // threads that are looked at: those that called last
)

// nextOnThread is the next call of the same thread of each call, or none.
func (p *Program) nextOnThread() []int32 {
	next := make([]int32, len(p.Calls))
	last := make(map[int32]int32)
	for i := len(p.Calls) - 1; i >= 0; i-- {
		next[i] = none
		if n, ok := last[p.Calls[i].Thread]; ok {
			next[i] = n
		}
		last[p.Calls[i].Thread] = int32(i)
	}
	return next
}
