package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

var copyBound = Rule{
	ID:    "copy_bound",
	Title: "Copy-bound: the GPU copies to and from the host instead of computing",
	Since: "0.2",
	Needs: []Need{needWork},
	Doc: `
Copies between host and GPU take 10 % of the step or more with nothing else on the GPU: weights that are streamed in,
results that are fetched, buffers that travel both ways around each kernel. The rule counts copies of over 64 KiB in
both directions, by the time in which the GPU neither computes nor communicates, less what pageable_copy,
copy_not_overlapped and excess_transfer say of the same copies.

It says how fast they were, from which kind of memory, and how fast the GPU's host link is (docs/peaks.md): what to do
depends on it. Where nothing marks steps and all copies are before the first kernel or behind the last, as those of input
and results are, it says so: what a loop copies is then not known. Copies of pageable memory are staged by the driver. Copies of pinned memory that come near the link's
peak cannot be faster: only fewer bytes, or work beside them, help.`,
	Limits: `
A program that is there to copy, such as a benchmark of the link, has no fault. The link is that of the GPU's data
sheet: a narrower slot, a switch or a second GPU on the same link is not known. A virtual machine may be slower. The
bound is the copies' own time; how much of it can overlap with kernels only the program knows.`,
	Fix: `
Copy less: keep weights and tables on the GPU, send small types (uint8, bfloat16) and widen them there, reduce on the
GPU before results are fetched. Copy from and to pinned memory, on streams of their own:

    host = torch.empty(n, pin_memory=True)
    with torch.cuda.stream(down):
        host.copy_(result, non_blocking=True)  # the next batch goes up and is computed meanwhile`,
	FixC: `Cut the data into pieces and give each its own stream: piece k+1 goes up while piece k is computed and k-1
comes down. Use cudaHostAlloc or cudaHostRegister, and cudaMemcpyAsync.`,
	Confirm:   `Copies fall below 10 % of the step, or kernels run beside them.`,
	RefutedBy: `Without the copies (the same data used again) the program takes as long.`,
	After:     []*Rule{&pageableCopy, &copyNotOverlapped, &excessTransfer},
	Check:     checkCopyBound,
}

// minCopyShare is the share of the step from which exposed copies are what bounds it: where half as much is a high
// price for any other fault (diagnose calls 10 % high).
const minCopyShare = 0.10

// copiesOneWay is the copies of one direction between host and device.
type copiesOneWay struct {
	*copySum
	name     string // "to the GPU"
	pageable *tally // ns of them from or to pageable memory
	known    bool   // the kinds of memory were recorded
	rest     float64
}

func checkCopyBound(c *Case, out *Findings) {
	up, down := c.oneWay("to the GPU"), c.oneWay("to the host")
	for _, x := range c.copies() {
		way := up
		switch {
		case x.bytes <= smallBytes || x.kind != model.CopyHtoD && x.kind != model.CopyDtoH:
			continue
		case x.kind == model.CopyDtoH:
			way = down
		}
		way.add(c, x)
		way.known = way.known || x.known
		if !x.pinned {
			way.pageable.add(x.startNs, float64(x.ns)/c.deviceCount())
		}
	}
	up.rest = up.exposed.perStep() - c.claimed(out, &pageableCopy, &copyNotOverlapped)
	down.rest = down.exposed.perStep() - c.claimed(out, &excessTransfer)
	both := c.bothWaysNs()
	atMost := max(0, up.rest) + max(0, down.rest) - both
	if atMost < minCopyShare*c.StepNs {
		return
	}
	var said []string
	for _, way := range []*copiesOneWay{up, down} {
		if way.rest >= minIdleShare*c.StepNs {
			said = append(said, fmt.Sprintf("%s %s at %.1f GB/s", size(way.bytesEach()), way.name, way.gbs()))
		}
	}
	title, confidence := "Copy-bound: copies take %s of %s with nothing else on the GPU: %s", 0.85
	if c.copiesAtEnds() {
		title = "Copies before the first kernel and behind the last take %s of %s, which a longer run may have once: %s"
		confidence = 0.5
	}
	f := out.Add(confidence, atMost, title, ms(atMost), ms(c.StepNs), strings.Join(said, ", "))
	peak, _ := c.peak()
	for _, way := range []*copiesOneWay{up, down} {
		if way.n.perStep() > 0 {
			f.Because(way.words(peak), way.places.rows(3)...)
		}
	}
	if less := min(up.exposed.perStep(), down.exposed.perStep()) - both; less > minIdleShare*c.StepNs {
		f.Because(fmt.Sprintf("copies to the GPU and back run one after another: with two copy engines a link carries "+
			"both directions at once, so up to %s could overlap where they do not depend on each other", ms(less)))
	}
}

// copiesAtEnds says whether, in a capture without steps, all copies to the GPU end before its first kernel and all
// copies back begin behind its last, as those of input and results do.
func (c *Case) copiesAtEnds() bool {
	w, window := c.Facts.Work(), c.Steps.Window()
	kernels := interval.Span{StartNs: window.EndNs, EndNs: window.StartNs}
	for i := range w.Len() {
		if w.Kind[i] <= facts.WorkComm && window.Contains(w.StartNs[i]) {
			kernels.StartNs, kernels.EndNs = min(kernels.StartNs, w.StartNs[i]), max(kernels.EndNs, w.EndNs[i])
		}
	}
	if !c.wholeCapture() || kernels.LenNs() <= 0 {
		return false
	}
	for _, x := range c.copies() {
		switch {
		case x.bytes <= smallBytes:
		case x.kind == model.CopyHtoD && x.startNs+x.ns > kernels.StartNs, x.kind == model.CopyDtoH &&
			x.startNs < kernels.EndNs:
			return false
		}
	}
	return true
}

func (c *Case) oneWay(name string) *copiesOneWay {
	return &copiesOneWay{copySum: c.newCopySum(), name: name, pageable: c.newTally()}
}

// claimed is how much time of a step other rules' findings speak of, of those that are shown.
func (c *Case) claimed(out *Findings, list ...*Rule) (ns float64) {
	for _, r := range list {
		if lacks(c.Facts, r) != nil {
			continue
		}
		for _, f := range out.Of(r) {
			ns += f.AtMostNs
		}
	}
	return ns
}

// gbs is the speed of a copy, not of all devices together.
func (w *copiesOneWay) gbs() float64 { return w.bytesEach() / max(1, w.ns.perStep()) }

// bytesEach is what the mean device copies in a step.
func (w *copiesOneWay) bytesEach() float64 { return w.bytes.perStep() / w.bytes.c.deviceCount() }

// fastShare is the share of the link's peak from which copies are as fast as it allows: the low end of what copies of
// pinned memory reach on other machines than the one measured is 60 % (peaks.HostShare).
const fastShare = 0.6

// words says what the copies of a direction are, how fast, and what that depends on.
func (w *copiesOneWay) words(peak *peaks.Peak) string {
	memory := "memory of unrecorded kind"
	paged := w.pageable.perStep() > w.ns.perStep()/2
	switch {
	case paged:
		memory = "pageable memory"
	case w.known:
		memory = "pinned memory"
	}
	n := w.n.perStep() / w.n.c.deviceCount()
	text := fmt.Sprintf("%s: %s of %s, %s in %s, %.1f GB/s", w.name, several(n, "copy", "copies"), memory,
		size(w.bytesEach()), ms(w.ns.perStep()), w.gbs())
	if w.n.c.deviceCount() > 1 {
		text += " on each GPU"
	}
	share := 0.0
	if peak != nil && peak.HostGBs > 0 {
		share = w.gbs() / peak.HostGBs
		text += fmt.Sprintf(", %.0f %% of the %.0f GB/s of %s", 100*share, peak.HostGBs, peak.HostLink)
	}
	switch {
	case paged:
		text += "; from pinned memory they would not be staged by the driver, and could run beside kernels"
	case share >= fastShare:
		text += "; near the link's limit: only fewer bytes or work beside them help"
	case share > 0:
		text += "; the link should give more: several GPUs on one link, a narrow slot or memory of another NUMA node " +
			"slow it"
	}
	if hidden := 1 - w.exposed.perStep()/max(1, w.ns.perStep()); hidden >= minIdleShare {
		text += fmt.Sprintf("; %.0f %% of their time is overlapped with kernels", 100*hidden)
	}
	return text
}

// bothWaysNs is how long a step copies run in both directions at once with nothing else on the mean device.
func (c *Case) bothWaysNs() float64 {
	w, window := c.Facts.Work(), c.Steps.Window()
	ways := make(map[uint32]*[3][]interval.Span) // busy, up, down
	for i := range w.Len() {
		s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window)
		if s.LenNs() == 0 {
			continue
		}
		d := ways[w.Device[i]]
		if d == nil {
			d = new([3][]interval.Span)
			ways[w.Device[i]] = d
		}
		switch {
		case w.Kind[i] <= facts.WorkComm:
			d[0] = append(d[0], s)
		case w.Kind[i] == facts.WorkCopy && c.copyKind(int32(i)) == model.CopyHtoD:
			d[1] = append(d[1], s)
		case w.Kind[i] == facts.WorkCopy && c.copyKind(int32(i)) == model.CopyDtoH:
			d[2] = append(d[2], s)
		}
	}
	var ns int64
	for _, d := range ways {
		busy, up, down := interval.UnionSorted(d[0]), interval.UnionSorted(d[1]), interval.UnionSorted(d[2])
		one := interval.Subtract(up, down)
		ns += interval.Subtract(up, busy).TotalNs() - interval.Subtract(one, busy).TotalNs()
	}
	return float64(ns) * c.PerStep / c.deviceCount()
}
