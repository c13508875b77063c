package replay

import (
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// slackNs is by how much a wait may return before the awaited work is recorded as ended: the clocks
// of host and device agree no better.
const slackNs = 20_000

// addWaits finds what each call waited for: what its name says, as far as the record agrees.
func (p *Program) addWaits() {
	t := p.Facts.Trace
	kinds := make(map[model.StringID]WaitKind)
	streamOf := p.syncStreams()
	tokens := p.newTokenWaits()
	laneOf := make(map[facts.Lane]int32)
	for i, l := range p.Lanes {
		laneOf[l] = int32(i)
	}
	lastLane := make([]int32, len(t.Threads)) // of each thread's last launch
	for i := range lastLane {
		lastLane[i] = none
	}
	ends := p.newEnds()
	for i := range p.Calls {
		c := &p.Calls[i]
		name := t.Calls.Name[c.Row]
		kind, seen := kinds[name]
		if !seen {
			kind = waitKind(t.Strings.Text(name))
			kinds[name] = kind
		}
		for k := c.First; k < c.First+c.N; k++ {
			lastLane[c.Thread] = p.Works[k].Lane
			ends.issue(p.Works[k].Lane, p.Works[k].StartNs+p.Works[k].DurNs)
		}
		ends.started(c.EndNs)
		c.Wait = kind
		switch kind {
		case WaitNothing:
			if p.isStaged(c) {
				c.Wait = WaitCopy
			}
		}
		if c.Wait == WaitCopy && p.isBig(c) {
			c.Wait = WaitBigCopy
		}
		awaitedNs := int64(minNs)
		switch c.Wait {
		case WaitStream:
			c.WaitOn = lastLane[c.Thread]
			if lane, ok := laneOf[streamOf[c.Row]]; ok {
				c.WaitOn = lane
			}
		case WaitEvent:
			if k := tokens.of(int32(i)); k != none {
				if rec, ok := p.recordBehind(k); ok {
					c.WaitOn, awaitedNs = rec, p.endNs(k)
				}
			}
		}
		p.splitOwn(c, max(awaitedNs, ends.awaited(p, c)))
	}
}

// waitKind is what a call of this name waits for.
func waitKind(name string) WaitKind {
	name = facts.CallVerb(name)
	switch {
	case strings.HasPrefix(name, "StreamSynchronize"):
		return WaitStream
	case strings.HasPrefix(name, "EventSynchronize"):
		return WaitEvent
	case strings.HasPrefix(name, "DeviceSynchronize"), strings.HasPrefix(name, "CtxSynchronize"),
		name == "Free", strings.HasPrefix(name, "MemFree") && !strings.Contains(name, "Async") &&
			!strings.Contains(name, "Host"),
		name == "FreeArray":
		return WaitDevice
	case strings.HasPrefix(name, "Memcpy") && !strings.Contains(name, "Async"):
		return WaitCopy
	}
	return WaitNothing
}

// isStaged says whether a call issued a copy of pageable memory and returned only when it was done.
func (p *Program) isStaged(c *Call) bool {
	for k := c.First; k < c.First+c.N; k++ {
		w := &p.Works[k]
		if w.Kind != facts.WorkCopy {
			continue
		}
		if w.Host && c.EndNs+slackNs >= w.StartNs+w.DurNs {
			return true
		}
	}
	return false
}

// isBig says whether a call issued a copy that goes through the driver's staging buffers in several pieces.
func (p *Program) isBig(c *Call) bool {
	t := p.Facts.Trace
	for k := c.First; k < c.First+c.N; k++ {
		if w := &p.Works[k]; w.Kind == facts.WorkCopy {
			if row := p.Facts.Work().Row[w.Row]; int(row) < len(t.Copies.Bytes) && t.Copies.Bytes[row] > stagedBytes {
				return true
			}
		}
	}
	return false
}

// stagedBytes is up to what size the driver copies pageable memory at once (CUDA C Programming Guide,
// "Synchronous": transfers of 64 KB or less return before they are done).
const stagedBytes = 64 << 10

// touchesHost says whether a row of Work is a copy from or to pageable memory.
func touchesHost(f *facts.Facts, row int) bool {
	w, t := f.Work(), f.Trace
	if w.Kind[row] != facts.WorkCopy {
		return false
	}
	is := func(column []model.MemKind) bool {
		return int(w.Row[row]) < len(column) && column[w.Row[row]] == model.MemPageable
	}
	return is(t.Copies.Src) || is(t.Copies.Dst)
}

// splitOwn takes the waiting out of a call's time. A wait that the record contradicts, because the
// call returned well before what it is said to wait for ended, is dropped.
func (p *Program) splitOwn(c *Call, awaitedNs int64) {
	if c.Wait == WaitNothing {
		return
	}
	if awaitedNs == minNs {
		return
	}
	if c.EndNs+slackNs < awaitedNs {
		c.Wait = WaitNothing
		return
	}
	if awaitedNs > c.StartNs {
		// Bound by the work: what the call itself takes is not seen; at most what a call takes that waits for nothing.
		c.OwnNs = min(c.EndNs-c.StartNs, p.Rules.StubNs)
		if facts.CauseName(p.Facts.CallCauses()[c.Row]) == facts.CauseAlloc {
			c.AfterNs = max(1, c.EndNs-awaitedNs) // unmapping takes as long as there is memory
		}
	}
}

// ends keeps when the work issued so far ends.
type ends struct {
	lane   []int64
	device map[uint32]int64
	lanes  []facts.Lane

	orphans []Work // without calls, still to be issued, by start
}

func (p *Program) newEnds() *ends {
	e := &ends{lane: make([]int64, len(p.Lanes)), device: make(map[uint32]int64), lanes: p.Lanes}
	for i := range e.lane {
		e.lane[i] = minNs
	}
	for i := range p.Works {
		if p.Works[i].Call != none {
			break
		}
		e.orphans = p.Works[:i+1]
	}
	return e
}

// started issues the work without calls that had started before ns: what a call that returns at ns can have waited for.
func (e *ends) started(ns int64) {
	for len(e.orphans) > 0 && e.orphans[0].StartNs < ns {
		e.issue(e.orphans[0].Lane, e.orphans[0].StartNs+e.orphans[0].DurNs)
		e.orphans = e.orphans[1:]
	}
}

func (e *ends) issue(lane int32, endNs int64) {
	e.lane[lane] = max(e.lane[lane], endNs)
	d := e.lanes[lane].Device
	if have, seen := e.device[d]; !seen || endNs > have {
		e.device[d] = endNs
	}
}

// awaited is when what a call waits for has ended, or minNs.
func (e *ends) awaited(p *Program, c *Call) int64 {
	switch c.Wait {
	case WaitDevice:
		end := int64(minNs)
		for _, ns := range e.device {
			end = max(end, ns)
		}
		return end
	case WaitStream:
		if c.WaitOn != none {
			return e.lane[c.WaitOn]
		}
	case WaitCopy, WaitBigCopy:
		end := int64(minNs)
		for k := c.First; k < c.First+c.N; k++ {
			end = max(end, p.Works[k].StartNs+p.Works[k].DurNs)
		}
		return end
	}
	return minNs
}

// syncStreams is the stream of each synchronisation record, by row of its call.
func (p *Program) syncStreams() map[int32]facts.Lane {
	t := p.Facts.Trace
	out := make(map[int32]facts.Lane)
	for i, call := range p.Facts.Launches().Syncs {
		if call != facts.NoCall && t.Syncs.Stream[i] != model.NoStream {
			out[call] = facts.Lane{Device: t.Syncs.Device[i], Stream: t.Syncs.Stream[i]}
		}
	}
	return out
}
