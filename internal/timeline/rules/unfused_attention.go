package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var unfusedAttention = Rule{
	ID:    "unfused_attention",
	Title: "Unfused attention: scores go through DRAM",
	Since: "0.1",
	Needs: []Need{needWork},
	Doc: `
A softmax between two GEMMs, with only pointwise kernels, casts, masks and copies between them, is unfused
attention: the scores, which grow with the square of the sequence length, are written to DRAM and read back several
times. A fused kernel never stores them. Backward has the same pattern around the softmax's backward kernel.

At most the whole time of these stretches can be saved; a fused kernel still computes the GEMMs. Threshold: 3 % of
the step.`,
	Limits: `
A softmax over classes is left out if it is the log-softmax of a loss, if other kernels (a loss, an argmax) come
before the next GEMM, or if that GEMM belongs to the next step. Masks and biases that no fused kernel supports are
not recognized. Attention over a few tokens gains little.`,
	Fix: `
Let PyTorch choose a fused kernel:

    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)   # in place of softmax(q @ k.mT / d**0.5) @ v`,
	FixC:      `FlashAttention, cuDNN's fused attention (its graph API), or xFormers' memory-efficient kernels.`,
	Confirm:   `One kernel named flash, fmha or sdpa replaces GEMMs, mask and softmax. Peak memory falls too.`,
	RefutedBy: `The program needs the scores themselves (attention maps), or no fused kernel supports the mask.`,
	Check:     checkUnfusedAttention,
}

// maxAround is how many kernels may stand between a product and the softmax: scaling, mask (made on the way:
// fill, triangle, negation), bias, casts, dropout, copies that make operands contiguous.
const maxAround = 10

func checkUnfusedAttention(c *Case, out *Findings) {
	regions := c.attentions()
	var all, between []int32
	backward := 0
	for _, region := range regions {
		all = append(all, region...)
		between = append(between, region[1:len(region)-1]...)
		for _, r := range region {
			if k := c.kind(r); k.Class == facts.ClassSoftmax && k.Backward {
				backward++
			}
		}
	}
	ns := c.unionNs(all)
	if c.shareOfStep(c.unionNs(between)) < minWorkShare {
		return
	}
	f := out.Add(0.9, c.perStep(ns), "Unfused attention %s times per step: %s of %s, of which %s around the GEMMs",
		number(float64(len(regions))*c.PerStep),
		ms(c.perStep(ns)), ms(c.StepNs), ms(c.perStep(c.unionNs(between))))
	f.Because(fmt.Sprintf("a softmax between two GEMMs, %s times per step (%s of them in backward)",
		number(float64(len(regions))*c.PerStep), number(float64(backward)*c.PerStep)), c.regionRows(regions)...)
	f.Because("kernels between the GEMMs, which move the scores", c.kernelRows(between)...)
	f.Repair("fuse-attention")
}

func (c *Case) regionRows(regions [][]int32) []string {
	var out []string
	for _, region := range regions[:min(len(regions), 3)] {
		out = append(out, fmt.Sprintf("%d kernels from %s, %s", len(region), c.startText(region[0]),
			ms(float64(c.sumNs(region)))))
	}
	return out
}

// attentions is the stretches from a product of matrices over a softmax to the next product, within a step.
func (c *Case) attentions() [][]int32 {
	var out [][]int32
	for _, rows := range c.lanes() {
		for i, r := range rows {
			k := c.kind(r)
			if k.Class != facts.ClassSoftmax || k.Log {
				continue
			}
			from, to := c.product(rows, i, -1), c.product(rows, i, +1)
			if from >= 0 && to >= 0 && c.sameStep(rows[from], rows[to]) {
				out = append(out, rows[from:to+1])
			}
		}
	}
	return out
}

// product is the position of the next product of matrices from i on, in direction by, or -1 if other work comes first.
func (c *Case) product(rows lane, i, by int) int {
	w := c.work()
	for n, k := 0, i+by; k >= 0 && k < len(rows) && n <= maxAround; n, k = n+1, k+by {
		switch c.kind(rows[k]).Class {
		case facts.ClassGEMM:
			return k
		case facts.ClassPointwise, facts.ClassCast, facts.ClassMove, facts.ClassMask, facts.ClassGEMMTail:
		default:
			if w.Kind[rows[k]] != facts.WorkSet && !c.staysOnDevice(rows[k]) {
				return -1
			}
		}
	}
	return -1
}

// staysOnDevice says whether a piece of work is a copy from device memory to device memory: a clone of a tensor.
func (c *Case) staysOnDevice(row int32) bool {
	w := c.work()
	return w.Kind[row] == facts.WorkCopy && c.Trace.Copies.Kind[w.Row[row]] == model.CopyDtoD
}
