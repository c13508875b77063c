package rules

import (
	"fmt"
	"regexp"
	"slices"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var memoryGrowth = Rule{
	ID:       "memory_growth",
	Title:    "Memory grows from step to step",
	Since:    "0.2",
	Needs:    []Need{needSteps},
	Standing: CostsElse,
	Doc: `
Memory in use grows in every step: the program keeps what it should release, such as a list of losses or outputs
with their autograd graphs. It costs no time until the GPU is out of memory.

With allocator events: the bytes in use at the start of a step rise in at least 9 of 10 steps, by 64 KiB or more in
the median step. Without them: the program asks the driver for memory (cudaMalloc and the like) in at least 9 of 10
steps and returns none. A caching allocator in its steady state asks for none. The rule needs 4 steps, and whole ones: with backward in each,
or, where nothing is trained, marked as steps. The activations that the layers of one forward keep are not meant.`,
	Limits: `
Growth inside what a caching allocator holds is invisible without its events. A program may fill a buffer on purpose
(a replay buffer, a KV cache). Leaks of host memory are not seen.`,
	Fix: `
Keep numbers, not tensors with their graphs:

    losses.append(loss.detach())               # not loss; outputs likewise
    total += loss.item()                       # not total += loss

    torch.cuda.memory._record_memory_history(); ...; torch.cuda.memory._dump_snapshot("m.pickle")   # who holds it`,
	FixC:      `Look for cudaMalloc without cudaFree in the loop; compute-sanitizer --leak-check full names them.`,
	Confirm:   `The bytes in use at the start of a step stay the same over 20 steps.`,
	RefutedBy: `The growth ends after some steps: caches were warming up.`,
	Check:     checkMemoryGrowth,
}

const (
	// minGrowthBytes is what memory must grow by in a step: less are counters and handles.
	minGrowthBytes = 64 << 10
	// growingShare is the share of the steps that must grow: a garbage collection may give back now and then.
	growingShare = 0.9
)

var (
	growCall   = regexp.MustCompile(`^(cudaMalloc(Pitch|3D)?|cuMemAlloc|cuMemCreate|hipMalloc)$|^cuMemAlloc(_v2|Pitch)`)
	shrinkCall = regexp.MustCompile(`^(cudaFree|cuMemFree|cuMemRelease|hipFree)(_v2)?$`)
)

func checkMemoryGrowth(c *Case, out *Findings) {
	edges := c.hostEdges()
	if len(edges) <= minSteps {
		out.Cannot(fmt.Sprintf("%s: too few to separate growth from warm-up",
			unit.Counted(len(edges)-1, "step", "steps")), "more steps", "a capture of 10 steps or more")
		return
	}
	if device, levels := c.levels(edges); levels != nil {
		c.growthOfLevels(out, device, levels)
		return
	}
	grows, shrinks := make([]int, len(edges)-1), make([]int, len(edges)-1)
	t := c.Trace
	asks := c.saying(func(name string) bool { return growCall.MatchString(facts.BaseCallName(name)) })
	returns := c.saying(func(name string) bool { return shrinkCall.MatchString(facts.BaseCallName(name)) })
	for i, name := range t.Calls.Name {
		switch step := edgeBefore(edges, t.Calls.StartNs[i]); {
		case step < 0 || step >= len(grows):
		case asks(name):
			grows[step]++
		case returns(name):
			shrinks[step]++
		}
	}
	growing, n := 0, 0
	for i := range grows {
		if n += grows[i]; grows[i] > 0 && shrinks[i] == 0 {
			growing++
		}
	}
	if float64(growing) < growingShare*float64(len(grows)) {
		if n == 0 && t.Calls.Len() > 0 {
			return // the driver is asked for nothing: whatever grows fits into what there is
		}
		if t.Calls.Len() == 0 {
			out.Cannot("neither allocator events nor calls were recorded", needAllocs.Name, needAllocs.Try)
		}
		return
	}
	if c.mayBeLayers(out) {
		return
	}
	f := out.Add(0.65, 0, "Memory grows: the allocator asks the driver for more %s per step and returns none",
		times(float64(n)/float64(len(grows))))
	f.Because(fmt.Sprintf("in %d of %d steps the allocator asks the driver for memory and returns none", growing,
		len(grows)))
}

// mayBeLayers says that growth from step to step is no sign where the steps may be parts of one pass.
func (c *Case) mayBeLayers(out *Findings) bool {
	framework := c.Facts.UsesPyTorch() || c.Trace.AllocEvents.Len() > 0
	if !framework || c.wholeSteps() {
		return false
	}
	out.Cannot("memory in use grows, but the steps may be parts of one pass, such as layers, which keep their "+
		"activations until it ends", "marks of whole steps", needSteps.Try)
	return true
}

// growthOfLevels judges by the bytes in use where steps begin.
func (c *Case) growthOfLevels(out *Findings, device uint32, levels []int64) {
	var d []int64
	rising := 0
	for i := 1; i < len(levels); i++ {
		if d = append(d, levels[i]-levels[i-1]); d[i-1] > 0 {
			rising++
		}
	}
	perStep := medianInt(d)
	if float64(rising) < growingShare*float64(len(d)) || perStep < minGrowthBytes {
		return
	}
	if c.mayBeLayers(out) {
		return
	}
	f := out.Add(0.9, 0, "Memory in use on GPU %d grows by %s per step, from %s to %s", device, size(float64(perStep)),
		size(float64(levels[0])), size(float64(levels[len(levels)-1])))
	var rows []string
	for i, l := range levels[:min(len(levels), 5)] {
		rows = append(rows, fmt.Sprintf("step %d begins with %s", i+c.Steps.First, size(float64(l))))
	}
	f.Because(fmt.Sprintf("it is higher at the end than at the start in %d of %d steps", rising, len(d)), rows...)
	if total := c.memoryOf(device); total > 0 {
		f.Because(fmt.Sprintf("at this rate the GPU's %s are full after about %d more steps", size(float64(total)),
			max(0, total-levels[len(levels)-1])/max(1, perStep)))
	}
}

func (c *Case) memoryOf(device uint32) int64 {
	for _, d := range c.Trace.Devices {
		if d.Ordinal == device {
			return d.MemoryBytes
		}
	}
	return 0
}

// hostEdges is when the host begins each steady step, and when it ends the last: at its markers, or where it launches
// what a step of the device begins with.
func (c *Case) hostEdges() []int64 {
	s := c.Steps
	steps := s.Steady()
	var out []int64
	if len(s.Markers) == len(s.All) {
		steps = s.Markers[s.First:s.Last]
		for _, x := range steps {
			out = append(out, x.StartNs)
		}
		if n := len(steps); n > 0 {
			out = append(out, steps[n-1].EndNs)
		}
		return out
	}
	for i, x := range steps {
		if out = append(out, c.launchedAt(x.StartNs)); i == len(steps)-1 {
			out = append(out, c.launchedAt(x.EndNs))
		}
	}
	return out
}

// launchedAt is when the host launched the work that starts at an instant; that instant, if it is not known.
func (c *Case) launchedAt(ns int64) int64 {
	w := c.Facts.Work()
	i, _ := slices.BinarySearch(w.StartNs, ns)
	for ; i < w.Len() && w.StartNs[i] == ns; i++ {
		if w.Kind[i].IsCompute() && w.Call[i] != facts.NoCall {
			return c.Trace.Calls.StartNs[w.Call[i]]
		}
	}
	return ns
}

// edgeBefore is the last edge at or before an instant, or -1.
func edgeBefore(edges []int64, ns int64) int {
	lo, hi := 0, len(edges)
	for lo < hi {
		if m := (lo + hi) / 2; edges[m] <= ns {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1
}

// levels is the bytes that the framework's allocator has in use on a device at each edge; nil if it is not known.
// Of several devices it is the one with most events.
func (c *Case) levels(edges []int64) (uint32, []int64) {
	a := &c.Trace.AllocEvents
	n := make(map[uint32]int)
	best := model.NoDevice
	for i := range a.Len() {
		if d := a.Device[i]; d != model.NoDevice && i < len(a.AllocatedBytes) && a.AllocatedBytes[i] >= 0 {
			if n[d]++; best == model.NoDevice || n[d] > n[best] || n[d] == n[best] && d < best {
				best = d
			}
		}
	}
	if best == model.NoDevice {
		return 0, nil
	}
	var out []int64
	last, next := int64(-1), 0
	for i := range a.Len() {
		if a.Device[i] != best || a.AllocatedBytes[i] < 0 {
			continue
		}
		for ; next < len(edges) && edges[next] <= a.TimeNs[i]; next++ {
			out = append(out, last)
		}
		last = a.AllocatedBytes[i]
	}
	for ; next < len(edges); next++ {
		out = append(out, last)
	}
	for len(out) > 0 && out[0] < 0 {
		out = out[1:] // before the first event nothing is known
	}
	if len(out) <= minSteps {
		return best, nil
	}
	return best, out
}
