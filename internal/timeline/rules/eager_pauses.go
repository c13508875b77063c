package rules

import (
	"cmp"
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// minEagerLaunches is how many pieces of work a step must issue to have pauses between them worth the name: with fewer
// a graph has nothing to join.
const minEagerLaunches = 4

// minPausesShare is the share of the step that the pauses must take: XProf calls launching that takes 15 % high. Below,
// most of them are the profiler's: one loop with 12 % under a profiler had 3 % without (recompute of the corpus).
const minPausesShare = 0.15

// fixEager is the fix where part of a step is eager: what is not in a graph.
const fixEager = `
Put the whole iteration into one graph, what is eager now (zero_grad, the loss, the optimizer) with the rest:

    graph = torch.cuda.CUDAGraph()             # after three warm-up steps on a side stream
    with torch.cuda.graph(graph):
        opt.zero_grad(set_to_none=True); loss = loss_fn(model(x), y); loss.backward(); opt.step()
    graph.replay()                             # per step, after x and y were copied into their places

torch.compile of the loss and of the optimizer's step, or a larger batch, makes the same pauses fewer.`

// eagerPauses finds steps in which the host is the limit without launching alone being longer than the work: the GPU
// waits in short pauses, while the host is in launch calls, in operators and in ranges between them, of which each has
// too little to be named. host_bound has it where such work outweighs launching.
func eagerPauses(c *Case, out *Findings, launching *tally) {
	if c.wholeCapture() {
		return
	}
	launches, _, _ := c.launches()
	lost := c.claimed(out, forbidGraphs...) // by waits and allocations, in which the host loses its lead
	s := c.starved()
	named := 0.0
	for cause, t := range s.byCause {
		if isHostWork(cause) {
			named += t.perStep()
		}
	}
	if named >= minUnnamedShare*c.StepNs && 2*named >= s.total.perStep() {
		return // host_bound has it
	}
	between := c.newTally()
	for _, p := range s.pauses {
		if p.LenNs() < longWorkNs && !c.feedsNext(p) && !c.asleep(p) {
			between.add(p.StartNs, float64(p.IdleNs)/s.devices)
		}
	}
	short := min(launching.perStep()+max(between.perStep(), named), s.total.perStep()-lost)
	hostNs, busyNs := c.hostIssuesNs().perStep(), c.busyNs().perStep()
	if short < minPausesShare*(c.StepNs-lost) || launches.median() < minEagerLaunches || hostNs <= busyNs {
		return
	}
	f := out.Add(0.7, short, "The GPU waits %s of %s per step in short pauses while the host issues eager work",
		ms(short), ms(c.StepNs))
	f.Because(fmt.Sprintf("the host needs %s per step to issue what the GPU runs in %s; no single operator or range has "+
		"most of the pauses", ms(hostNs), ms(busyNs)), c.pauseCauses(4)...)
	if n := c.Facts.Trust().GraphLaunches; n > 0 {
		f.Because(fmt.Sprintf("part of the step is in CUDA graphs already (%s in the capture); the rest is launched one "+
			"by one", several(float64(n), "graph launch", "graph launches")))
		f.Fix = fixEager
	}
	f.First = c.needsFirst(out)
	f.Faint = true // under a profiler only replay can tell
	f.Repair("cuda-graph")
}

// hostIssuesNs is the time that a thread which feeds the GPU neither waits nor allocates nor sleeps, by step: of
// autograd's and the main thread, which take turns, the time of either.
func (c *Case) hostIssuesNs() *tally {
	t := c.newTally()
	feeds := make(map[model.ThreadRow]bool)
	for _, gaps := range c.starved().gaps {
		for _, g := range gaps {
			feeds[g.Thread] = true
		}
	}
	for _, step := range c.Steps.Steady() {
		var busy []interval.Span
		for th := range feeds {
			c.Facts.HostDoing(th, step, func(cause facts.Cause, s interval.Span) {
				if text := c.Facts.CauseText(cause); text == facts.CauseLaunch || isHostWork(text) {
					busy = append(busy, s)
				}
			})
		}
		t.add(step.StartNs, float64(interval.Union(busy).TotalNs()))
	}
	return t
}

// pauseCauses is what the host does while the GPU waits, most time first.
func (c *Case) pauseCauses(n int) (rows []string) {
	s := c.starved()
	var causes []string
	for cause := range s.byCause {
		causes = append(causes, cause)
	}
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.byCause[b].perStep(), s.byCause[a].perStep()), cmp.Compare(a, b))
	})
	for _, cause := range causes[:min(n, len(causes))] {
		what := "launching"
		if isHostWork(cause) {
			what = hostWorkWords(cause)
		} else if cause != facts.CauseLaunch {
			what = cause
		}
		rows = append(rows, fmt.Sprintf("%s per step: %s", ms(s.byCause[cause].perStep()), what))
	}
	return rows
}
