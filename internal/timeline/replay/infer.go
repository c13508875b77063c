package replay

import (
	"cmp"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

const (
	// inferNs is how soon after its cause work must start for the cause to be inferred: some times the
	// usual pause between two pieces of work of different streams.
	inferNs = 15_000
	// inferShare is the same as a share of the delay that is to be explained: RCCL's and NCCL's kernels, and what
	// waits for them, began 15 to 38 µs after what they had waited 3 to 9 ms for. An end that lies that near by
	// chance is rare.
	inferShare = 0.02
	// inferBack is how many pieces of work of another stream are looked at, from the last that had begun back: those
	// behind the cause go on.
	inferBack = 64
)

// inferWaits ties pieces of work where the capture does not say what they waited for, but when they began does: later
// than their launch and their stream explain, and right after other work that had been issued before.
//
//   - A copy that begins when another one of its device ends waited for the engine that copies, whose turns no
//     capture holds.
//   - Work whose stream was told to wait for an event (Kineto without its synchronisation records holds the call, but
//     not the streams) waited for work issued before that call.
//
// What it cannot see is a wait that was over in time: a change can make such a wait bind.
func (p *Program) inferWaits() {
	if len(p.Lanes) < 2 {
		return
	}
	var waits []int32 // calls that make a stream wait, where the capture does not say which one
	if len(p.Waits) == 0 && p.Facts.HasStreamWaits() {
		waits = p.streamWaitCalls()
	}
	res := p.Residuals()
	began := make([][]int32, len(p.Lanes)) // of each lane, the work that has begun, by start
	told := make([]int32, len(p.Lanes))    // of each lane, the latest call that issued work to it
	for i := range told {
		told[i] = none
	}
	for _, i := range p.byStart() {
		w := &p.Works[i]
		if delay := res.works[i]; w.Call != none && delay > p.Rules.EventGapNs {
			near := max(inferNs, int64(inferShare*float64(delay)))
			before := lastWithin(waits, told[w.Lane], w.Call)
			for lane, list := range began {
				if int32(lane) == w.Lane {
					continue
				}
				if k := p.cause(list, i, before, near); k != none &&
					(w.Needs == none || p.endNs(k) > p.endNs(w.Needs)) {
					if w.Needs == none && before != none {
						p.Inferred++
					}
					w.Needs = k
				}
			}
		}
		began[w.Lane] = append(began[w.Lane], i)
		told[w.Lane] = max(told[w.Lane], w.Call)
	}
	p.feedCollectives()
	p.repeatWaits()
}

// feedCollectives lets a collective on a stream of its own wait for what was issued to the device's computing stream
// before it, unless it began earlier: it sends what that computes. Its start often shows it late, when
// multiprocessors become free.
func (p *Program) feedCollectives() {
	computes := make([]bool, len(p.Lanes))
	for i := range p.Works {
		if p.Works[i].Kind.IsCompute() {
			computes[p.Works[i].Lane] = true
		}
	}
	last := make(map[uint32]int32) // of each device, the computing work that was issued last
	for i := range p.Works {
		w := &p.Works[i]
		device := p.Lanes[w.Lane].Device
		switch k, seen := last[device]; {
		case w.Call == none:
		case w.Kind.IsCompute():
			last[device] = int32(i)
		case w.Kind == facts.WorkComm && seen && w.Needs == none && !computes[w.Lane] && p.endNs(k) <= w.StartNs:
			w.Needs = k
			p.Inferred++
		}
	}
}

// repeatWaits gives every step the waits for collectives that one step shows: in a step whose host was late anyway,
// or whose collectives were done in time, they do not show, and bind as soon as the host is faster or another rank is
// later.
func (p *Program) repeatWaits() {
	type seat struct{ lane, nth int32 } // the nth piece of work that a step issues to a lane
	seats := make(map[seat][]int32)     // by step of the program
	at := make([]seat, len(p.Works))
	count := make(map[[2]int32]int32)
	steps := int32(len(p.Steps.Markers) + 1)
	for i := range p.Works {
		w := &p.Works[i]
		if w.Call == none || p.Calls[w.Call].Step < 0 {
			at[i] = seat{none, none}
			continue
		}
		step := p.Calls[w.Call].Step
		nth := count[[2]int32{w.Lane, step}]
		count[[2]int32{w.Lane, step}]++
		at[i] = seat{w.Lane, nth}
		if seats[at[i]] == nil {
			seats[at[i]] = slices.Repeat([]int32{none}, int(steps))
		}
		if step < steps {
			seats[at[i]][step] = int32(i)
		}
	}
	repeated := make(map[[2]seat]bool)
	for i := range p.Works {
		k := p.Works[i].Needs
		if k == none || p.Works[k].Kind != facts.WorkComm || at[i].lane == none || at[k].lane == none ||
			p.Calls[p.Works[i].Call].Step != p.Calls[p.Works[k].Call].Step {
			continue
		}
		pair := [2]seat{at[i], at[k]}
		if repeated[pair] {
			continue
		}
		repeated[pair] = true
		for step, i2 := range seats[at[i]] {
			k2 := seats[at[k]][step]
			if i2 == none || k2 == none || i2 < k2 || p.Works[i2].Needs != none || p.endNs(k2) > p.Works[i2].StartNs+
				p.Rules.EventGapNs {
				continue
			}
			if p.WorkName(i2) == p.WorkName(int32(i)) && p.WorkName(k2) == p.WorkName(k) {
				p.Works[i2].Needs = k2
				p.Inferred++
			}
		}
	}
}

// cause is the work among list, which began before work i, that ended at most near before i began and that i can have
// waited for, or none. before is the call that told i's stream to wait; none: it was not told to, and only copies
// wait for copies.
func (p *Program) cause(list []int32, i, before int32, near int64) int32 {
	w := &p.Works[i]
	for n := len(list) - 1; n >= max(0, len(list)-inferBack); n-- {
		k := list[n]
		end := p.endNs(k)
		if end > w.StartNs || k > i {
			continue
		}
		if w.StartNs-end > near {
			return none
		}
		issued := before != none && p.Works[k].Call < before
		sameEngine := w.Kind == facts.WorkCopy && p.Works[k].Kind == facts.WorkCopy &&
			p.Lanes[w.Lane].Device == p.Lanes[p.Works[k].Lane].Device
		if issued || sameEngine {
			return k
		}
	}
	return none
}

// streamWaitCalls is the calls that make a stream wait for an event.
func (p *Program) streamWaitCalls() (out []int32) {
	t := p.Facts.Trace
	is := make(map[model.StringID]bool)
	for i := range p.Calls {
		name := t.Calls.Name[p.Calls[i].Row]
		waits, seen := is[name]
		if !seen {
			waits = strings.Contains(t.Strings.Text(name), "StreamWaitEvent")
			is[name] = waits
		}
		if waits {
			out = append(out, int32(i))
		}
	}
	return out
}

// lastWithin is the last of some sorted calls that lies between two others, or none.
func lastWithin(calls []int32, after, before int32) int32 {
	n, _ := slices.BinarySearchFunc(calls, before, func(a, b int32) int { return cmp.Compare(a, b) })
	if n == 0 || calls[n-1] <= after {
		return none
	}
	return calls[n-1]
}

func (p *Program) endNs(i int32) int64 { return p.Works[i].StartNs + p.Works[i].DurNs }
