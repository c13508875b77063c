package rules

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

var misalignedShapes = Rule{
	ID:    "misaligned_shapes",
	Title: "FP16/BF16 GEMM dimensions are not multiples of 8",
	Since: "0.1",
	Needs: []Need{needKernels},
	Doc: `
Tensor cores read 16 bytes at once: 8 elements of a 16-bit type. Where the leading dimension of an operand or of the
result is not a multiple of 8, the library takes a slower kernel or pads. Leading dimensions come from the
operators' strides, else from their shapes, and from the names of cuBLAS kernels, which state their alignment
(align1, align2, align4).

The cost is the time of such GEMMs beyond what they would take at the rate of the capture's best aligned GEMM of at
most 4 times the size or a quarter of it, else at the rate that GEMMs of that size reach on this GPU (table of
peaks). Where neither is known their whole time is the upper bound, and no fix is offered. Threshold: 3 % of the
step.

Sources: NVIDIA, Matrix Multiplication Background User's Guide, "Tensor Core requirements" (16 bytes); the
profiler's own check of PyTorch (torch.profiler._pattern_matcher, Float16 sizes divisible by 8).`,
	Limits: `
GEMMs of a few rows are memory-bound and gain nothing. A size of 1 (a vector) is left out. Hand-written kernels may
not need alignment. Without strides tensors are taken to be dense and not transposed. GEMMs that take several
kernels are judged by the kernels' names only.`,
	Fix: `
Round dimensions up to a multiple of 8, better of 64:

    vocab = (vocab + 63) // 64 * 64             # 50257 becomes 50304; the extra rows are never used
    head = nn.Linear(dim, vocab, bias=False)`,
	FixC: `
Pad leading dimensions to 16 bytes (lda, ldb, ldc multiples of 8 elements) when the buffers are allocated.`,
	Confirm:   `The GEMM's kernel no longer has align1, align2 or align4 in its name, and takes less time.`,
	RefutedBy: `The padded GEMM takes as long: it is memory-bound.`,
	Check:     checkMisalignedShapes,
}

// likeSize is how many times larger or smaller a product may be to be compared with: larger ones reach more of the
// peak.
const likeSize = 4

// alignKernel is 16-bit products that make do with less than 16 bytes, by their names: f16 or bf16, s16816 or h884
// and so on, then align1.
var alignKernel = regexp.MustCompile(`(?i)(s16816|s1688|s884|h884|h1688|h16816|f16|wgmma).*_(align[ac]?)(1|2|4)\b`)

// tf32Kernel is products in TF32: 4 elements are their 16 bytes.
var tf32Kernel = regexp.MustCompile(`(?i)tf32|_s1688gemm_\d`)

func checkMisalignedShapes(c *Case, out *Findings) {
	products := c.halfProducts()
	loss := c.misaligned(products, c.alignedLess())
	if len(loss.rows) == 0 {
		if !hasText(c.Trace.Ops.Shapes) && c.shareOfStep(c.unionNs(c.mayBeMisaligned())) >= minWorkShare {
			out.Cannot("the capture has 16-bit GEMMs, but not their dimensions", needShapes.Name, needShapes.Try)
		}
		return
	}
	if c.perStep(int64(loss.ns)) < minWorkShare*c.StepNs {
		return
	}
	confidence := 0.6
	if loss.compared {
		confidence = 0.8
	}
	f := out.Add(confidence, c.perStep(int64(loss.mostNs)),
		"%s per step in FP16/BF16 with dimensions that are not multiples of %d take %s of %s",
		several(float64(len(loss.rows))*c.PerStep, "GEMM", "GEMMs"), alignElements,
		ms(c.perStep(c.unionNs(loss.rows))), ms(c.StepNs))
	if len(loss.why) > 0 {
		f.Because("sizes, most time lost first", loss.why...)
	}
	if 2*loss.batchedNs > loss.ns {
		f.Fix = padBatched
	}
	text := "kernels of these GEMMs"
	if loss.compared {
		text += "; as aligned ones they would take about " + ms(c.perStep(int64(loss.ns))) + " less per step"
	}
	f.Because(text, c.kernelRows(loss.rows)...)
	if name := c.onlyTheirs(loss.rows); name != "" && loss.compared {
		f.Repair(fmt.Sprintf("scale:%s=%.2f", name, 1-loss.ns/max(1, float64(c.sumNs(loss.rows)))))
	}
}

// padBatched is the fix where most is lost in products of batches, as attention makes them: no weight can be padded.
const padBatched = `
Batched GEMMs lose most: sizes are those of activations, such as a sequence and a head, not of weights. Pad the sequence
to a multiple of 8 and mask what is added, or leave such GEMMs to a fused kernel, which pads by itself:

    x = F.pad(x, (0, 0, 0, -x.shape[1] % 8))          # tokens; mask them in attention
    o = F.scaled_dot_product_attention(q, k, v)       # in place of softmax(q @ k.mT / d**0.5) @ v`

// batched is products of batches of matrices.
var batched = regexp.MustCompile(`^aten::(bmm|baddbmm)\b`)

// A misalignment is what products with misaligned sizes lose, over the window.
type misalignment struct {
	rows      []int32
	why       []string // their sizes, most time lost first
	ns        float64  // about what aligned ones would take less; their whole time where nothing tells
	batchedNs float64  // of that, in products of batches
	mostNs    float64  // at most
	compared  bool     // there is something to compare each with
}

// alike is products of one operator and size.
type alike struct {
	text   string
	n      int
	lostNs float64
}

// misaligned judges products by their sizes, and those of less by their kernels' names.
func (c *Case) misaligned(products []matrixProduct, less []int32) (x misalignment) {
	x.compared = true
	named := make(map[int32]bool)
	for _, r := range less {
		named[r] = true
	}
	var clean []matrixProduct
	for _, p := range products {
		if p.align == alignClean && !named[p.row] {
			clean = append(clean, p)
		}
	}
	seen := make(map[string]*alike)
	for _, p := range products {
		if p.align != alignWrong && !named[p.row] {
			continue
		}
		delete(named, p.row)
		x.rows = append(x.rows, p.row)
		usual, best := c.alignedNs(p, clean)
		text := p.op + " " + p.sizes
		if seen[text] == nil {
			seen[text] = &alike{text: text}
		}
		seen[text].n++
		seen[text].lostNs += max(0, p.ns-usual)
		if batched.MatchString(p.op) {
			x.batchedNs += max(0, p.ns-usual)
		}
		x.ns, x.mostNs = x.ns+max(0, p.ns-usual), x.mostNs+max(0, p.ns-best)
		x.compared = x.compared && usual > 0
	}
	for _, r := range less {
		if named[r] {
			x.rows, x.compared = append(x.rows, r), false
			x.ns, x.mostNs = x.ns+float64(c.durNs(r)), x.mostNs+float64(c.durNs(r))
		}
	}
	most := slices.SortedFunc(maps.Values(seen), func(a, b *alike) int {
		return cmp.Or(cmp.Compare(b.lostNs, a.lostNs), cmp.Compare(a.text, b.text))
	})
	for _, a := range most[:min(len(most), maxRows)] {
		x.why = append(x.why, fmt.Sprintf("%s, %s per step", a.text, number(float64(a.n)*c.PerStep)))
	}
	return x
}

// alignedNs is how long a product would take with aligned sizes, and how long at best; 0: nothing tells.
func (c *Case) alignedNs(p matrixProduct, clean []matrixProduct) (usual, best float64) {
	rate := 0.0 // FLOPs a nanosecond
	for _, q := range clean {
		if q.flops < likeSize*p.flops && p.flops < likeSize*q.flops {
			rate = max(rate, q.flops/max(1, q.ns))
		}
	}
	peak, known := c.peak()
	switch {
	case rate > 0 && known:
		return p.flops / rate, p.flops / max(rate, max(peak.BF16, peak.FP16)*1e3)
	case rate > 0:
		return p.flops / rate, 0
	case !known || max(peak.BF16, peak.FP16) == 0:
		return 0, 0
	}
	atPeak := p.flops / (max(peak.BF16, peak.FP16) * 1e3)
	return atPeak / peak.MatrixShare(atPeak/1e3).Mid, atPeak
}

// alignedLess is the products whose kernels' names say that they make do with less than 16 bytes.
func (c *Case) alignedLess() []int32 {
	var out []int32
	lessAligned, tf32 := c.saying(alignKernel.MatchString), c.saying(tf32Kernel.MatchString)
	for _, l := range c.lanes() {
		for _, r := range l {
			if !matrixWork(c.kind(r)) || c.kind(r).FP32 {
				continue
			}
			if name := c.kernelName(r); lessAligned(name) && !tf32(name) {
				out = append(out, r)
			}
		}
	}
	return out
}

// alignedKernel is products whose names say that rows are aligned: nvjet loads by TMA, which takes multiples of 16
// bytes only.
var alignedKernel = regexp.MustCompile(`(?i)nvjet|align[ac]?(8|16)\b`)

// mayBeMisaligned is the products that are not in FP32 and whose names do not tell the alignment of their operands.
func (c *Case) mayBeMisaligned() []int32 {
	var out []int32
	aligned := c.saying(alignedKernel.MatchString)
	for _, l := range c.lanes() {
		for _, r := range l {
			if k := c.kind(r); k.Class == facts.ClassGEMM && !k.FP32 && !aligned(c.kernelName(r)) {
				out = append(out, r)
			}
		}
	}
	return out
}

// onlyTheirs is an expression for the names of these kernels, if no other kernel of the capture has one of them, or "".
func (c *Case) onlyTheirs(rows []int32) string {
	mine := make(map[int32]bool)
	for _, r := range rows {
		mine[r] = true
	}
	names := make(map[string]bool)
	for _, g := range c.byKernel(rows) {
		names[c.Trace.Strings.Text(g.name)] = true
	}
	for _, l := range c.lanes() {
		for _, r := range l {
			if c.isKernel(r) && !mine[r] && names[c.Trace.Strings.Text(c.kernelName(r))] {
				return ""
			}
		}
	}
	var list []string
	for name := range names {
		list = append(list, regexp.QuoteMeta(name))
	}
	slices.Sort(list)
	return "^(" + strings.Join(list, "|") + ")$"
}
