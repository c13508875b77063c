package report

import (
	"lacuna/internal/facts"
	"lacuna/internal/model"
)

// addCapture adds what an input says about its own quality.
func addCapture(c *Capture, o *one) {
	t := o.f.Trace
	c.Events += t.Info.Events
	c.Dropped += t.Losses.Count(model.LossDropped)
	if c.Losses == nil {
		c.Losses, c.Warnings = []Loss{}, []string{}
	}
	for _, l := range t.Losses.All() {
		c.Losses = append(c.Losses, Loss{string(l.Code), l.Count, l.Example})
	}
	c.Warnings = append(c.Warnings, t.Warnings...)
	c.Warnings = append(c.Warnings, o.f.Trust().Warnings(&t.Info)...)
}

// abstained lists what a report would say and cannot, once for all inputs.
func abstained(all []*one) []Abstained {
	out := []Abstained{}
	none := func(has func(t *model.Trace) bool) bool {
		for _, o := range all {
			if has(o.f.Trace) {
				return false
			}
		}
		return true
	}
	noWork := none(func(t *model.Trace) bool { return t.Kernels.Len()+t.Copies.Len()+t.Sets.Len()+t.GraphRuns.Len() > 0 })
	switch {
	case noWork:
		out = append(out, Abstained{"budget", "the capture has no GPU work: what a GPU did cannot be told", "kernels and copies",
			"nsys profile --trace=cuda,nvtx, or ProfilerActivity.CUDA in torch.profiler"})
	case none(func(t *model.Trace) bool { return t.Calls.Len() > 0 }):
		out = append(out, Abstained{"idle_by_host", "no CUDA calls were recorded: why the GPU idled cannot be told", "CUDA runtime calls",
			"nsys profile --trace=cuda,nvtx, or ProfilerActivity.CPU beside CUDA in torch.profiler"})
	}
	if !noWork && all[0].steps.Source == facts.StepsNone {
		out = append(out, Abstained{"steps", "nothing marks a step, and no launches repeat like a loop: time per step cannot be told", "step markers",
			"torch.cuda.nvtx.range_push(f\"step_{i}\"), or prof.step() in torch.profiler, or --step-range NAME"})
	}
	return out
}
