package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

var decodeNotGraphed = Rule{
	ID:    "decode_not_graphed",
	Title: "Decode steps launch their kernels one by one",
	Since: "0.3",
	Doc: `
A decode step of a serving engine has hundreds of short kernels, the same ones in each step. Launched one by one they
keep the GPU waiting for the host; engines therefore capture a CUDA graph for each batch size and replay it.

The rule fires where less than 80 % of the kernel time of the decode steps comes from graphs and the GPU is idle for
5 % of the step or more between its kernels while the host launches. The replay launches the step's kernels as one graph.`,
	Limits: `
Engines fall back to single launches for batches above the largest captured size, for some attention backends, with
adapters, and where eager mode was asked for to profile: a capture made that way says nothing of production.`,
	Fix: `
Let the engine capture graphs for the batches that it runs:

    vllm serve MODEL                          # without --enforce-eager; --max-cudagraph-capture-size 512
    python -m sglang.launch_server --model MODEL --cuda-graph-max-bs 256      # without --disable-cuda-graph
    cuda_graph_config: {max_batch_size: 256}  # TensorRT-LLM, extra LLM API options`,
	FixC:      `Capture the step with cudaStreamBeginCapture for each batch size and launch it with cudaGraphLaunch.`,
	Confirm:   `One graph launch per decode step holds nearly all of its kernels.`,
	RefutedBy: `With graphs the step takes as long: the kernels themselves are the limit.`,
	After:     forbidGraphs,
	Check:     checkDecodeNotGraphed,
}

const (
	// minGraphShare is the share of a decode step's kernel time that graphs launch where the model's pass is captured:
	// 97 to 99 % in captures of engines that do so (corpus). What lies outside is sampling.
	minGraphShare = 0.80
	// minDecodeIdle is the share of the step that launching must cost, as in launch_bound.
	minDecodeIdle = minLaunchShare
)

// launchesInside is the idle time of decode steps while the host launches, before their last work: what comes behind is
// the host gap.
func (c *Case) launchesInside() *tally {
	t, each := c.newTally(), c.engine().Each
	for _, gaps := range c.starved().gaps {
		for _, g := range gaps {
			if i := c.stepAt(g.StartNs); i < 0 || g.StartNs >= each[c.Steps.First+i].LastNs {
				continue
			}
			c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, s interval.Span) {
				if c.Facts.CauseText(cause) == facts.CauseLaunch {
					t.add(s.StartNs, float64(s.LenNs())/c.deviceCount())
				}
			})
		}
	}
	return t
}

// notGraphed is the share of kernel time of the decode steps looked at that graphs launched; false: enough, or the GPU
// does not wait for launches.
func (c *Case) notGraphed() (share, launches float64, ok bool) {
	if !c.decodes() || c.launchesInside().share() < minDecodeIdle {
		return 0, 0, false
	}
	serving := c.Facts.Serving(c.Steps)
	var kernelNs, graphNs, single int64
	for i := c.Steps.First; i < c.Steps.Last; i++ {
		kernelNs, graphNs = kernelNs+serving[i].KernelNs, graphNs+serving[i].GraphNs
		single += serving[i].Launches
	}
	if kernelNs == 0 {
		return 0, 0, false
	}
	share, launches = float64(graphNs)/float64(kernelNs), float64(single)*c.PerStep
	return share, launches, share < minGraphShare && launches >= minLaunches
}

func checkDecodeNotGraphed(c *Case, out *Findings) {
	share, launches, ok := c.notGraphed()
	if !ok {
		return
	}
	launching := c.launchesInside()
	f := out.Add(0.85, c.starved().total.perStep(), "Decode steps launch %s kernels one by one; the GPU is idle %s of %s "+
		"while the host launches", number(launches), ms(launching.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("%.0f %% of the kernel time comes from graphs; for %.1f %% of the step the GPU has nothing "+
		"queued while the host launches", 100*share, 100*launching.share()), c.launchRows(3)...)
	f.Repair("cuda-graph")
	for _, r := range forbidGraphs {
		if len(out.Of(r)) > 0 {
			f.First = r.ID
			break
		}
	}
}
