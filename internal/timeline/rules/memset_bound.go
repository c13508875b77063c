package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

var memsetBound = Rule{
	ID:    "memset_bound",
	Title: "Memset-bound: the GPU clears memory instead of computing",
	Since: "0.3",
	Needs: []Need{needWork},
	Doc: `
Memsets take 10 % of the step or more with nothing else on the GPU: whole buffers are set to zero before each use, of
which only a part is used, or which the next kernel writes in full anyway.

The rule counts the time in which the device sets memory and neither computes, communicates nor copies. It says how many
bytes, how fast, and what share of the memory's peak that is (docs/peaks.md): a memset that comes near the peak cannot be
faster, only smaller or left out.`,
	Limits: `
Whether the zeros are needed, the capture does not say. Kernels that fill memory are kernels here: dominant_kernel.`,
	Fix: `
Do not clear what is written in full, and clear only what is used:

    out = torch.empty(n, device="cuda")        # instead of torch.zeros, where every element is written
    optimizer.zero_grad(set_to_none=True)      # the default: gradients are written, not added to
    buffer[:used].zero_()                      # instead of the whole buffer`,
	FixC: `Do not clear what is written in full: let the first kernel write (=, beta = 0) instead of adding to zeros. Clear
only the part that is used, or clear it within the kernel that reads it last. Keep index lists of what was touched.`,
	Confirm:   `Memsets fall below 10 % of the step, and results are the same.`,
	RefutedBy: `Without the memsets results differ, and all that is cleared is used.`,
	Check:     checkMemsetBound,
}

func checkMemsetBound(c *Case, out *Findings) {
	w, window := c.Facts.Work(), c.Steps.Window()
	others := make(map[uint32][]interval.Span)
	for i := range w.Len() {
		if w.Kind[i] != facts.WorkSet {
			others[w.Device[i]] = append(others[w.Device[i]], interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]})
		}
	}
	busy := make(map[uint32]interval.Set)
	for device, spans := range others {
		busy[device] = interval.UnionSorted(spans)
	}
	n, bytes, ns, exposed, places := c.newTally(), c.newTally(), c.newTally(), c.newTally(), c.newGroups()
	for i := range w.Len() {
		span := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window)
		if w.Kind[i] != facts.WorkSet || span.LenNs() <= 0 {
			continue
		}
		size64 := int64(0)
		if r := w.Row[i]; int(r) < len(c.Trace.Sets.Bytes) {
			size64 = c.Trace.Sets.Bytes[r]
		}
		each := float64(span.LenNs()) / c.deviceCount()
		n.add(span.StartNs, 1/c.deviceCount())
		bytes.add(span.StartNs, float64(size64)/c.deviceCount())
		ns.add(span.StartNs, each)
		exposed.add(span.StartNs, float64(span.LenNs()-overlapNs(busy[w.Device[i]], span))/c.deviceCount())
		name := "memset of " + size(float64(size64))
		if call := w.Call[i]; call != facts.NoCall {
			name += ", by " + c.place(call)
		}
		places.add(name, span.StartNs, each)
	}
	atMost := exposed.perStep()
	if !n.usual() || atMost < minCopyShare*c.StepNs {
		return
	}
	f := out.Add(0.85, atMost, "Memset-bound: the GPU clears memory for %s of %s per step with nothing else on it: %s in %s",
		ms(atMost), ms(c.StepNs), size(bytes.amount()), several(n.amount(), "memset", "memsets"))
	speed := bytes.perStep() / max(1, ns.perStep())
	text := fmt.Sprintf("they run at %.1f GB/s", speed)
	if peak, _ := c.peak(); peak != nil && peak.MemoryGBs > 0 {
		text += fmt.Sprintf(", %.0f %% of the %.0f GB/s of the GPU's memory", 100*speed/peak.MemoryGBs, peak.MemoryGBs)
	}
	f.Because(text+": fewer bytes are what helps", places.rows(4)...)
	if !c.again(n.perStep()) {
		f.Because("so few of them may be set-up, which comes once")
	}
}
