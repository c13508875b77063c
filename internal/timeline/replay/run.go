package replay

// Options says under which assumptions a program is run. The zero value runs it as recorded, by the rules alone.
type Options struct {
	Residuals *Residuals // what the record has beyond the rules; nil: nothing
	Deflate   float64    // share of the profiler's modelled overhead that is taken out: 0 as profiled, 1 all of it
	Host      float64    // factor on the host's time, in calls and between them; 0: 1
	Pace      float64    // the same for launches and short pauses only; 0: 1
	Work      float64    // factor on the durations of work; 0: 1
	Corner    int        // -1: the lower, 1: the upper bound of durations that a change made uncertain

	stretch []float64  // factor on each work's duration, from what runs beside it; nil: 1
	with    *gathering // where it meets the programs of other ranks; nil: it runs alone
}

// hostCopy is the factor on copies that the host's memory decides.
func (o *Options) hostCopy() float64 {
	switch {
	case o.Corner < 0:
		return hostCopyLow
	case o.Corner > 0:
		return hostCopyHigh
	}
	return 1
}

// A Run is when everything began and ended in one simulation. Times count from the same zero as the capture's.
type Run struct {
	CallEnd   []int64
	callBegin []int64
	WorkStart []int64
	WorkEnd   []int64
	Bound     []Bound // of each work, what its start waited for
	boundBy   []int32 // the work that it waited for, or none
	callBound []int32 // of each call, the work that its return waited for, or none
	queued    []int32 // of each call, the work whose start made room in the queue, or none
	blocked   []int64 // of each call, how long it waited for the device: for room in the queue, or for work to end
	waited    []int64 // of each work, how long its kernel waited for other ranks; nil: it ran alone
}

// Bound is what decided when a piece of work began.
type Bound uint8

// What work waits for.
const (
	BoundLaunch  Bound = iota // the host: its launch call
	BoundStream               // the work before it on its stream
	BoundEvent                // work on another stream, through an event or a need
	BoundNode                 // the node before it in its graph
	BoundNothing              // it was issued before the capture
)

// Simulate runs the program.
func (p *Program) Simulate(opt Options) *Run {
	if p.job != nil {
		return p.job.run(opt)[p.place]
	}
	if p.contention != nil {
		return p.relax(opt)
	}
	return p.simulate(opt, nil)
}

// simulate runs the program. With measure, each node is put at its recorded time, and measure is
// told by how much the rules differ.
func (p *Program) simulate(opt Options, measure *Residuals) *Run {
	if opt.Host == 0 {
		opt.Host = 1
	}
	if opt.Pace == 0 {
		opt.Pace = 1
	}
	if opt.Work == 0 {
		opt.Work = 1
	}
	n, m := len(p.Calls), len(p.Works)
	s := &simulation{p: p, opt: opt, measure: measure,
		r: &Run{
			CallEnd: make([]int64, n), callBegin: make([]int64, n), WorkStart: make([]int64, m),
			WorkEnd: make([]int64, m), Bound: make([]Bound, m),
			boundBy: make([]int32, m), callBound: make([]int32, n), queued: make([]int32, n),
			blocked: make([]int64, n),
		},
		lanes: make([]laneState, len(p.Lanes)), device: make(map[uint32]int32), records: make([]int32, n),
		debt: make([]float64, p.threads()), moved: make(map[uint32]int32),
		issued: make(map[uint32][]int32),
	}
	for i := range s.lanes {
		s.lanes[i] = laneState{last: none, wait: none}
	}
	if opt.with != nil {
		s.r.waited = make([]int64, m)
	}
	s.orphans()
	for i := range p.Calls {
		s.call(int32(i))
	}
	s.flushAll(maxNs)
	return s.r
}

type laneState struct {
	last int32 // the work issued to it that ends last, or none
	wait int32 // work that it must wait for besides, or none
}

type simulation struct {
	p       *Program
	opt     Options
	measure *Residuals // may be nil
	r       *Run
	lanes   []laneState
	device  map[uint32]int32   // the work issued to each device that ends last
	records []int32            // by call that records an event: the recorded work, or none
	issued  map[uint32][]int32 // of each device, work in the order of issue, for the queue's depth
	moved   map[uint32]int32   // of each device, the placed work of recorded calls that was recorded to start last
	debt    []float64          // of each thread: overhead that its time was too short to pay
	wait    int                // next of Program.Waits
	left    *orphanage         // work without calls that is still to come
}

// place puts work at its time.
func (s *simulation) place(i int32, start int64, b Bound, by int32) {
	w, r := &s.p.Works[i], s.r
	r.WorkStart[i], r.WorkEnd[i], r.Bound[i], r.boundBy[i] = start, start, b, by
	dropped, dur := w.Dropped || w.Call != none && s.dropped(&s.p.Calls[w.Call]), s.durNs(w)
	if s.opt.with != nil {
		r.waited[i], dur = s.meet(i, start, dur, dropped)
	}
	if dropped {
		return
	}
	if s.opt.stretch != nil {
		dur = int64(float64(dur) * s.opt.stretch[i])
	}
	r.WorkEnd[i] = start + dur
	if s.opt.with != nil {
		r.WorkEnd[i] += r.waited[i]
	}
	l := &s.lanes[w.Lane]
	if l.last == none || r.WorkEnd[i] >= r.WorkEnd[l.last] {
		l.last = i
	}
	d := s.p.Lanes[w.Lane].Device
	if have, seen := s.device[d]; !seen || r.WorkEnd[i] >= r.WorkEnd[have] {
		s.device[d] = i
	}
	s.issued[d] = append(s.issued[d], i)
	if have, seen := s.moved[d]; w.Call != none && (!seen || w.StartNs > s.p.Works[have].StartNs) {
		s.moved[d] = i
	}
}

// durNs is how long work takes under the options.
func (s *simulation) durNs(w *Work) int64 {
	dur := w.DurNs
	if w.Call != none && s.opt.Deflate > 0 && s.p.Calls[w.Call].N > 1 {
		dur -= min(dur/2, int64(s.opt.Deflate*s.p.Overhead.NodeNs))
	}
	if w.Host {
		dur = int64(float64(dur) * s.opt.hostCopy())
	}
	switch {
	case s.opt.Corner < 0 && w.HighNs > 0:
		dur = w.LowNs
	case s.opt.Corner > 0 && w.HighNs > 0:
		dur = w.HighNs
	case s.opt.Work != 1:
		dur = int64(float64(dur) * s.opt.Work)
	}
	return dur
}

// call runs one call: when it begins, what it issues, when it returns.
func (s *simulation) call(i int32) {
	c, r := &s.p.Calls[i], s.r
	r.callBound[i], r.queued[i], s.records[i] = none, none, none
	end := s.begin(c)
	r.callBegin[i] = end
	if s.dropped(c) {
		for k := c.First; k < c.First+c.N; k++ {
			s.place(k, end, BoundLaunch, none) // nothing runs: it is when it would have been issued
		}
	} else {
		end += s.ownNs(c)
		if c.N > 0 {
			free := s.queueFree(i, end)
			r.blocked[i], end = free-end, free
			if s.measure != nil && c.Wait == WaitNothing {
				end = c.EndNs
			}
			s.issue(i, end)
		}
	}
	s.events(i)
	if !s.dropped(c) && c.Wait != WaitNothing {
		if k := s.awaited(c); k != none {
			ruled := r.WorkEnd[k] + s.returnNs(c)
			if ruled > end {
				if s.measure != nil {
					s.measure.calls[i] = c.EndNs - ruled
				}
				back := max(end, ruled+s.opt.Residuals.call(i))
				r.blocked[i] += max(0, back-end-c.AfterNs) // what it does itself behind its wait is the host's time
				end, r.callBound[i] = back, k
			}
		}
	}
	if s.measure != nil {
		end = c.EndNs
	}
	r.CallEnd[i] = end
}

// returnNs is what lies between the end of the work that a call waits for and its return.
func (s *simulation) returnNs(c *Call) int64 {
	if c.AfterNs > 0 {
		return int64(float64(c.AfterNs) * s.opt.Host)
	}
	return s.p.Rules.ReturnNs[c.Wait]
}

// begin is when a call begins: after its predecessor and the host work between them.
func (s *simulation) begin(c *Call) int64 {
	at := int64(0)
	if c.Pred != none {
		at = s.r.CallEnd[c.Pred]
	}
	if c.Pred == none {
		return at + c.GapNs // nothing is known of the time before: it is no host work of a step
	}
	gap := s.gapNs(c)
	if c.GapNs >= pacedNs { // work of another kind: it pays what was recorded in it, and nothing of other times
		return at + int64(max(gap*unpaidShare, gap-float64(c.GapOverNs)*s.opt.Deflate))
	}
	return at + int64(s.opt.Pace*s.pay(c.Thread, gap, gap*unpaidShare, float64(c.GapOverNs)))
}

// gapNs is the host work before a call under the options.
func (s *simulation) gapNs(c *Call) float64 {
	switch {
	case c.Unsure && s.opt.Corner < 0:
		return 0
	case c.GapHighNs > 0 && s.opt.Corner < 0:
		return float64(c.GapLowNs)
	case c.GapHighNs > 0 && s.opt.Corner > 0:
		return float64(c.GapHighNs)
	}
	return float64(c.GapNs) * s.opt.Host
}

// dropped says whether a call is not made under the options.
func (s *simulation) dropped(c *Call) bool { return c.Dropped || c.Unsure && s.opt.Corner < 0 }

// ownNs is what a call takes without waiting.
func (s *simulation) ownNs(c *Call) int64 {
	own := float64(c.OwnNs) * s.opt.Host
	own = s.pay(c.Thread, own, min(own, leastCallNs), float64(c.OwnOverNs))
	if c.N > 0 && !c.copies() && c.OwnNs < pacedNs { // longer ones load a module, or wait for what is not recorded
		own *= s.opt.Pace
	}
	return int64(own)
}

const (
	unpaidShare = 0.1   // of host time between two calls, at least this much is the program's own
	leastCallNs = 1_500 // no call is faster
)

// pay takes overhead out of a time, but not below a floor; what is left over is owed by the thread's next times.
func (s *simulation) pay(thread int32, ns, floor, overNs float64) float64 {
	if s.opt.Deflate == 0 {
		return ns
	}
	owed := overNs*s.opt.Deflate + s.debt[thread]
	paid := min(owed, max(0, ns-floor))
	s.debt[thread] = owed - paid
	return ns - paid
}

// queueFree is when there is room for one more launch, at least end.
func (s *simulation) queueFree(i int32, end int64) int64 {
	issued := s.issued[s.p.deviceOf(s.p.Calls[i].First)]
	if n := len(issued); n >= s.p.Rules.QueueDepth {
		k := issued[n-s.p.Rules.QueueDepth]
		if s.r.WorkStart[k] > end {
			s.r.queued[i] = k
			return s.r.WorkStart[k]
		}
	}
	return end
}

// issue places the work of a call that returned at ns.
func (s *simulation) issue(i int32, ns int64) {
	p, c, r := s.p, &s.p.Calls[i], s.r
	for k := c.First; k < c.First+c.N; k++ {
		w := &p.Works[k]
		s.flush(w.Lane, w.StartNs)
		l := &s.lanes[w.Lane]
		start, bound, by := ns+p.Rules.LaunchNs, BoundLaunch, none
		if w.By != none {
			start = min(start, r.CallEnd[w.By]+p.Rules.LaunchNs)
		}
		streamGap := p.Rules.StreamGapNs
		switch {
		case w.After != none:
			streamGap = 0
			if t := r.WorkEnd[w.After] + s.lagNs(w); t > start {
				start, bound, by = t, BoundNode, w.After
			}
		case k > c.First:
			start = r.WorkStart[c.First] + w.LagNs
		}
		if l.last != none && r.WorkEnd[l.last]+streamGap > start {
			start, bound, by = r.WorkEnd[l.last]+streamGap, BoundStream, l.last
		}
		for _, need := range [2]int32{l.wait, w.Needs} {
			if need != none && r.WorkEnd[need]+p.Rules.EventGapNs > start {
				start, bound, by = r.WorkEnd[need]+p.Rules.EventGapNs, BoundEvent, need
			}
		}
		if s.measure != nil {
			s.measure.works[k], s.measure.bound[k] = w.StartNs-start, bound
			start = w.StartNs
		}
		s.place(k, start+s.opt.Residuals.work(k, bound), bound, by)
	}
}

// lagNs is the pause between two nodes of a graph under the options.
func (s *simulation) lagNs(w *Work) int64 {
	over := int64(max(0, 1-s.opt.Deflate) * float64(w.LagOver))
	switch {
	case w.LagHigh > 0 && s.opt.Corner < 0:
		return 0
	case w.LagHigh > 0 && s.opt.Corner > 0:
		return w.LagHigh + over
	}
	return w.LagNs + over
}

// events runs the records and stream waits of a call.
func (s *simulation) events(i int32) {
	p := s.p
	if lane := p.Calls[i].Records; lane != none {
		s.records[i] = s.later(s.lanes[lane].last, s.lanes[lane].wait)
	}
	for ; s.wait < len(p.Waits) && p.Waits[s.wait].Call <= i; s.wait++ {
		w := &p.Waits[s.wait]
		if w.Call == i && !w.Dropped {
			l := &s.lanes[w.Lane]
			l.wait = s.later(l.wait, s.records[w.Record])
		}
	}
}

// later is whichever of two pieces of work ends later; either may be none.
func (s *simulation) later(a, b int32) int32 {
	if a == none || b != none && s.r.WorkEnd[b] > s.r.WorkEnd[a] {
		return b
	}
	return a
}

// awaited is the work that a call waits for, or none.
func (s *simulation) awaited(c *Call) int32 {
	out := none
	switch c.Wait {
	case WaitDevice:
		for _, lane := range s.lanes {
			out = s.later(out, lane.last)
		}
	case WaitStream:
		if c.WaitOn != none {
			out = s.lanes[c.WaitOn].last
		}
	case WaitEvent:
		if c.WaitOn != none {
			out = s.records[c.WaitOn]
		}
	case WaitWork:
		out = c.WaitOn
	case WaitCopy, WaitBigCopy:
		for k := c.First; k < c.First+c.N; k++ {
			out = s.later(out, k)
		}
	}
	return out
}
