package changes

import (
	"math"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/peaks"
	"lacuna/internal/timeline/replay"
)

var fuseAttention = Change{
	Name:   "fuse-attention",
	Syntax: "fuse-attention",
	Title:  "unfused attention becomes one kernel in forward and one in backward",
	Doc: `A softmax with a GEMM before and after it, and only pointwise kernels, copies and masks between them, is
attention: one GEMM on each side in forward, two in backward. All of that becomes one kernel. It computes 4 S d
FLOPs, backward 10 S d: S is the number of scores, from the softmax's grid, d the head dimension; half of that with
a causal mask. Adjacent layout copies go as well: fused kernels take any strides. The kernel reaches the share of
the 16-bit tensor core peak that fused kernels reach at that sequence length.`,
	Assumes: "head dimension 64 (128 at worst) where shapes are not recorded; 16-bit types",
	NotWhen: "something else uses the scores; the device is unknown",
	Example: "fuse-attention",
	Apply:   applyFuseAttention,
}

// Sizes of a head that are assumed where no shape tells: the usual one, and one that takes twice as long.
const (
	usualHead, largeHead = 64, 128
)

// Attention computes so many products of scores by heads, two FLOPs an element each: forward Q K and P V, backward the
// scores again and the gradients of P, V, Q and K.
const forwardProducts, backwardProducts = 2, 5

func applyFuseAttention(e *replay.Edit, arg string) (int, error) {
	ordinary := ordinaryPause(e)
	work := flopsOf(e)
	about := attentionOf(e)
	n, shaped := 0, 0
	for _, works := range onLanes(e) {
		taken := 0 // the first work behind the last region
		for k, i := range works {
			kind := kindOf(e, i)
			if kind.Class != facts.ClassSoftmax || kind.Log || k < taken {
				continue
			}
			r, ok := attentionRegion(e, works, k, taken)
			if !ok {
				continue
			}
			p, err := peakOf(e, e.Lanes[e.Works[i].Lane].Device, "the throughput of fused attention")
			if err != nil {
				return 0, err
			}
			known, err := r.fuse(e, p, work, about, ordinary)
			if err != nil {
				return 0, err
			}
			if known {
				shaped++
			}
			taken = r.to
			n++
		}
	}
	if n > shaped {
		e.Assume("head dimension %d in %d of %d places where the capture does not say; %d at worst", usualHead,
			n-shaped, n, largeHead)
	}
	return matched(n)
}

// A region is attention that is written out: works[from:to], with its softmax and products.
type region struct {
	works    []int32
	from, to int
	softmax  int32
	products []int32
	backward bool
	causal   bool // a triangular mask is made in it
	masked   bool // scores are masked, by what is not told
	scores   float64
}

// reach is how many pieces of work may lie between the softmax and a product of its attention: scaling, masks,
// dropout, copies to other layouts.
const reach = 12

// attentionRegion finds the products around the softmax works[k]. Nothing before works[least] belongs to it.
func attentionRegion(e *replay.Edit, works []int32, k, least int) (region, bool) {
	r := region{works: works, softmax: works[k], backward: kindOf(e, works[k]).Backward, from: k, to: k + 1}
	want := 1
	if r.backward {
		want = 2
	}
	for _, step := range []int{-1, 1} {
		found := 0
		for j, far := k+step, 0; found < want; j += step {
			if j < least || j >= len(works) || far > reach || !near(e, works[k], works[j]) {
				return r, false
			}
			class := kindOf(e, works[j]).Class
			switch w := &e.Works[works[j]]; {
			case class == facts.ClassGEMM:
				found++
				far = 0
				r.products = append(r.products, works[j])
			case w.Kind == facts.WorkCopy || w.Kind == facts.WorkSet, class == facts.ClassPointwise,
				class == facts.ClassCast, class == facts.ClassMove,
				class == facts.ClassMask, class == facts.ClassGEMMTail:
				far++
				name := e.WorkName(works[j])
				r.masked = r.masked || strings.Contains(name, "masked_fill") || strings.Contains(name, "where_kernel")
				r.causal = r.causal || class == facts.ClassMask
			default:
				return r, false
			}
			r.from, r.to = min(r.from, j), max(r.to, j+1)
		}
	}
	r.scores = scoresOf(e, r.softmax, works[r.from:r.to])
	r.from = r.widen(e, r.from-1, -1, least) + 1
	r.to = r.widen(e, r.to, 1, least)
	return r, r.scores > 0
}

// widen goes from works[j] on over copies to other layouts, and over the sets of workspaces between them, and returns
// where it stopped.
func (r *region) widen(e *replay.Edit, j, step, least int) int {
	stop := j
	for ; j >= least && j < len(r.works) && near(e, r.softmax, r.works[j]); j += step {
		switch i := r.works[j]; {
		case isLayoutCopy(e, i, r.scores):
			stop = j + step
		case e.Works[i].Kind != facts.WorkSet:
			return stop
		}
	}
	return stop
}

// isLayoutCopy says whether a kernel beside attention copies queries, keys, values or the result to another layout,
// which the batched products need; fused kernels take any strides. It copies less than all scores.
func isLayoutCopy(e *replay.Edit, i int32, scores float64) bool {
	k := kindOf(e, i)
	return k.Class == facts.ClassMove && k.PerThread > 0 && elementsOf(e, i) < scores
}

// near says whether two pieces of work are launched by one thread in one step with no wait in between.
func near(e *replay.Edit, a, b int32) bool {
	if e.Works[b].Call < e.Works[a].Call {
		a, b = b, a
	}
	return calm(e, a, b)
}

// scoresOf is how many scores a softmax is of: from rows and their length where its name tells the length; else
// what the pointwise kernels beside it are of.
func scoresOf(e *replay.Edit, softmax int32, region []int32) float64 {
	if n, rows := rowLength(e, softmax), rowsOf(e, softmax); n > 0 && rows > 0 {
		return n * rows
	}
	most := 0.0
	for _, i := range region {
		if isPointwise(kindOf(e, i)) {
			most = max(most, elementsOf(e, i))
		}
	}
	return most
}

// rowLength is the length of the rows of a softmax that works on a row with a warp, rounded up to a power of two.
func rowLength(e *replay.Edit, i int32) float64 {
	if n := kindOf(e, i).RowLog2; n > 0 {
		return math.Exp2(float64(n))
	}
	return 0
}

// rowsOf is how many rows such a softmax has: PyTorch gives a warp one of over 128 elements, or two.
func rowsOf(e *replay.Edit, i int32) float64 {
	rows := threadsOf(e, i) / 32
	if kindOf(e, i).RowLog2 <= 7 {
		rows *= 2
	}
	return rows
}

// attentionFacts is what the capture's forward regions tell of its backward ones.
type attentionFacts struct {
	length float64 // of the sequences, if some softmax tells
	causal bool    // triangular masks are made
}

func attentionOf(e *replay.Edit) (out attentionFacts) {
	for i := range e.Works {
		switch k := kindOf(e, int32(i)); {
		case k.Class == facts.ClassMask:
			out.causal = true
		case k.Class == facts.ClassSoftmax && !k.Log && k.RowLog2 > 0 && out.length == 0:
			out.length = math.Exp2(float64(k.RowLog2))
		}
	}
	return out
}

// length is how long the sequence is: a row of the scores. Where the softmax does not tell, all of the capture's are
// alike.
func (r *region) length(e *replay.Edit, about attentionFacts) float64 {
	if n := rowLength(e, r.softmax); n > 0 {
		return n
	}
	if about.length > 0 {
		return about.length
	}
	if rows := blocksOf(e, r.softmax); rows > 0 { // softmax that does not give a warp a row gives it a block
		return r.scores / rows
	}
	return 0
}

// fuse makes one kernel of the region: its first product. It says whether shapes told the size of a head.
func (r *region) fuse(e *replay.Edit, p *peaks.Peak, work map[int32]product, about attentionFacts,
	ordinary func(int32) int64) (bool, error) {
	products := float64(forwardProducts)
	if r.backward {
		products = backwardProducts
	}
	head, worst, known := float64(usualHead), float64(largeHead), false
	for _, i := range r.products {
		if d := work[i].size / 2 / r.scores; d >= 1 {
			head, worst, known = d, d, true
		}
	}
	length := r.length(e, about)
	if length == 0 {
		return false, &NotAllowedError{Why: "sequence lengths are unknown: the capture has neither grids nor " +
			"shapes; record with torch.profiler(record_shapes=True)"}
	}
	share, unit := p.AttentionShare(length, r.backward), max(p.BF16, p.FP16)
	if unit == 0 {
		return false, &NotAllowedError{Why: p.Name + " has no tensor cores for 16-bit types"}
	}
	ns := 2 * products * r.scores * head / unit / 1e3
	causal := r.causal || r.backward && about.causal
	if causal {
		ns /= 2
	}
	mid, low, high := spread(ns, share)
	if r.masked && !causal {
		low /= 2
		e.Assume("whether the mask is causal is unknown: all scores are computed, half of them at best")
	}
	before := int64(0)
	for _, i := range r.works[r.from:r.to] {
		before += e.Works[i].DurNs
	}
	first := r.works[r.from]
	for _, i := range r.works[r.from:r.to] {
		if e.Works[i].Kind == facts.WorkKernel {
			first = i
			break
		}
	}
	e.SetDur(first, min(mid, before), min(low, before), min(int64(float64(high)*worst/head), before))
	for k, i := range r.works[r.from:r.to] {
		if k > 0 {
			dropBetween(e, e.Works[r.works[r.from+k-1]].Call, e.Works[i].Call, ordinary)
		}
		if i != first {
			dropLaunch(e, i, ordinary)
		}
	}
	return known, nil
}
