package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/timeline/facts"
)

var prefillStallsDecode = Rule{
	ID:       "prefill_stalls_decode",
	Title:    "Prompts make running requests wait",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
Prompts are read in steps of their own, or in the same steps in which running requests get their tokens. Either way
the running requests wait longer for a token than in plain decode steps.

The rule looks at the time from one step that gives running requests a token to the next. It is stalled where a prompt
is read in it and it takes 1.5 times the median decode step of about that batch, or more. The rule fires where 10 % of
the tokens of running requests come out of stalled intervals. It prices nothing: throughput may be as it should be;
what suffers is the time between tokens.`,
	Limits: `
A server that is judged by throughput alone wants large prefills. Engines that decode and prefill on different GPUs
show nothing of this. Where the capture has no plain decode step of that batch nothing is compared.`,
	Fix: `
Read prompts in smaller chunks, beside the running requests:

    vllm serve MODEL --max-num-batched-tokens 2048
    python -m sglang.launch_server --model MODEL --chunked-prefill-size 2048 --enable-mixed-chunk
    max_num_tokens: 2048                      # TensorRT-LLM, with enable_chunked_prefill: true

or prefill on other GPUs than those that decode.`,
	Confirm:   `The 99th percentile of the time between tokens comes closer to the median.`,
	RefutedBy: `The stalled tokens belong to the first seconds of a load test, in which all prompts come at once.`,
	Check:     checkPrefillStallsDecode,
}

const (
	stalledRatio = 1.5 // times the median decode step
	stalledShare = 0.1 // of the tokens of running requests
)

func checkPrefillStallsDecode(c *Case, out *Findings) {
	e := c.engine()
	if e == nil {
		return
	}
	usual := decodeMedians(c, e)
	var tokens, stalled int64
	var late, plain []int64 // intervals
	worst, worstNs := 0, int64(0)
	last, prompt := -1, false // the step that gave tokens last, and whether a prompt was read since it began
	for i := range e.Each {
		x := &e.Each[i]
		if gives := x.Kind == facts.KindDecode || x.Kind == facts.KindMixed; gives {
			if last >= 0 {
				ns, running := c.Steps.All[i].StartNs-c.Steps.All[last].StartNs, min(e.Each[last].Decode, x.Decode)
				median := usual(e.Each[last].Decode)
				switch {
				case running <= 0 || median == 0: // nothing to compare with
				case prompt && float64(ns) >= stalledRatio*float64(median):
					tokens, stalled, late = tokens+running, stalled+running, append(late, ns)
					if ns > worstNs {
						worst, worstNs = last, ns
					}
				default:
					tokens, plain = tokens+running, append(plain, ns)
				}
			}
			last, prompt = i, false
		}
		prompt = prompt || x.Kind == facts.KindPrefill || x.Kind == facts.KindMixed
		if x.Open {
			last = -1
		}
	}
	if stalled == 0 || float64(stalled) < stalledShare*float64(tokens) || len(plain) == 0 {
		return
	}
	slow, fast := float64(medianInt(late)), float64(medianInt(plain))
	f := out.Add(0.8, 0, "Prompts make running requests wait: %.0f %% of their tokens come after %s instead of %s",
		100*float64(stalled)/float64(tokens), ms(slow), ms(fast))
	f.Because(fmt.Sprintf("%d of %d intervals between two steps that give tokens hold a prompt and take %.1f times the "+
		"median decode step or more", len(late), len(late)+len(plain), stalledRatio),
		fmt.Sprintf("longest: %s from step %d on, %d tokens of prompts", ms(float64(worstNs)), worst,
			promptsBehind(e, worst)))
}

// promptsBehind is the tokens of prompts that are read from a step on, before the next that gives tokens alone.
func promptsBehind(e *facts.EngineSteps, from int) (n int64) {
	for i := from; i < len(e.Each); i++ {
		x := &e.Each[i]
		if i > from && (x.Kind == facts.KindDecode || x.Kind == facts.KindMixed) {
			break
		}
		n += max(0, x.PrefillTokens)
	}
	return n
}

// decodeMedians is the median length of plain decode steps with about as many running requests; 0: there are none.
func decodeMedians(c *Case, e *facts.EngineSteps) func(running int64) int64 {
	byBucket := make(map[int64][]int64)
	for i := range e.Each {
		if x := &e.Each[i]; x.Kind == facts.KindDecode && !x.Open {
			b := facts.BucketOf(x.Decode)
			byBucket[b] = append(byBucket[b], c.Steps.All[i].LenNs())
		}
	}
	return func(running int64) int64 { return medianInt(slices.Clone(byBucket[facts.BucketOf(running)])) }
}
