package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var backwardHeavy = Rule{
	ID:       "backward_heavy",
	Title:    "Backward takes far more than twice as long as forward",
	Since:    "0.1",
	Standing: CostsElse,
	Needs:    []Need{needKernels, needCalls, needSteps, needBackward},
	Doc: `
Backward runs two GEMMs for each GEMM of forward, and pointwise work grows about as much: backward kernels usually
take 1.5 to 2.5 times as long as forward kernels. Over 3 times there is a cause to look for: kernels without an
efficient backward (atomics, as in the backward of indexing and embedding), layouts that suit forward only, or
recomputation, which the rule recompute reports.

The finding says where to look. The gain of a fix is unknown.`,
	Limits: `
Needs a capture in which backward can be recognized. With activation checkpointing a ratio of 3 is usual: recomputed
kernels are taken out of backward first. Frozen layers make backward shorter, several losses on one forward make it
longer, and both may be intended.`,
	Fix: `
Look at the operators listed. Often another one has a better backward:

    emb = nn.Embedding(n, d, sparse=True)          # no dense gradient of the whole table
    y = x.index_select(0, i)                       # in place of x[i] with many equal indices`,
	FixC:      `Replace atomic additions in the gradient by sorting the indices and reducing the runs.`,
	Confirm:   `The kernels listed take less of backward. The ratio comes near 2.`,
	RefutedBy: `The model has several losses or second-order gradients: backward runs more than once per forward.`,
	Check:     checkBackwardHeavy,
}

// heavyBackward is how many times forward backward must take: transformers have 1.8 to 2.4 in the corpus, 2.3 with
// fused attention.
const heavyBackward = 3.0

func checkBackwardHeavy(c *Case, out *Findings) {
	times := c.passTimes()
	forward, backward := times[facts.PassForward], times[facts.PassBackward]
	if forward.computeNs == 0 || float64(backward.computeNs) < heavyBackward*float64(forward.computeNs) {
		return
	}
	again, _ := c.recomputed()
	againNs := c.unionNs(again)
	own := backward.computeNs - againNs
	if float64(own) < heavyBackward*float64(forward.computeNs) {
		return
	}
	excess := float64(own-2*forward.computeNs) * c.PerStep
	if excess < minWorkShare*c.StepNs {
		return
	}
	f := out.Add(0.6, excess, "Backward takes %.1f times as long as forward: %s against %s of GPU time",
		float64(own)/float64(forward.computeNs), ms(float64(own)*c.PerStep), ms(float64(forward.computeNs)*c.PerStep))
	var kernels []int32
	for _, r := range backward.rows {
		if c.isKernel(r) {
			kernels = append(kernels, r)
		}
	}
	f.Because("about twice is usual; backward kernels with most time", c.kernelRows(kernels)...)
	if againNs > 0 {
		f.Because(fmt.Sprintf("%s per step of recomputed forward kernels is not counted",
			ms(float64(againNs)*c.PerStep)))
	}
}
