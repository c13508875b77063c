package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var launchBound = Rule{
	ID:    "launch_bound",
	Title: "Launch-bound: the host launches kernels more slowly than the GPU runs them",
	Since: "0.2",
	Needs: []Need{needWork, needCalls},
	Doc: `
The GPU finishes its kernels faster than the host launches them: between kernels it is idle with nothing queued,
while the host is in launch calls or in the ordinary pauses between them (docs/glossary.md), not in a wait, an
allocation or other work. Typical: hundreds of kernels of a few microseconds per step.

Threshold: the GPU is idle in this way for 5 % of the step (XProf calls 3 % of launching moderate and 15 % high),
and the host's time for launching alone is longer than the GPU's time for the work. Otherwise the host would run
ahead, and the cause is what it loses by waiting (host_sync), allocating (allocator_churn) or loading
(input_pipeline). Kernels of a CUDA graph are launched by one call and do not count. Decode steps of a serving engine
belong to decode_not_graphed. Where launching alone is not longer, but all that the host does to issue the work is
(operators, ranges, Python between them), and the GPU waits for 15 % of the step (XProf: high) in short pauses of which no operator
or range has most, the rule says that. In a capture without steps there must be 100 launches, and calls of a millisecond or
more, which create contexts and load code, are cold_start's.`,
	Limits: `
Profilers slow every launch: under torch.profiler with shapes a loop may look launch-bound although it is not. The
predicted gain therefore comes from the replay without profiler overhead. Graphs need fixed shapes and no
synchronization inside. A larger batch may be the better fix.`,
	Fix: `
Launch the step as one CUDA graph, or let the compiler fuse and capture it:

    model = torch.compile(model, mode="reduce-overhead")

    graph = torch.cuda.CUDAGraph()             # or by hand, after three warm-up steps on a side stream
    with torch.cuda.graph(graph):
        loss = loss_fn(model(x), y); loss.backward(); optimizer.step()
    graph.replay()

A larger batch, fused optimizers (fused=True) and fewer, larger operators help as well.`,
	FixC: `Capture the stream with cudaStreamBeginCapture and launch it with cudaGraphLaunch; fuse small kernels.`,
	Confirm: `
One cudaGraphLaunch replaces hundreds of cudaLaunchKernel, and the kernels follow one another without gaps.`,
	RefutedBy: `A larger batch makes the step longer in proportion: the kernels are the limit.`,
	After:     forbidGraphs,
	Check:     checkLaunchBound,
}

// forbidGraphs is the rules that find what no CUDA graph may span, synchronisations and allocations: what they find
// is fixed first.
var forbidGraphs = []*Rule{&hostSync, &excessTransfer, &allocatorChurn}

const (
	// minLaunchShare is the share of the step that launching must cost: between XProf's moderate (3 %) and high (15 %).
	minLaunchShare = 0.05
	// minLaunches is how many launches a step are many: fewer are not cured by a graph.
	minLaunches = 10
	// manyLaunches is how many launches are many where the turn of a loop has few: a graph can hold several turns.
	manyLaunches = 50
	// shortKernelNs is what peers call a short kernel (TraceLens and nsys-ai: 10 µs): about what a launch takes the
	// host.
	shortKernelNs = 10_000
)

func checkLaunchBound(c *Case, out *Findings) {
	s := c.starved()
	launching := c.launching()
	if _, _, ok := c.notGraphed(); ok {
		return // decode_not_graphed has it
	}
	if launching.share() < minLaunchShare || !launching.usual() {
		return
	}
	launches, kernelNs, durs := c.launches()
	all := launches.perStep() / c.PerStep
	hostNs, busyNs := c.hostLaunchNs().perStep(), c.busyNs().perStep()
	if launches.median() < minLaunches && all < manyLaunches || !c.again(launches.perStep()/minLaunches) ||
		hostNs <= busyNs {
		eagerPauses(c, out, launching)
		return
	}
	between := c.newTally()
	for _, p := range s.pauses {
		if p.LenNs() < longWorkNs && !c.feedsNext(p) && !c.asleep(p) {
			between.add(p.StartNs, float64(p.IdleNs)/s.devices)
		}
	}
	atMost := launching.perStep() + between.perStep()
	medianNs := medianInt(durs)
	confidence := 0.75
	if medianNs < shortKernelNs {
		confidence = 0.9
	}
	f := out.Add(confidence, min(atMost, s.total.perStep()),
		"Launch-bound: the host launches %s per step too slowly; the GPU is idle %s of %s between them",
		several(launches.amount(), "kernel or copy", "kernels and copies"), ms(launching.perStep()), ms(c.StepNs))
	f.Because(fmt.Sprintf("half of the kernels take less than %s; all kernels %s per step; launching them takes "+
		"the host %s per step, with its pauses between the calls",
		ms(float64(medianNs)), ms(kernelNs.perStep()), ms(hostNs)), c.launchRows(3)...)
	f.Because(fmt.Sprintf("for %.1f %% of the step the GPU has nothing queued while the host is in launch calls or "+
		"in ordinary pauses between them", 100*launching.share()))
	f.Repair("cuda-graph")
	f.First = c.needsFirst(out)
}

// needsFirst is the rule among forbidGraphs whose finding stands in a graph's way, or "". One wait a step does not: a
// graph holds a step from one wait to the next.
func (c *Case) needsFirst(out *Findings) string {
	for _, r := range forbidGraphs {
		if len(out.Of(r)) == 0 {
			continue
		}
		if r == &hostSync && !c.wholeCapture() && c.waitsPerStep() <= 1 {
			continue
		}
		return r.ID
	}
	return ""
}

// waitsPerStep is how many waits half of the steps have at least, on one device.
func (c *Case) waitsPerStep() float64 {
	n := c.newTally()
	for _, w := range c.waits() {
		if w.purpose != waitUpload {
			n.add(w.EndNs, 1/c.deviceCount())
		}
	}
	return n.median()
}

// launching is the idle time in which the host launches, by step; in a capture without steps less the calls that are a
// start's, and what is captured into a graph.
func (c *Case) launching() *tally {
	s := c.starved()
	t := s.of(facts.CauseLaunch)
	if !c.wholeCapture() {
		return t
	}
	out := c.newTally()
	copy(out.byStep, t.byStep)
	captures, from := c.Facts.GraphCaptures(), c.Steps.Window().StartNs
	for _, gaps := range s.gaps {
		for _, ns := range c.Facts.IdleInLongCalls(gaps) {
			out.add(from, -float64(ns)/s.devices)
		}
		for _, g := range gaps {
			for _, x := range captures[g.Thread].Clip(g.Span) {
				c.Facts.HostDoing(g.Thread, x, func(cause facts.Cause, span interval.Span) {
					if c.Facts.CauseText(cause) == facts.CauseLaunch && span.LenNs() < facts.LongCallNs {
						out.add(from, -float64(span.LenNs())/s.devices)
					}
				})
			}
		}
	}
	return out
}

// launches is, by step, how many pieces of work the host issued one by one and how long its kernels took; and the
// durations of those kernels.
func (c *Case) launches() (n, ns *tally, durs []int64) {
	n, ns = c.newTally(), c.newTally()
	w := c.Facts.Work()
	for i := range w.Len() {
		if w.Call[i] == facts.NoCall || i > 0 && w.Call[i] == w.Call[i-1] || w.Kind[i] == facts.WorkGraph {
			continue
		}
		n.add(w.StartNs[i], 1/c.deviceCount())
		if w.Kind[i] == facts.WorkKernel && c.stepAt(w.StartNs[i]) >= 0 {
			ns.add(w.StartNs[i], float64(w.EndNs[i]-w.StartNs[i])/c.deviceCount())
			durs = append(durs, w.EndNs[i]-w.StartNs[i])
		}
	}
	return n, ns, durs
}

// hostLaunchNs is the time that the host spends in launch calls and ordinary pauses, by step; in a capture without
// steps less the calls that are a start's.
func (c *Case) hostLaunchNs() *tally {
	t := c.newTally()
	th := c.feeder()
	for _, step := range c.Steps.Steady() {
		c.Facts.HostDoing(th, step, func(cause facts.Cause, s interval.Span) {
			if c.Facts.CauseText(cause) == facts.CauseLaunch && !(c.wholeCapture() && s.LenNs() >= facts.LongCallNs) {
				t.add(s.StartNs, float64(s.LenNs()))
			}
		})
	}
	return t
}

// feeder is the thread that ends most of the time in which devices wait for the host.
func (c *Case) feeder() model.ThreadRow {
	sums := make(map[model.ThreadRow]int64)
	best, bestNs := model.NoThread, int64(-1)
	for _, gaps := range c.starved().gaps {
		for _, g := range gaps {
			sums[g.Thread] += g.LenNs()
		}
	}
	for th, ns := range sums {
		if ns > bestNs || ns == bestNs && th < best {
			best, bestNs = th, ns
		}
	}
	return best
}

// busyNs is the time in which the mean device does anything, by step.
func (c *Case) busyNs() *tally {
	t := c.newTally()
	steps := c.Steps.Steady()
	for _, b := range c.Budgets {
		for _, s := range steps {
			t.add(s.StartNs, float64(s.LenNs()-overlapNs(b.Idle, s))/c.deviceCount())
		}
	}
	return t
}

// launchRows names the n longest stretches in which the device waited for a launch.
func (c *Case) launchRows(n int) []string {
	var rows []string
	for _, gaps := range c.starved().gaps {
		var launching []facts.IdleGap
		for _, g := range gaps {
			if g.LenNs() < longWorkNs {
				launching = append(launching, g)
			}
		}
		for _, g := range facts.LongestGaps(launching, maxGaps) {
			if len(rows) < n && c.stepAt(g.StartNs) >= 0 && c.mainCause(g) == facts.CauseLaunch {
				rows = append(rows, fmt.Sprintf("step %d: GPU %d idle %s before %s, at %s", c.stepAt(g.StartNs)+
					c.Steps.First, g.Device, ms(float64(g.LenNs())), shortName(c.Facts.WorkName(int(g.After))),
					c.sinceStart(g.StartNs)))
			}
		}
	}
	return rows
}

// medianInt is the lower middle of values, 0 of none.
func medianInt(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
