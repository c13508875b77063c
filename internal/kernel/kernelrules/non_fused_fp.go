package kernelrules

import (
	"math"
	"strings"

	"lacuna/internal/kernel"
)

var nonFusedFP = Rule{
	ID:    "non_fused_fp",
	Title: "Non-fused FP: multiplies and adds that could be FMAs",
	Since: "0.2",
	Needs: []Need{needTime, needFP, needIssue},
	Doc: `
A fused multiply-add (FMA) computes a * b + c in one instruction. It is a finding when separate multiplies and adds
of one precision are each at least a tenth of the instructions, and arithmetic or issue limits the kernel (60 % or
more). The smaller of the two counts can be fused at most; where the report holds the machine code, the rule counts
adds that really use a product.

After the fix that many instructions are gone.`,
	Limits: `
Adds that do not use a product cannot be fused: without the code the finding is an upper bound, with lower
confidence. Products that reach an add through a branch, or that others use too, also in the next round
of a loop, are not counted. An FMA rounds once instead of twice:
results differ in the last bit.`,
	Fix: `
Let the compiler fuse (it does by default), or write it:

    y = fmaf(a, x, y);               // not __fadd_rn(__fmul_rn(a, x), y)
    nvcc --fmad=true                 // not --fmad=false`,
	RefutedBy: `The SASS shows that the adds do not use the products.`,
	Check:     checkNonFused,
}

const fusable = 0.1 // of the instructions: kernels whose adds and products are not chained show up to 8 %

func checkNonFused(c *Case, out *Findings) {
	if !c.limitedBy(kernel.Issue, kernel.FMA, kernel.Heavy, kernel.FP64) {
		return
	}
	for _, p := range []struct {
		add, mul, fma, words string
		pipe                 kernel.Resource
	}{{"fadd", "fmul", "ffma", "single", kernel.FMA}, {"dadd", "dmul", "dfma", "double", kernel.FP64}} {
		seconds := c.us() / 1e6
		add, mul, fused := known(c.ThreadOps(p.add))*seconds, known(c.ThreadOps(p.mul))*seconds,
			known(c.ThreadOps(p.fma))*seconds
		share := math.Min(add, mul) / lanesPerWarp / c.instructions()
		if !(share >= fusable) {
			continue
		}
		confidence, upper := 0.6, " at most"
		// The code says which sums use a product.
		if n := c.chained(strings.ToUpper(p.add), strings.ToUpper(p.mul)); n >= 0 {
			if share = math.Min(share, n); !(share >= fusable) {
				continue
			}
			confidence, upper = 0.9, ""
		}
		f := out.Add(confidence, "Non-fused FP: %s of the instructions are multiplies and adds of %s precision "+
			"that could be FMAs%s", percent(2*share), p.words, upper)
		f.Because("%s multiplies and %s adds by threads, and %s FMAs", digits(mul), digits(add), digits(fused))
		f.Because("instruction issue is at %s, the pipe at %s of its peak", percent(c.use(kernel.Issue)),
			percent(c.use(p.pipe)))
		f.Places = c.HotOpcodes(strings.ToUpper(p.add), strings.ToUpper(p.mul))
		pipe := math.Min(add, mul) / (add + mul + fused)
		c.expect(f, asNow().leave(1-share, kernel.Issue).leave(1-pipe, p.pipe, kernel.Heavy))
		return
	}
}
