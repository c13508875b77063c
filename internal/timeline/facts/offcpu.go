package facts

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// OffCPU is when a thread was on no CPU within a span, and no other thread of its process that calls CUDA was on one:
// it waited for none of those. Context switches show it; false: they were not recorded of the thread.
func (f *Facts) OffCPU(thread model.ThreadRow, span interval.Span) (interval.Set, bool) {
	h, threads := f.hostCode(), f.hostThreads()
	if int(thread) >= len(h.onCPU) || len(h.onCPU[thread]) == 0 {
		return nil, false
	}
	off := h.onCPU[thread].Clip(span).Gaps(span)
	for th := range threads {
		if len(off) > 0 && th != int(thread) && len(threads[th].calls) > 0 &&
			f.Trace.Threads[th].Process == f.Trace.Threads[thread].Process {
			off = interval.Subtract(off, h.onCPU[th].Clip(span))
		}
	}
	return off, true
}
