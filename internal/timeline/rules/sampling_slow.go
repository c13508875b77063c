package rules

import (
	"fmt"
	"regexp"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

var samplingSlow = Rule{
	ID:    "sampling_slow",
	Title: "Sampling tokens takes long after the logits",
	Since: "0.3",
	Doc: `
A decode step of a serving engine ends with a product of matrices that makes the logits; behind it tokens are sampled
from them. That is a few kernels and one small copy: 1 to 3 % of a step. Penalties, logprobs, filters by sorting and
structured output make it more, and each value that the host looks at drains the GPU.

The rule takes what lies between the end of the last product or attention kernel of a step and the end of its last GPU
work. It fires where that is 5 % of the decode steps or more, if 80 % of the GPU time in it is in kernels that are not
products: sampling, sorting, reductions, copies.`,
	Limits: `
Graphs that are recorded as a whole hide where the logits end. Kernels of products that have a name of their own are
not recognised: where they could be part of what is counted, the rule is silent.`,
	Fix: `
Sample on the GPU, without values that the host must see:

    top_p, top_k and min_p by a fused kernel (flashinfer sampling in vLLM and SGLang)
    no logprobs, penalties or custom logits processors for requests that do not need them
    the tokens in one copy, read behind an event after the next step is launched`,
	FixC:      `One fused sampling kernel, one copy to pinned memory, and an event instead of a synchronization.`,
	Confirm:   `Between the last product of a decode step and its end lie a few kernels and no wait.`,
	RefutedBy: `With greedy sampling and no logprobs the step takes as long.`,
	Check:     checkSamplingSlow,
}

const (
	samplingShare = 0.05 // of the step: sampling by argmax takes 0.5 to 3 % of decode steps (corpus)
	samplingKnown = 0.8  // of the GPU time behind the last known product
)

// samplers is parts of names of kernels that sample, beside those whose kind says that they are no products.
var samplers = regexp.MustCompile(`(?i)sampl|top_?[kp]|min_?p|argmax|sort|cumsum|scan|multinomial|softmax|scatter|` +
	`gather|index|copy|fill|reduce|elementwise|token|logit|penalt|where|random|exponential`)

// A sampling is what lies behind the logits of a decode step, on the mean device.
type sampling struct{ total, idle *tally }

// samplingOf measures it; false: not every step shows where the logits end.
func (c *Case) samplingOf() (s sampling, known bool) {
	each, w := c.engine().Each, c.work()
	s = sampling{c.newTally(), c.newTally()}
	ends := make([]int64, c.Steps.Last-c.Steps.First)
	var workNs, ownNs int64
	for _, l := range c.lanes() {
		for _, r := range l {
			if i := c.stepAt(w.StartNs[r]); i >= 0 && c.isKernel(r) && matrixWork(c.kind(r)) {
				ends[i] = max(ends[i], w.EndNs[r])
			}
		}
	}
	for i, end := range ends {
		last := each[c.Steps.First+i].LastNs
		if end == 0 || end > last {
			return s, false
		}
		s.total.add(end, float64(last-end))
		tail := interval.Span{StartNs: end, EndNs: last}
		for _, b := range c.Budgets {
			s.idle.add(end, float64(overlapNs(b.Idle, tail))/c.deviceCount())
		}
	}
	for _, l := range c.lanes() {
		for _, r := range l {
			if i := c.stepAt(w.StartNs[r]); i < 0 || w.StartNs[r] < ends[i] {
				continue
			}
			workNs += c.durNs(r)
			if !c.isKernel(r) || c.kind(r).Class != facts.ClassOther ||
				samplers.MatchString(c.Trace.Strings.Text(c.kernelName(r))) {
				ownNs += c.durNs(r)
			}
		}
	}
	return s, float64(ownNs) >= samplingKnown*float64(workNs)
}

func checkSamplingSlow(c *Case, out *Findings) {
	if !c.decodes() {
		return
	}
	s, known := c.samplingOf()
	if !known || s.total.share() < samplingShare || !s.total.usual() {
		return
	}
	waits := c.newTally()
	calls := &c.Trace.Calls
	each, w := c.engine().Each, c.work()
	launched := make(map[int]int64) // by step, when the last product was launched
	for _, l := range c.lanes() {
		for _, r := range l {
			if i := c.stepAt(w.StartNs[r]); i >= 0 && c.isKernel(r) && matrixWork(c.kind(r)) && w.Call[r] >= 0 {
				launched[i] = max(launched[i], calls.StartNs[w.Call[r]])
			}
		}
	}
	for _, row := range c.Facts.BlockingCalls() {
		i := c.stepAt(calls.StartNs[row])
		if i >= 0 && calls.StartNs[row] > launched[i] && calls.StartNs[row] < each[c.Steps.First+i].LastNs {
			waits.add(calls.StartNs[row], 1)
		}
	}
	f := out.Add(0.75, s.total.perStep(), "Sampling takes %s of %s behind the logits", ms(s.total.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("between the last product of a step and the end of its last GPU work lie %s (%.1f %% of the "+
		"step), in %s of which the GPU is idle", ms(s.total.perStep()), 100*s.total.share(), ms(s.idle.perStep())))
	if n := waits.median(); n >= 2 {
		f.Because(fmt.Sprintf("the host waits for the GPU %s there per step", times(n)))
		f.Repair("drop-syncs")
	}
}
