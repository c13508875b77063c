package facts

import (
	"math"
	"strings"

	"lacuna/internal/timeline/model"
)

// A clockBound is what calls say of a device's clock: by how much its times must be moved at least and at most.
type clockBound struct {
	least, most   int64 // least: no work before its launch; most: no blocking copy to the host ends behind its call
	work, early   int   // work with a call, and of it what starts before the call
	copies, after int   // blocking copies to the host, and of them what ends behind the call
}

// ClockShifts is by how much the times of each device's work are moved, in ns, where its clock contradicts the calls
// of the same capture: at least half of its work starts before the call that launches it, or at least half of its
// blocking copies to the host end behind their call, by 0.1 ms or more. They are moved by the least that ends this;
// not at all where no one move does, as with clocks that drift. Tools convert the GPU's timestamps to the host's clock,
// for each device by itself: captures of several processes have been seen with devices 12 to 50 ms apart.
func (f *Facts) ClockShifts() map[uint32]int64 {
	return f.kept.clockShifts.of(f, func(f *Facts) map[uint32]int64 {
		var out map[uint32]int64
		for device, b := range f.clockBounds() {
			if ns := b.shift(); ns != 0 {
				if out == nil {
					out = make(map[uint32]int64)
				}
				out[device] = ns
			}
		}
		return out
	})
}

func (b *clockBound) shift() int64 {
	switch {
	case b.least > b.most:
		return 0
	case b.least > noticeEarlyNs && 2*b.early >= b.work:
		return b.least
	case b.most < -noticeEarlyNs && 2*b.after >= b.copies:
		return b.most
	}
	return 0
}

func (f *Facts) clockBounds() map[uint32]*clockBound {
	t, launches := f.Trace, f.Launches()
	out := make(map[uint32]*clockBound)
	of := func(a *model.Activity, i int) *clockBound {
		device := at(a.Device, i, 0)
		b := out[device]
		if b == nil {
			b = &clockBound{least: math.MinInt64, most: math.MaxInt64}
			out[device] = b
		}
		return b
	}
	for _, s := range []struct {
		a    *model.Activity
		call []int32
	}{{&t.Kernels.Activity, launches.Kernels}, {&t.GraphRuns.Activity, launches.GraphRuns},
		{&t.Copies.Activity, launches.Copies}, {&t.Sets.Activity, launches.Sets}} {
		for i, call := range s.call {
			if call == NoCall {
				continue
			}
			b, early := of(s.a, i), t.Calls.StartNs[call]-s.a.StartNs[i]
			b.work++
			if b.least = max(b.least, early); early > noticeEarlyNs {
				b.early++
			}
		}
	}
	for i, call := range launches.Copies {
		if call == NoCall || !f.blockingRead(i, call) {
			continue
		}
		b, room := of(&t.Copies.Activity, i), t.Calls.EndNs(int(call))-t.Copies.EndNs(i)
		b.copies++
		if b.most = min(b.most, room); room < -noticeEarlyNs {
			b.after++
		}
	}
	return out
}

// blockingRead says whether a call returns only when its copy to the host has ended: all but those to pinned memory by
// an asynchronous call, as CUDA's "API synchronization behavior" has it.
func (f *Facts) blockingRead(row int, call int32) bool {
	c := &f.Trace.Copies
	if at(c.Kind, row, model.CopyUnknown) != model.CopyDtoH {
		return false
	}
	return !strings.Contains(f.CallName(call), "Async") || at(c.Dst, row, model.MemUnknown) == model.MemPageable
}
