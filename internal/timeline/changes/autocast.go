package changes

import (
	"regexp"
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/peaks"
	"lacuna/internal/timeline/replay"
)

// fp32Attention is fused attention in FP32, which autocast makes one in 16 bits: the memory-efficient kernels of
// xFormers and PyTorch.
var fp32Attention = regexp.MustCompile(`fmha_cutlass[FB]_f32`)

const (
	// headUs is how long the products of one head and block take at the FP32 peak, in µs: as little as small matrices.
	headUs = 4
	// usualSequence is the length taken for attention whose shapes are not known, and the lengths at its bounds.
	usualSequence, shortSequence, longSequence = 512, 128, 2048
	// castsPerProduct is how many casts autocast launches for each product: 140 for 114 in one encoder, 42 for 40 in
	// one stack of layers (bench/gpu and the corpus, one H200).
	castsPerProduct = 1.2
)

// attentionIn16 is how long fused attention in FP32 takes in 16 bits. Its FLOPs are taken from how long it lasts.
func attentionIn16(p *peaks.Peak, unit float64, ns float64, backward bool) (mid, low, high int64) {
	flops := ns * max(p.FP32, p.FP32Matrix) * p.VectorShare(headUs).Mid
	at := func(sequence float64) int64 {
		return int64(min(ns, flops/(unit*p.AttentionShare(sequence, backward).Mid)))
	}
	return at(usualSequence), at(longSequence), at(shortSequence)
}

// A caster adds the host work of the casts that autocast launches in front of products.
type caster struct {
	e    *replay.Edit
	ns   map[int32]int64 // by thread: the host time of one launched operator, in the median
	over map[int32]int64 // and what the profiler added to it
}

func newCaster(e *replay.Edit) *caster {
	c := &caster{e: e, ns: make(map[int32]int64), over: make(map[int32]int64)}
	ns, over := make(map[int32][]int64), make(map[int32][]int64)
	for i := range e.Calls {
		if k := &e.Calls[i]; k.N == 1 && k.Wait == replay.WaitNothing && k.Pred >= 0 &&
			e.Works[k.First].Kind == facts.WorkKernel && e.InWindow(int32(i)) {
			ns[k.Thread] = append(ns[k.Thread], k.GapNs+k.OwnNs)
			over[k.Thread] = append(over[k.Thread], k.GapOverNs+k.OwnOverNs)
		}
	}
	for th := range ns {
		slices.Sort(ns[th])
		slices.Sort(over[th])
		c.ns[th], c.over[th] = ns[th][len(ns[th])/2], over[th][len(over[th])/2]
	}
	return c
}

// before adds the casts of the product that call launches.
func (c *caster) before(call int32) {
	if call < 0 || c.e.Calls[call].Pred < 0 {
		return
	}
	k := &c.e.Calls[call]
	k.GapNs += int64(castsPerProduct * float64(c.ns[k.Thread]))
	k.GapOverNs += int64(castsPerProduct * float64(c.over[k.Thread]))
}

// leaveOut takes a launch away with the ordinary host work before it. What it launches runs on, as work of the host's
// call before it.
func (c *caster) leaveOut(i int32) {
	call := c.e.Works[i].Call
	if call < 0 || c.e.Calls[call].N > 1 || c.e.Calls[call].Pred < 0 {
		return
	}
	k := &c.e.Calls[call]
	usual := c.ns[k.Thread]
	k.GapNs, k.OwnNs = max(0, k.GapNs-usual), 0
	k.GapOverNs, k.OwnOverNs = 0, 0
}
