package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var hostLoader = Rule{
	ID:    "host_loader",
	Title: "Loading data takes the host's time",
	Since: "0.3",
	Doc: `
Of a capture without GPU work: the share of the host's time in ranges of a DataLoader, or in ranges of the program that
are named like loading, with all that runs inside them. A DataLoader without workers makes its batches on the thread
that asks for them, and the model waits; one with workers is waited for. Threshold: 5 % of the step, from which XProf
calls a program input-bound.`,
	Limits: `
What a GPU does meanwhile is not recorded: where it still has work queued, loading costs less than it takes, so the gain
is a bound. The first batch is slower than the next ones. Loaders that mark nothing are not seen.`,
	Fix: `
Make batches in background workers, ahead of the step:

    loader = DataLoader(dataset, batch_size=64, num_workers=12,
                        prefetch_factor=2, persistent_workers=True)

Convert and resize the data once, before the training, where every epoch does the same to it.`,
	FixC:      `Make the next batch on other threads into a ring of buffers while this one is worked on.`,
	Confirm:   `The loader's range takes next to nothing of the step.`,
	RefutedBy: `The step does not get shorter when the same batch is used again in every step.`,
	Check:     checkHostLoader,
}

func checkHostLoader(c *Case, out *Findings) {
	if !c.hostOnly() {
		return
	}
	o := c.Facts.OpTree()
	for _, p := range c.hostParts(func(i int) string {
		if o.Kind[i] != facts.HostRange || c.Trace.Ranges.Kind[o.Row[i]] == model.RangeProfiler {
			return ""
		}
		name := c.hostName(i)
		// a name with a scope is a function's of a framework: Stage::runInputDist loads nothing
		user := c.Facts.RangeClasses()[o.Row[i]] == facts.RangeUser && !strings.Contains(name, "::")
		if strings.Contains(name, loaderRange) || user && saysLoading(name) {
			return name
		}
		return ""
	}) {
		if c.Share(p.ns) < minHostShare {
			continue
		}
		how := "in " + p.name
		switch {
		case strings.Contains(p.name, workersLoader):
			how = "waiting for the loader's workers"
		case strings.Contains(p.name, loaderRange):
			how = "on the thread that asks for the batch"
		}
		perStep := c.hostPerStep(p.ns)
		f := out.Add(0.9, perStep, "Loading data takes %s of %s per step (%s), %s", ms(perStep), ms(c.StepNs),
			c.shareOfHost(p.ns), how)
		inside, unnamed := c.inside(p.events)
		text := fmt.Sprintf("in %s, %s per step, with all that runs inside it", p.name, times(float64(p.n)*c.PerStep))
		if 2*unnamed > p.ns {
			text += fmt.Sprintf("; for %s it runs no operator: reading, decoding, Python", ms(c.hostPerStep(unnamed)))
		}
		f.Because(text, c.partRows(inside, 3)...)
		if once := onceWords(p.n, "batch"); once != "" {
			f.Because(once)
		}
	}
}
