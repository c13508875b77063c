package report

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// addCapture adds what an input says about its own quality. file and name are what its file and it are called in
// warnings where there are several; "": there is one.
func addCapture(c *Capture, o *one, file, name string) {
	t := o.f.Trace
	c.Events += eventsOf(t)
	for _, class := range o.f.RangeClasses() {
		if class == facts.RangeUser {
			c.Ranges++
		}
	}
	c.Dropped += t.Losses.Count(model.LossDropped)
	if c.Losses == nil {
		c.Losses, c.Warnings = []Loss{}, []string{}
	}
	for _, l := range t.Losses.All() {
		c.Losses = append(c.Losses, Loss{string(l.Code), l.Count, l.Example})
	}
	if why := o.f.NoWork(); c.NoGPUWork == "" {
		c.NoGPUWork = string(why)
	}
	if c.OtherDevice == "" && c.NoGPUWork == string(facts.WorkElse) {
		c.OtherDevice = o.f.OtherDevice()
	}
	u := o.f.Unrecorded()
	c.UnrecordedLaunches += u.Launches
	c.UnrecordedWaitMs += float64(u.WaitNs) / 1e6
	c.warn(file, t.Warnings)
	c.warn(name, slices.Concat(o.f.Trust().Warnings(&t.Info), o.narrow()))
}

// warn adds warnings about what has a name.
func (c *Capture) warn(name string, warnings []string) {
	for _, w := range warnings {
		if name != "" {
			w = name + ": " + w
		}
		c.Warnings = append(c.Warnings, w)
	}
}

// eventsOf is how many events were read; of a reader that does not count them, the rows of all tables.
func eventsOf(t *model.Trace) int64 {
	if t.Info.Events > 0 {
		return t.Info.Events
	}
	var n int64
	for _, table := range t.Tables() {
		n += int64(table.Len())
	}
	return n
}

// inputNames is what an input and its file are called among those of a job. Ranks that one file holds share its name.
func inputNames(info *model.Info, in []*facts.Facts) (file, name string) {
	if len(in) < 2 {
		return "", ""
	}
	name = info.Path
	if info.Rank >= 0 {
		name = fmt.Sprintf("rank %d", info.Rank)
	}
	alone, same := true, 0
	for _, f := range in {
		if f.Trace.Info.Path == info.Path {
			same++
		} else {
			alone = false
		}
	}
	switch {
	case same == 1:
		return name, name
	case alone:
		return "", name
	}
	return info.Path, name
}

// narrowShare is the share of the GPU work under which the steps are not what the capture is about.
const narrowShare = 0.2

// narrow warns of steps that hold little of the capture's GPU work.
func (o *one) narrow() []string {
	all := o.steps.All
	if !o.steps.Device || len(all) == 0 {
		return nil
	}
	share := o.f.WorkShare(interval.Span{StartNs: all[0].StartNs, EndNs: all[len(all)-1].EndNs})
	if share >= narrowShare {
		return nil
	}
	return []string{fmt.Sprintf("the steps hold %.0f %% of the capture's GPU work; the report covers only them",
		100*share)}
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
	noWork := none(func(t *model.Trace) bool {
		return t.Kernels.Len()+t.Copies.Len()+t.Sets.Len()+
			t.GraphRuns.Len() > 0
	})
	switch {
	case noWork:
		out = append(out, withoutWork(all[0].f))
	case none(func(t *model.Trace) bool { return t.Calls.Len() > 0 }):
		out = append(out, Abstained{"idle_by_host", AnswerLacks,
			"no CUDA calls were recorded: why the GPU was idle is unknown", "CUDA runtime calls",
			"lacuna record, nsys profile --trace=cuda,nvtx, or ProfilerActivity.CPU beside CUDA in torch.profiler"})
	}
	if !noWork && all[0].steps.Source == facts.StepsNone {
		out = append(out, Abstained{"steps", AnswerLacks,
			"nothing marks a step, and no launches repeat like a loop: time per step is unknown", "step markers",
			"torch.cuda.nvtx.range_push(f\"step_{i}\"), or prof.step() in torch.profiler, or --step-range NAME"})
	}
	return out
}
