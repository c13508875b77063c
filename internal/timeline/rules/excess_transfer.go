package rules

import (
	"fmt"
	"sort"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var excessTransfer = Rule{
	ID:    "excess_transfer",
	Title: "Excess device-to-host transfers in every step",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
Data that should stay on the GPU is copied to the host in every step: activations for metrics computed on the CPU,
or tensors that are cast or changed there and copied back. Pinned memory helps little: the volume is the fault, and
the host works on it while the GPU waits.

The rule counts copies of over 64 KiB to the host in at least half of the steps: the time in which the GPU did
nothing else, and the idle time that the host's waits for them and its work right after them cause. Copies of the same,
half or twice the size that go up again are round trips, and their time counts too, if all says so that sizes and order
can say: in each step that ranges mark, or in the whole capture where nothing marks any, each of them follows one to the
host on the same GPU, and no other copy of that size goes up: inputs go up before their results come down. Steps that
are launches which repeat begin anywhere in the loop, and no round trip is claimed there. The sum must be 2 % of the
step. A single copy that neither returns nor makes the GPU wait for 2 % of the step is taken for the program's result. In
a capture without steps only round trips count, from ten on. Copies from one GPU to another belong to peer_copies.`,
	Limits: `
Results of inference must go to the host, and offloading to host memory is intended; the rule cannot know. No trace
says whether the same bytes come back: the rule compares sizes and order, so that a program that reads one array and sends
another of its size later in a step looks like one. Copies to the GPU only belong to pageable_copy and
copy_not_overlapped.`,
	Fix: `
Reduce on the GPU, copy only the result, and do so rarely:

    norm = h.detach().float().norm()           # instead of h.cpu().norm()
    x = x.to(torch.bfloat16)                   # instead of x.cpu().bfloat16().cuda()

Keep batches, masks and tables that every step uses on the GPU; send small types (uint8 images) and widen them there.`,
	FixC: `Write a kernel for what the host does with the data, or use unified memory with prefetching where the
host needs a part of it.`,
	Confirm:   `A few bytes per step are copied to the host.`,
	RefutedBy: `The data is a result that must leave the GPU: pin the target and copy on a stream of its own.`,
	Check:     checkExcessTransfer,
}

func checkExcessTransfer(c *Case, out *Findings) {
	x := c.excess()
	if x == nil {
		return
	}
	confidence, title := 0.6, "Excess transfers: %s per step are copied to the host in %s, costing up to %s of %s "+
		"with the host's work on them"
	if x.round {
		confidence, title = 0.85, "Excess transfers: %s per step go to the host in %s and come back, costing up to "+
			"%s of %s with the host's work on them"
	}
	f := out.Add(confidence, x.atMost, title, size(x.down.bytes.amount()),
		several(x.down.n.amount(), "copy", "copies"), ms(x.atMost), ms(c.StepNs))
	f.Because(fmt.Sprintf("copies to the host take %s per step with nothing else on the GPU",
		ms(x.down.exposed.perStep())), x.down.places.rows(4)...)
	switch {
	case !x.round && x.alike > 0:
		f.Because("copies of equal size go up to the GPU; whether they hold the same data the capture does not say: if they " +
			"do, keep it on the GPU")
	case x.round:
		f.Because(fmt.Sprintf("copied back to the GPU: %s per step of the same, half or twice the size",
			several(x.back.n.amount(), "copy", "copies")), x.back.places.rows(4)...)
	}
	if b := x.waits.behind.perStep(); b > 0 {
		f.Because(fmt.Sprintf("the host works %s per step right after them while the GPU is idle", ms(b)))
	}
	f.Repair("drop-syncs:large-reads")
}

// An excessCost is what data that goes to the host costs.
type excessCost struct {
	down, back *copySum
	waits      *waitCost
	round      bool // most of it comes back
	alike      int  // copies up of the same sizes, where they may hold other data
	atMost     float64
}

// minResults is how many copies to the host a step must make: one is the result that a program is run for.
const minResults = 2

// excess is what data that goes to the host costs, if it is a fault; else nil.
func (c *Case) excess() *excessCost {
	if !c.memo.excessDone {
		c.memo.excess, c.memo.excessDone = c.findExcess(), true
	}
	return c.memo.excess
}

func (c *Case) findExcess() *excessCost {
	x := &excessCost{down: c.newCopySum(), back: c.newCopySum()}
	trips := make(map[tripPlace]*trips)
	for _, copied := range c.copies() {
		if copied.bytes <= smallBytes || c.stepAt(copied.startNs) < 0 {
			continue
		}
		place := tripPlace{c.markerOf(copied.row), c.work().Device[copied.row]}
		if trips[place] == nil {
			trips[place] = newTrips()
		}
		switch copied.kind {
		case model.CopyDtoH:
			x.down.add(c, copied)
			trips[place].down(copied)
		case model.CopyHtoD:
			trips[place].up(copied)
		}
	}
	for place, t := range trips {
		for _, copied := range t.back {
			if t.stray[t.sizeOf(copied)] || !c.wholeCapture() && (place.marker < 0 || !c.marked()) {
				x.alike++
			} else {
				x.back.add(c, copied)
			}
		}
	}
	if !x.down.n.usual() {
		return nil
	}
	if c.wholeCapture() && !c.again(x.back.n.perStep()) {
		return nil // results, for all that is known
	}
	x.waits = c.costOf(readsData)
	x.round = x.back.n.usual() && 2*x.back.n.perStep() > x.down.n.perStep()
	if !x.round && x.down.n.median() < minResults && x.waits.behind.share() < minIdleShare {
		return nil
	}
	deviceNs := x.down.exposed.perStep() + x.back.exposed.perStep()
	x.atMost = deviceNs + x.waits.inLoop()
	if min(x.atMost, deviceNs+x.waits.hostNs()+x.waits.copied.perStep()) < minIdleShare*c.StepNs {
		return nil
	}
	return x
}

// marked says whether marks of the program say where a step begins, not what repeats.
func (c *Case) marked() bool { return c.Steps.Source != facts.StepsPeriodicity }

// A tripPlace is where copies may be round trips: within what the host does between two marks of steps, on one device.
type tripPlace struct {
	marker int
	device uint32
}

// markerOf is the mark of a step within which a piece of work was issued, or -1: a step of the device begins with its
// first kernel, so that what the host sends before that lies in the step before.
func (c *Case) markerOf(row int32) int {
	call, marks := c.work().Call[row], c.Steps.Markers
	if call == facts.NoCall {
		return -1
	}
	ns := c.Trace.Calls.StartNs[call]
	i := sort.Search(len(marks), func(i int) bool { return marks[i].StartNs > ns }) - 1
	if i >= 0 && !marks[i].Contains(ns) {
		return -1
	}
	return i
}

// trips is the copies of a place that went to the host, and those that may bring the same data back.
type trips struct {
	sent  []int64        // sizes that went to the host and have not come back
	sizes []int64        // all that went
	back  []copied       // of such a size, behind it
	stray map[int64]bool // sizes of which one goes up that did not come down before
}

func newTrips() *trips { return &trips{stray: make(map[int64]bool)} }

func (t *trips) down(x copied) {
	t.sent, t.sizes = append(t.sent, x.bytes), append(t.sizes, x.bytes)
}

func (t *trips) up(x copied) {
	if i := sizeAmong(t.sent, x.bytes); i >= 0 {
		t.sent[i] = 0
		t.back = append(t.back, x)
		return
	}
	for _, bytes := range []int64{x.bytes, 2 * x.bytes, x.bytes / 2} {
		t.stray[bytes] = true
	}
}

// sizeOf is the size with which a copy that comes back went to the host.
func (t *trips) sizeOf(x copied) int64 {
	return t.sizes[sizeAmong(t.sizes, x.bytes)]
}

// readsData says whether a wait is for data, not for a value.
func readsData(w wait) bool { return w.purpose == waitRead && w.bytes > smallBytes }

// sizeAmong is the place of a size among others, the same, half or twice as much (a cast between), or -1.
func sizeAmong(sizes []int64, bytes int64) int {
	for i, s := range sizes {
		if s > 0 && (s == bytes || s == 2*bytes || 2*s == bytes) {
			return i
		}
	}
	return -1
}
