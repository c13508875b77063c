package rules

import (
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// purpose is what a thread waited for a device for.
type purpose uint8

const (
	waitPlain  purpose = iota // a synchronisation by itself
	waitRead                  // data is copied back
	waitUpload                // data is copied to the device: the copy's affair, not the synchronisation's
)

// A wait is a call, or a copy and the synchronisation behind it, in which a thread that feeds a device waited for it.
type wait struct {
	interval.Span
	call     int32 // the first call, row of Calls
	last     int32 // the last one
	copyCall int32 // the call that copied, of reads
	purpose  purpose
	bytes    int64 // copied
	leadNs   int64 // of the host to make it: its copy's call, and the work before both, each at most maxLeadNs
}

// smallBytes is up to which size a copy moves a value and not data: PyTorch and CUDA stage copies of
// pageable memory of up to 64 KiB without a wait (CUDA Driver API, "API synchronization behavior").
const smallBytes = 64 << 10

// maxLeadNs is the most host work before a wait that counts as made for it: reading a value takes an interpreter and a
// framework some 5 to 100 µs (aten::item under a profiler).
const maxLeadNs = 100_000

// waits is the calls in which threads that feed a device waited for it, in order.
func (c *Case) waits() []wait {
	if c.memo.waits != nil {
		return c.memo.waits
	}
	s, t := c.starved(), c.Trace
	feeds := make(map[model.ThreadRow]bool)
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			feeds[g.Thread] = true
		}
	}
	causes, issued := c.Facts.CallCauses(), c.Facts.WorkOfCalls()
	type state struct {
		endNs int64
		lead  int64 // before the copy
		copy  int32 // row of Work: the copy that the thread issued last, with nothing issued behind it, or -1
		wait  int32 // the wait that this copy was, or -1
	}
	threads := make(map[model.ThreadRow]*state)
	out := []wait{}
	for i := range t.Calls.Len() {
		th := t.Calls.Thread[i]
		if !feeds[th] {
			continue
		}
		st := threads[th]
		if st == nil {
			st = &state{copy: -1, wait: -1}
			threads[th] = st
		}
		if t.Calls.StartNs[i] < st.endNs {
			continue // made by the call before it
		}
		leadNs := min(maxLeadNs, t.Calls.StartNs[i]-st.endNs)
		if st.endNs == 0 {
			leadNs = 0
		}
		st.endNs = t.Calls.EndNs(i)
		cause := facts.CauseName(causes[i])
		w := wait{Span: interval.Span{StartNs: t.Calls.StartNs[i], EndNs: st.endNs}, call: int32(i), last: int32(i),
			leadNs: leadNs}
		switch row := issued[i]; {
		case row >= 0 && c.Facts.Work().Kind[row] == facts.WorkCopy:
			st.copy, st.wait, st.lead = row, -1, leadNs+w.LenNs()
			if kind := c.copyKind(row); cause == facts.CauseCopyCall && kind == model.CopyDtoH {
				w.purpose, w.bytes, w.copyCall = waitRead, c.copyBytes(row), w.call
				st.wait = int32(len(out))
				out = append(out, w)
			}
		case row >= 0:
			st.copy, st.wait = -1, -1
		case cause == facts.CauseSync && st.wait >= 0:
			out[st.wait].EndNs, out[st.wait].last = w.EndNs, w.last
			st.copy, st.wait = -1, -1
		case cause == facts.CauseSync:
			if st.copy >= 0 && !c.waitsForAll(int32(i)) {
				w.bytes = c.copyBytes(st.copy)
				switch kind := c.copyKind(st.copy); {
				case kind == model.CopyDtoH:
					w.purpose, w.copyCall = waitRead, c.Facts.Work().Call[st.copy]
					w.leadNs += st.lead
				case kind == model.CopyHtoD && w.bytes > smallBytes:
					w.purpose = waitUpload
				}
			}
			out = append(out, w)
			st.copy = -1
		}
	}
	c.memo.waits = c.withinSteps(out)
	return c.memo.waits
}

// withinSteps cuts what waits have before the first step that is looked at: until then the host waited for work of
// before, such as a server's prompt ahead of its decode steps, or while a profiler started.
func (c *Case) withinSteps(waits []wait) []wait {
	if !c.Steps.Device || c.Steps.First >= c.Steps.Last {
		return waits
	}
	from := c.Steps.All[c.Steps.First].StartNs
	for i := range waits {
		if w := &waits[i]; w.StartNs < from && w.EndNs > from {
			w.StartNs = from
		}
	}
	return waits
}

// waitsForAll says whether a synchronising call waits for all that a device has, not for a stream or an event.
func (c *Case) waitsForAll(call int32) bool {
	name := c.Facts.CallName(call)
	return strings.Contains(name, "DeviceSynchronize") || strings.Contains(name, "CtxSynchronize")
}

// copyKind is the direction of a copy, given by its row of Work.
func (c *Case) copyKind(row int32) model.CopyKind {
	return c.Trace.Copies.Kind[c.Facts.Work().Row[row]]
}

// copyBytes is the size of a copy, given by its row of Work.
func (c *Case) copyBytes(row int32) int64 {
	if r := c.Facts.Work().Row[row]; int(r) < len(c.Trace.Copies.Bytes) {
		return c.Trace.Copies.Bytes[r]
	}
	return 0
}

// place says where a call was made: "cudaStreamSynchronize in aten::item, in forward".
func (c *Case) place(call int32) string {
	t := c.Trace
	name := c.Facts.CallName(call)
	userRange, op := c.Facts.Around(t.Calls.Thread[call], t.Calls.StartNs[call])
	if op != "" {
		name += " in " + op
	}
	if userRange != "" {
		name += ", in " + userRange
	}
	return name
}

// A waitCost is what waits cost: each part by step, in ns.
type waitCost struct {
	count, drained *tally // how many waits, and how many left the device with nothing queued
	// the host in them; its work right behind reads, and to the next launch, with the device idle
	waited, behind *tally
	lead           *tally // of the host before reads, which it does for them
	copied         *tally // the device in the copies that were waited for, with nothing else on it
	values         *tally // of copied, in those of a value: a copy of data must be made anyway
	idle           *idleBehind
	places         *groups
	reads, all     float64
	byDevice       float64        // of all, those that wait for all that a device has, by hand
	lasts          map[int32]bool // calls that end a wait that reads
}

// costOf adds up the waits that want picks. Those behind which the device has work cost nothing.
func (c *Case) costOf(want func(w wait) bool) *waitCost {
	k := &waitCost{count: c.newTally(), drained: c.newTally(), waited: c.newTally(), behind: c.newTally(),
		lead: c.newTally(), copied: c.newTally(), values: c.newTally(), places: c.newGroups(),
		lasts: make(map[int32]bool)}
	s := c.starved()
	calls := make(map[int32]bool)
	var drained []wait
	for _, w := range c.waits() {
		if w.purpose == waitUpload || c.stepAt(w.EndNs) < 0 || !want(w) {
			continue
		}
		k.count.add(w.EndNs, 1)
		if s.restIdleNs(w.EndNs) == 0 {
			continue
		}
		k.drained.add(w.EndNs, 1)
		k.waited.add(w.EndNs, float64(w.LenNs()))
		k.places.add(c.place(w.call), w.EndNs, float64(w.LenNs()))
		k.all++
		if w.purpose == waitPlain && c.waitsForAll(w.call) {
			k.byDevice++
		}
		drained = append(drained, w)
		if w.purpose == waitRead {
			k.reads++
			k.lead.add(w.EndNs, float64(w.leadNs))
			if w.bytes >= minBatchBytes { // a number is not worked on for long
				k.lasts[w.last] = true
			}
			calls[w.copyCall] = true
		}
	}
	for _, p := range s.pauses {
		if k.lasts[p.Last] && !c.feedsNext(p) {
			k.behind.add(p.StartNs, float64(p.IdleNs)/s.devices)
		}
	}
	k.idle = c.idleBehind(drained)
	for _, x := range c.copies() {
		if x.kind != model.CopyDtoH || !calls[c.Facts.Work().Call[x.row]] {
			continue
		}
		k.copied.add(x.startNs, float64(x.exposed)/c.deviceCount())
		if x.bytes <= smallBytes {
			k.values.add(x.startNs, float64(x.exposed)/c.deviceCount())
		}
	}
	return k
}

// hostNs is what the host gains without the waits: it cannot come before the device by more.
func (k *waitCost) hostNs() float64 {
	return k.waited.perStep() + k.behind.perStep() + k.values.perStep()
}

// atMost is what a step can be shorter by without the waits, and without the copies of values that they are for.
// Without steps nothing says that the host would run ahead from wait to wait: each is then taken by itself.
func (k *waitCost) atMost() float64 {
	ns := k.inLoop()
	if k.waited.c.wholeCapture() {
		ns = min(ns, k.idle.gain.perStep())
	}
	return ns + k.values.perStep()
}

// inLoop is what a turn of a loop can be shorter by without the waits: what the host gains, with what it does to make
// them, but no more than the device waits for it behind them. What the host does until the device has work again it
// does anyway.
func (k *waitCost) inLoop() float64 {
	return min(k.waited.perStep()+k.behind.perStep()+k.lead.perStep(), k.idle.total.perStep())
}
