package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lacuna/internal/facts"
	"lacuna/internal/flops"
	"lacuna/internal/model"
)

var misalignedShapes = Rule{
	ID:    "misaligned_shapes",
	Title: "Sizes of 16-bit matrix products are no multiples of 8",
	Since: "0.1",
	Needs: []Need{needKernels, needSteps},
	Doc: `
Tensor cores are fed 16 bytes at once: of 16-bit types, 8 elements. Where the row length of an operand or of the result is no
multiple of 8, the library takes a slower kernel or pads. Sizes come from the operators' shapes; without
shapes, from the names of cuBLAS' kernels, which say the alignment that they make do with (align1, align2, align4).

What it costs is taken from the capture: the time of such products beyond what they would take at the rate of its best product
with aligned sizes that is no more than 4 times larger or smaller. Without one a quarter of their time is taken, as an
upper bound, and no repair is offered. Raised from 3 % of the step.

Sources: NVIDIA, Matrix Multiplication Background User's Guide, "Tensor Core requirements" (16 bytes); the profiler's own
check of PyTorch (torch.profiler._pattern_matcher, Float16 sizes divisible by 8).`,
	Limits: `
Products of a few rows are limited by memory and gain nothing. A size of 1 (a vector) is left out. Kernels written by hand may
not care. Without strides tensors are taken to be dense.`,
	Fix: `
Round sizes up to a multiple of 8, better of 64:

    vocab = (vocab + 63) // 64 * 64             # 50257 becomes 50304; the rest of the table is never asked for
    head = nn.Linear(dim, vocab, bias=False)`,
	FixC:      `Pad leading dimensions to 16 bytes (lda, ldb, ldc multiples of 8 elements) when the buffers are allocated.`,
	Confirm:   `The kernel of the product no longer has align1, align2 or align4 in its name, and takes less time.`,
	RefutedBy: `The padded product takes as long: then it is limited by memory.`,
	Check:     checkMisalignedShapes,
}

const (
	alignElements = 8    // of 16 bits: 16 bytes
	likeSize      = 4    // how many times larger or smaller a product may be to be compared with: larger ones reach more of the peak
	unknownLoss   = 0.25 // share of a misaligned product's time that alignment saves, where the capture has nothing to compare with
)

// alignKernel is 16-bit products that make do with less than 16 bytes, by their names: f16 or bf16, s16816 or h884 and so on, then align1.
var alignKernel = regexp.MustCompile(`(?i)(s16816|s1688|s884|h884|h1688|h16816|f16|wgmma).*_(align[ac]?)(1|2|4)\b`)

// tf32Kernel is products in TF32: 4 elements are their 16 bytes.
var tf32Kernel = regexp.MustCompile(`(?i)tf32|_s1688gemm_\d`)

// A matrixProduct is a kernel that an operator with known sizes launched alone.
type matrixProduct struct {
	row     int32
	op      string
	sizes   string
	aligned bool
	flops   float64
	ns      float64
}

func checkMisalignedShapes(c *Case, out *Findings) {
	products := c.halfProducts()
	var rows []int32
	var why []string
	lostNs, compared := 0.0, false
	if len(products) > 0 {
		rows, why, lostNs, compared = c.misaligned(products)
	} else if rows = c.alignedLess(); len(rows) > 0 {
		lostNs = unknownLoss * float64(c.sumNs(rows))
	} else if !hasText(c.Trace.Ops.Shapes) && c.shareOfStep(c.unionNs(c.mayBeMisaligned())) >= minWorkShare {
		out.Cannot("the capture has products in 16 bits, but not their sizes", needShapes.Name, needShapes.Try)
		return
	}
	perStep := c.perStep(int64(lostNs))
	if perStep < minWorkShare*c.StepNs {
		return
	}
	f := out.Add(0.75, perStep, "%s in 16 bits a step have sizes that are no multiple of %d: %s of %s", several(float64(len(rows))*c.PerStep, "product", "products"), alignElements, ms(c.perStep(c.unionNs(rows))), ms(c.StepNs))
	if len(why) > 0 {
		f.Because("sizes", why...)
	}
	f.Because(fmt.Sprintf("kernels of these products; as aligned ones they would take about %s less a step", ms(perStep)), c.kernelRows(rows)...)
	if name := c.onlyTheirs(rows); name != "" && compared {
		f.Repair(fmt.Sprintf("scale:%s=%.2f", name, 1-lostNs/max(1, float64(c.sumNs(rows)))))
	}
}

// misaligned is the products with misaligned sizes, in words too, and what they lose against aligned ones; compared: there
// is an aligned one to compare each with.
func (c *Case) misaligned(products []matrixProduct) (rows []int32, why []string, lostNs float64, compared bool) {
	seen := make(map[string]int)
	compared = true
	for _, p := range products {
		if p.aligned {
			continue
		}
		ns, best := float64(c.durNs(p.row)), bestRate(products, p.flops)
		if best > 0 && ns > 0 {
			lostNs += max(0, ns-p.flops/best)
		} else {
			lostNs, compared = lostNs+unknownLoss*ns, false
		}
		rows = append(rows, p.row)
		seen[p.op+" "+p.sizes]++
	}
	for text, n := range seen {
		why = append(why, fmt.Sprintf("%s, %s a step", text, number(float64(n)*c.PerStep)))
	}
	slices.Sort(why)
	return rows, why[:min(len(why), maxRows)], lostNs, compared
}

// bestRate is the most FLOPs a nanosecond of an aligned product of about as many FLOPs; 0: there is none.
func bestRate(products []matrixProduct, flops float64) float64 {
	best := 0.0
	for _, p := range products {
		if p.aligned && p.flops < likeSize*flops && flops < likeSize*p.flops {
			best = max(best, p.flops/max(1, p.ns))
		}
	}
	return best
}

// halfProducts is the products in 16 bits whose operator's sizes are recorded and which that operator launched alone.
func (c *Case) halfProducts() []matrixProduct {
	t, w, ops := c.Trace, c.work(), c.Facts.WorkOps()
	if !hasText(t.Ops.Shapes) || len(t.Ops.Types) == 0 {
		return nil
	}
	alone := make(map[int32]int32) // the only product that an operator launched, or -1
	for _, l := range c.lanes() {
		for _, r := range l {
			if op := ops[r]; op != facts.NotNested && c.kind(r).Class == facts.ClassGEMM {
				if _, more := alone[op]; more {
					r = -1
				}
				alone[op] = r
			}
		}
	}
	sized := make(map[[3]model.StringID]matrixProduct) // by operator, shapes and types; no FLOPs: not judged
	var out []matrixProduct
	for i := range int32(w.Len()) {
		op := ops[i]
		if op == facts.NotNested || c.kind(i).Class != facts.ClassGEMM || alone[op] != i {
			continue
		}
		key := [3]model.StringID{t.Ops.Name[op], t.Ops.Shapes[op], t.Ops.Types[op]}
		p, known := sized[key]
		if !known {
			p = halfProduct(t.Strings.Text(key[0]), t.Strings.Text(key[1]), t.Strings.Text(key[2]))
			sized[key] = p
		}
		if p.flops > 0 {
			p.row, p.ns = i, float64(c.durNs(i))
			out = append(out, p)
		}
	}
	return out
}

// halfProduct is a product in 16 bits by its operator's name, shapes and types; no FLOPs: it is none, or leaves a size open.
func halfProduct(name, shapes, types string) matrixProduct {
	work, why := flops.Of(flops.Op{Name: name, Shapes: shapes, Types: types})
	if why != flops.Known || work.Family != flops.Matmul || work.Dtype.Bytes() != 2 {
		return matrixProduct{}
	}
	aligned, sizes, ok := alignedSizes(shapes)
	if !ok {
		return matrixProduct{}
	}
	return matrixProduct{op: name, sizes: sizes, aligned: aligned, flops: work.FLOPs}
}

// alignedSizes says whether the last sizes of a product's two matrices, which are their rows' and the result's lengths in
// memory, are multiples of alignElements. Of a transposed operand it is the other size: both must be.
func alignedSizes(shapes string) (aligned bool, sizes string, ok bool) {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(shapes), &raw) != nil {
		return false, "", false
	}
	aligned = true
	var text []string
	for _, r := range raw {
		var dims []int64
		if json.Unmarshal(r, &dims) != nil || len(dims) < 2 {
			continue
		}
		inner := dims[len(dims)-2:]
		if inner[0] == 1 || inner[1] == 1 {
			return false, "", false // a vector
		}
		text = append(text, fmt.Sprintf("%dx%d", inner[0], inner[1]))
		aligned = aligned && inner[1]%alignElements == 0
	}
	return aligned, strings.Join(text, " by "), len(text) >= 2
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

// alignedKernel is products whose names say that rows are aligned: nvjet loads by TMA, which takes multiples of 16 bytes only.
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
