package rules

import (
	"fmt"

	"lacuna/internal/timeline/model"
)

var memoryFragmentation = Rule{
	ID:       "memory_fragmentation",
	Title:    "Allocator fragmentation: reserved memory is free but cannot be used",
	Since:    "0.2",
	Needs:    []Need{needReserved},
	Standing: CostsElse,
	Doc: `
The framework's allocator asks the driver for more memory although it has more than that free: the free memory is in
pieces that are too small, or belongs to another stream. The GPU runs out of memory early, and each request costs a
cudaMalloc.

The rule looks at the second half of the capture and counts new peaks of reserved memory that grow by no more than
was reserved but free. (Memory released and requested again belongs to allocator_churn.) Threshold: 2 such peaks,
and at the end 10 % of the reserved memory and 64 MiB are free.`,
	Limits: `
Needs the allocator's events with reserved bytes (profile_memory=True). PyTorch's small and large pools do not share
memory: one may grow by its first megabytes while the other has room. Memory held for CUDA graphs looks the same.`,
	Fix: `
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py

Pad batches to a few sizes, allocate the largest first, and do not keep small tensors among large ones for long.`,
	FixC: `Take memory from a pool (cudaMallocAsync, RMM) or in a few fixed sizes.`,
	Confirm: `The reserved memory no longer grows while free memory suffices (torch.cuda.memory_reserved against
memory_allocated).`,
	RefutedBy: `The free memory belongs to a CUDA graph's pool or to another stream on purpose.`,
	Check:     checkMemoryFragmentation,
}

const (
	// minGrowths is how often it must happen: once is the start of a pool.
	minGrowths = 2
	// minFreeShare and minFreeBytes are what must lie free at the end, of what is reserved: less is rounding. PyTorch
	// asks for segments of 2 and 20 MiB.
	minFreeShare = 0.10
	minFreeBytes = 64 << 20
)

func checkMemoryFragmentation(c *Case, out *Findings) {
	a := &c.Trace.AllocEvents
	type state struct {
		allocated, reserved, highest int64
		n                            int
		rows                         []string
	}
	states := make(map[uint32]*state)
	var devices []uint32
	window := c.Steps.Window()
	window.StartNs += window.LenNs() / 2 // the first half shows what a step reserves at most
	for i := range a.Len() {
		d := a.Device[i]
		if d == model.NoDevice || a.AllocatedBytes[i] < 0 || a.ReservedBytes[i] < 0 {
			continue
		}
		s := states[d]
		if s == nil {
			s = &state{allocated: a.AllocatedBytes[i], reserved: a.ReservedBytes[i], highest: a.ReservedBytes[i]}
			states[d], devices = s, append(devices, d)
			continue
		}
		grown, free := a.ReservedBytes[i]-s.reserved, s.reserved-s.allocated
		if a.ReservedBytes[i] > s.highest && free >= grown && window.Contains(a.TimeNs[i]) {
			if s.n++; len(s.rows) < 4 {
				s.rows = append(s.rows, fmt.Sprintf("at %s: %s more, with %s of %s free", c.sinceStart(a.TimeNs[i]),
					size(float64(grown)), size(float64(free)), size(float64(s.reserved))))
			}
		}
		s.highest = max(s.highest, a.ReservedBytes[i])
		s.allocated, s.reserved = a.AllocatedBytes[i], a.ReservedBytes[i]
	}
	for _, d := range devices {
		s := states[d]
		free := s.reserved - s.allocated
		if s.n < minGrowths || float64(free) < minFreeShare*float64(s.reserved) || free < minFreeBytes {
			continue
		}
		f := out.Add(0.7, 0, "Allocator fragmentation on GPU %d: it asked the driver for more memory %s while "+
			"enough was free in pieces", d, times(float64(s.n)))
		f.Because(fmt.Sprintf("at the end %s of %s reserved are free", size(float64(free)), size(float64(s.reserved))),
			s.rows...)
	}
}
