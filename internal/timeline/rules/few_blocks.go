package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var fewBlocks = Rule{
	ID:    "few_blocks",
	Title: "Kernels run on a small part of the GPU: too few blocks, or blocks of a few threads",
	Since: "0.3",
	Needs: []Need{needKernels, needGrids},
	Doc: `
A block runs on one SM, and a warp has 32 threads. A kernel launched with fewer blocks than half of the GPU's SMs
leaves most of the GPU without work, and a block of half a warp or less leaves most of each warp's lanes without work,
whatever the kernel computes. Captures record how each kernel was launched.

The rule adds up the time in which nothing but such kernels runs: the blocks of kernels that run at once, in several
streams, count together, and where they fill half of the SMs it is not a fault. Communication kernels use few SMs by
intention; what runs beside them does not count. Kernels of libraries and of PyTorch count from 10 µs on: their grids
follow from the size of their input, and shorter ones take the time of a launch and of memory's latency, however many
blocks they have. Threshold: 20 % of the step, half of which is
saved at least where the work can be spread over all SMs. In a capture without steps the time must be 2 % of the whole
capture too: a single small kernel behind a long start is not a fault. With more than half of the SMs at work, the finding
would be about the last wave of blocks, which only a kernel report can weigh.

Launches are listed by kernel and launch configuration, so that one launch of one block is not hidden in the mean of
others.`,
	Limits: `
A problem may be too small to be split: then only more of it at once (a larger batch, several kernels side by side, more
work per kernel) helps. The bound is all the time of such kernels. How much of it more blocks save is not known from a
timeline: it depends on whether the work can be split, and on what else limits the kernel. Work of CUDA graphs that were
recorded without their nodes does not count, and where the number of SMs is not known the rule does not judge.`,
	Fix: `
Give each kernel more parallel work: a larger batch, or several small problems in one call:

    y = torch.bmm(a, b)                 # instead of a loop over a[i] @ b[i]
    out = model(torch.stack(requests))  # instead of one request at a time`,
	FixC: `Launch at least one block per SM, of 128 to 256 threads, with a loop inside the kernel:

    int blocks = min((n + 255) / 256, 8 * sm_count);
    kernel<<<blocks, 256>>>(x, n);      // each thread: i, i + gridDim.x * blockDim.x, ...

In OpenMP: target teams distribute parallel for, without num_teams(1); in OpenACC: gang and vector on the loop. If the
problem itself is small, run several kernels at once in streams, or several steps of it in one kernel.`,
	Confirm:   `The kernels have at least as many blocks as the GPU has SMs, and take less time.`,
	RefutedBy: `The same work in more blocks takes as long.`,
	Check:     checkFewBlocks,
}

const (
	// fewShare is which share of the SMs must have a block: as in small_grid, the rule about single kernels.
	fewShare = 0.5
	// warpThreads is the threads of a warp of NVIDIA's GPUs (CUDA Programming Guide), where the capture states none.
	warpThreads = 32
	// minFewShare is the share of the step from which it is a finding: at most half of the SMs have work, so that half
	// of it, 10 % of the step, can be saved where the work can be split.
	minFewShare = 0.2
	// unlikeLaunches is how many times as long as the shortest the longest launch must be for a range to be shown.
	unlikeLaunches = 2
)

func checkFewBlocks(c *Case, out *Findings) {
	few, sms := c.fewBlocksFault(), c.sms()
	if few == nil {
		return
	}
	most, atMost, takes := few.launches[0], few.idle.perStep(), few.idle.amount()
	name := c.Trace.Strings.Text(most.name)
	threads := unit.Counted(int(most.block), "thread", "threads")
	var rows []string
	for _, l := range few.launches[:min(len(few.launches), maxRows)] {
		rows = append(rows, c.launchRow(l))
	}
	var f *Finding
	if most.narrow(c) {
		f = out.Add(0.7, atMost, "For %s of %s per step kernels run in blocks of a few threads: %s has %s per block, a "+
			"warp has %d", ms(takes), ms(c.StepNs), shortKernel(name), threads, c.warp())
		f.Because(fmt.Sprintf("an SM issues whole warps: %d of %d lanes have nothing to do in it, and each of its blocks "+
			"takes one of the SM's few places for blocks", c.warp()-most.block, c.warp()), rows...)
	} else {
		blocks := unit.Counted(int(most.grid), "block", "blocks")
		f = out.Add(0.7, atMost, "For %s of %s per step kernels run with too few blocks for the GPU's %d SMs: %s has %s "+
			"of %s", ms(takes), ms(c.StepNs), sms, shortKernel(name), blocks, threads)
		f.Because(fmt.Sprintf("a block runs on one SM: %d of %d SMs have nothing to do while it runs%s; if its work can "+
			"be split, launch at least %d blocks: all SMs have %s times the throughput of %d", max(0, sms-most.grid), sms,
			c.launchedElse(most), sms, number(max(1, float64(sms)/float64(most.grid))), most.grid), rows...)
	}
	if ofLibrary(name) {
		f.Because("the grid is chosen by a library, from the size of its input: more work per call gives more blocks")
	}
}

// fewBlocksFault is when kernels ran that leave most of the GPU without work, if that is a fault; else nil.
func (c *Case) fewBlocksFault() *fewSum {
	sms := c.sms()
	if sms == 0 {
		return nil
	}
	few := c.fewBlocks(sms)
	if few.idle.share() < minFewShare || !few.idle.usual() || !c.isPartOfCapture(few.idle.perStep()) {
		return nil
	}
	return few
}

// ofLibrary says whether a kernel's grid is chosen by a library or by PyTorch.
func ofLibrary(name string) bool {
	return libraryKernel.MatchString(name) || strings.Contains(name, "at::native::")
}

// isPartOfCapture says whether so many ns of a step are worth a word: in a capture without steps they must be so of the
// whole capture, since its window may be a single kernel.
func (c *Case) isPartOfCapture(ns float64) bool {
	if !c.wholeCapture() {
		return true
	}
	whole, host := c.Steps.Window(), c.Facts.HostSpan()
	if host.LenNs() > 0 {
		whole.StartNs, whole.EndNs = min(whole.StartNs, host.StartNs), max(whole.EndNs, host.EndNs)
	}
	return ns >= minIdleShare*float64(whole.LenNs())
}

// warp is the threads of a warp.
func (c *Case) warp() int64 {
	for _, d := range c.Trace.Devices {
		if d.WarpSize > 0 {
			return int64(d.WarpSize)
		}
	}
	return warpThreads
}

// A launchKind is the launches of one kernel with one grid and block.
type launchKind struct {
	name        model.StringID
	grid, block int64
	rows        []int32
	ns          int64
}

// narrow says whether its blocks have so few threads that most lanes of a warp have no work, while its grid is large
// enough.
func (l *launchKind) narrow(c *Case) bool {
	return 2*l.block <= c.warp() && float64(l.grid) >= fewShare*float64(c.sms())
}

// launchRow says how a kernel was launched: "44131 ms per step: matmult, 1 launch of 1 block of 32 threads".
func (c *Case) launchRow(l launchKind) string {
	shortest, longest := c.extremes(l.rows)
	each := ""
	if len(l.rows) > 1 {
		each = ", " + ms(float64(longest)) + " each"
		if longest >= unlikeLaunches*shortest {
			each = ", " + ms(float64(shortest)) + " to " + ms(float64(longest)) + " each"
		}
	}
	return fmt.Sprintf("%s per step: %s, %s of %s of %s%s", ms(c.perStep(l.ns)),
		shortKernel(c.Trace.Strings.Text(l.name)),
		several(float64(len(l.rows))*c.PerStep/c.deviceCount(), "launch", "launches"),
		unit.Counted(int(l.grid), "block", "blocks"), unit.Counted(int(l.block), "thread", "threads"), each)
}

// launchedElse is how long the kernel of a launch with too few blocks takes where it has enough of them; "" if it never
// has.
func (c *Case) launchedElse(few launchKind) string {
	w := c.work()
	var rows []int32
	for i := range w.Len() {
		if w.Kind[i] == facts.WorkKernel && c.stepAt(w.StartNs[i]) >= 0 && c.kernelName(int32(i)) == few.name {
			rows = append(rows, int32(i))
		}
	}
	for _, l := range c.launchKinds(rows, c.durNs) {
		if l.grid >= c.sms() {
			_, longest := c.extremes(l.rows)
			return fmt.Sprintf(" (with %s of %s it takes %s)", unit.Counted(int(l.grid), "block", "blocks"),
				unit.Counted(int(l.block), "thread", "threads"), ms(float64(longest)))
		}
	}
	return ""
}

// extremes is the shortest and the longest of pieces of work, in ns.
func (c *Case) extremes(rows []int32) (shortest, longest int64) {
	for i, r := range rows {
		ns := c.durNs(r)
		if i == 0 || ns < shortest {
			shortest = ns
		}
		longest = max(longest, ns)
	}
	return shortest, longest
}

// A fewSum is when kernels ran that leave most of the GPU without work.
type fewSum struct {
	idle     *tally                     // ns of the mean device
	launches []launchKind               // most time first
	spans    map[uint32][]interval.Span // by device
}

// fewBlocks finds when nothing but kernels ran that leave most of a GPU without work, which has so many SMs.
func (c *Case) fewBlocks(sms int64) *fewSum {
	if c.memo.few != nil {
		return c.memo.few
	}
	out := &fewSum{idle: c.newTally(), spans: c.fewSpans(sms)}
	c.memo.few = out
	for _, spans := range out.spans {
		for _, s := range spans {
			out.idle.add(s.StartNs, float64(s.LenNs())/c.deviceCount())
		}
	}
	var rows []int32
	w := c.work()
	for i := range w.Len() {
		if c.stepAt(w.StartNs[i]) >= 0 && w.Kind[i] == facts.WorkKernel {
			rows = append(rows, int32(i))
		}
	}
	out.launches = c.launchKinds(rows, func(row int32) int64 {
		span := interval.Span{StartNs: w.StartNs[row], EndNs: w.EndNs[row]}
		return interval.Set(out.spans[w.Device[row]]).Clip(span).TotalNs()
	})
	return out
}

// launchKinds is kernels by name, grid and block, most time first; ns is the time of a row, and rows of none are left
// out.
func (c *Case) launchKinds(rows []int32, ns func(row int32) int64) []launchKind {
	type key struct {
		name        model.StringID
		grid, block int64
	}
	index := make(map[key]int)
	var out []launchKind
	for _, r := range rows {
		took := ns(r)
		if took == 0 {
			continue
		}
		k := key{name: c.kernelName(r)}
		k.grid, k.block = c.blocks(r)
		n, seen := index[k]
		if !seen {
			n = len(out)
			index[k], out = n, append(out, launchKind{name: k.name, grid: k.grid, block: k.block})
		}
		out[n].rows, out[n].ns = append(out[n].rows, r), out[n].ns+took
	}
	slices.SortStableFunc(out, func(a, b launchKind) int { return cmp.Compare(b.ns, a.ns) })
	return out
}

// fewSpans is the stretches of each device in which compute kernels ran, nothing communicated, and what ran filled
// less than half of the SMs or had only blocks of half a warp at most; in order.
func (c *Case) fewSpans(sms int64) map[uint32][]interval.Span {
	type edge struct {
		ns                    int64
		blocks, wide, running int64
	}
	edges := make(map[uint32][]edge)
	w, warp, library := c.work(), c.warp(), c.saying(ofLibrary)
	for i := range w.Len() {
		if w.Kind[i] > facts.WorkComm || w.EndNs[i] <= w.StartNs[i] {
			continue
		}
		e := edge{ns: w.StartNs[i], wide: 1, running: 1, blocks: sms} // what is not known fills the GPU
		if grid, block := c.blocks(int32(i)); w.Kind[i] == facts.WorkKernel && grid > 0 && block > 0 &&
			!(w.EndNs[i]-w.StartNs[i] < shortKernelNs && library(c.kernelName(int32(i)))) {
			if e.blocks = min(grid, sms); 2*block <= warp {
				e.wide = 0
			}
		}
		d := w.Device[i]
		edges[d] = append(edges[d], e, edge{w.EndNs[i], -e.blocks, -e.wide, -e.running})
	}
	out := make(map[uint32][]interval.Span)
	for d, list := range edges {
		slices.SortStableFunc(list, func(a, b edge) int { return cmp.Compare(a.ns, b.ns) })
		var at edge
		for _, e := range list {
			few := at.running > 0 && (float64(at.blocks) < fewShare*float64(sms) || at.wide == 0)
			if s := (interval.Span{StartNs: at.ns, EndNs: e.ns}); few && s.LenNs() > 0 {
				if n := len(out[d]); n > 0 && out[d][n-1].EndNs == s.StartNs && c.stepAt(s.StartNs) ==
					c.stepAt(out[d][n-1].StartNs) {
					out[d][n-1].EndNs = s.EndNs
				} else {
					out[d] = append(out[d], s)
				}
			}
			at = edge{e.ns, at.blocks + e.blocks, at.wide + e.wide, at.running + e.running}
		}
	}
	return out
}
