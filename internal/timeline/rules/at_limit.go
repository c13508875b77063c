package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var atLimit = Rule{
	ID:       "at_limit",
	Title:    "The GPU is busy with efficient kernels: nothing worth fixing was found",
	Since:    "0.1",
	Standing: Limit,
	Needs:    []Need{needWork},
	Doc: `
The GPU is idle for at most 7 % of the step, exposed copies and communication take at most 5 %, kernels take 10 µs
or more on average, at least 70 % of the time is in kernels known to use the GPU well (GEMMs and convolutions on
tensor cores, fused attention, normalization, softmax, reductions, pointwise kernels, multi-tensor kernels), and no
rule about kernels finds more than 5 % of the step. The finding then says what bounds the step: tensor cores or
memory bandwidth.

It is a verdict, not a fault. What is left is another algorithm, another precision or another GPU.`,
	Limits: `
Hand-written kernels are not known to be efficient: where they take much of the time the rule is silent. A GEMM of
an unlucky shape may be slow although its kernel is a good one: lacuna stats -r op_roofline shows that, where shapes
are recorded. CUDA graphs recorded at graph level hide their kernels. Of a serving engine's step with no step behind it
the idle time between steps is not known, and the rule is silent.`,
	Fix: `
Nothing in this loop. What is left changes the program:

    lower precision where the GPU has it, a larger batch, a smaller model, or more GPUs`,
	FixC:      `Nothing in this loop.`,
	Confirm:   `Clocks and power are as high as the GPU allows under this load (nvidia-smi -q -d CLOCK,POWER).`,
	RefutedBy: `lacuna stats -r op_roofline shows operators with much time far below their roofline.`,
	After:     aboutKernels,
	Check:     checkAtLimit,
}

// aboutKernels is the rules that find kernels which do not use the device well.
var aboutKernels = []*Rule{
	&dominantKernel, &dtypeCastChurn, &fewBlocks, &layoutConversion, &loopedOptimizer, &misalignedShapes,
	&tensorCoresIdle, &unfusedAttention, &unfusedElementwise,
}

const (
	maxLimitIdle = 0.07   // of the step: launches and synchronisation at its end cost healthy loops 1 to 5 % (corpus)
	maxLimitMove = 0.05   // copies and communication that nothing hides
	minLimitMean = 10_000 // ns: shorter kernels are bound by launches and latency rather than by units
	minLimitGood = 0.70   // of the kernels' time, in kernels known to be efficient
	worthFixing  = 0.05   // of the step, from which a finding of another rule is worth more than this verdict
)

func checkAtLimit(c *Case, out *Findings) {
	if c.endsUnknown() {
		return // how long the GPU waits between two steps is not known
	}
	var idle, move, compute int64
	for _, b := range c.Budgets {
		idle, move, compute = idle+b.IdleNs, move+b.CommExposedNs+b.CopyNs, compute+b.ComputeNs
	}
	if c.shareOfStep(idle) > maxLimitIdle || c.shareOfStep(move) > maxLimitMove || c.kernelFaults(out) {
		return
	}
	var good, matrix, all, kernels int64
	for _, l := range c.lanes() {
		for _, r := range l {
			if !c.isKernel(r) {
				continue
			}
			k := c.kind(r)
			kernels++
			all += c.durNs(r)
			if matrixWork(k) {
				matrix += c.durNs(r)
			}
			if efficient(k) {
				good += c.durNs(r)
			}
		}
	}
	if kernels == 0 || all/kernels < minLimitMean || float64(good) < minLimitGood*float64(all) {
		return
	}
	bound, part := "memory bandwidth", 1-float64(matrix)/float64(all)
	if 2*matrix > all {
		bound, part = "tensor cores", float64(matrix)/float64(all)
	}
	f := out.Add(0.8, 0, "GPU busy computing %.0f %% of the step, mostly bound by %s", 100*c.shareOfStep(compute),
		bound)
	f.Because(fmt.Sprintf("it is idle %.1f %% of the step, and %.1f %% is exposed data movement; kernels last %s "+
		"on average; %.0f %% of their time is bound by %s",
		100*c.shareOfStep(idle), 100*c.shareOfStep(move), ms(float64(all)/float64(kernels)), 100*part, bound))
}

// efficient says whether kernels of this kind are known to use the device well.
func efficient(k facts.KernelKind) bool {
	switch k.Class {
	case facts.ClassOther:
		return false
	case facts.ClassGEMM, facts.ClassConvolution:
		return !k.FP32
	}
	return true
}

// kernelFaults says whether a rule about kernels finds more than this verdict is worth.
func (c *Case) kernelFaults(out *Findings) bool {
	for _, r := range aboutKernels {
		for _, f := range out.Of(r) {
			if f.AtMostNs > worthFixing*c.StepNs {
				return true
			}
		}
	}
	return false
}
