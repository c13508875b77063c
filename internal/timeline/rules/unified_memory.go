package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var unifiedMemory = Rule{
	ID:    "unified_memory",
	Title: "Unified memory migrates on page faults",
	Since: "0.2",
	Needs: []Need{needWork},
	Doc: `
Memory of cudaMallocManaged (hipMallocManaged, or -stdpar and do concurrent) is moved page by page when the GPU or the
host touches what the other has: each fault stops the threads that touch it, and moves some tens of kilobytes. Kernels
get longer by it, and the host waits in ordinary loads and stores.

The rule adds up the time in which pages migrate one after another, a millisecond apart at most, beside kernels too: a
kernel that waits for its pages is not computing, and a host that reads results page by page keeps the GPU waiting. It
must be 10 % of the step. It says how much goes which way, in pieces of which size, how fast, and whether the same
amount keeps going back and forth.`,
	Limits: `
Which pages move, and whether they are the same ones again, the capture does not say. Part of the migrations beside
kernels may be prefetches that cost nothing: pieces of 2 MB are a sign of those. On machines whose CPU and GPU share
page tables (Grace Hopper, MI300A) memory is often not moved at all.`,
	Fix: `
Allocate with the framework's allocator and copy what is needed; PyTorch tensors are not in unified memory unless an
extension puts them there.`,
	FixC: `Move pages before they are touched, and say how they are used:

    cudaMemPrefetchAsync(p, bytes, device, stream);              // before the kernel
    cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, device); // inputs that nobody writes
    cudaMemPrefetchAsync(p, bytes, cudaCpuDeviceId, stream);     // before the host reads results

or use cudaMalloc and cudaMemcpyAsync. Initialise data on the GPU, in a kernel. For OpenACC and OpenMP, data regions with
explicit copies instead of managed memory.`,
	Confirm:   `Migrations take less than 10 % of the step, in pieces of 2 MB; the kernels are shorter.`,
	RefutedBy: `With explicit prefetches the kernels take as long.`,
	Check:     checkUnifiedMemory,
}

// migrated is what goes one way.
type migrated struct{ n, bytes, ns *tally }

func checkUnifiedMemory(c *Case, out *Findings) {
	w, window := c.Facts.Work(), c.Steps.Window()
	spans := make(map[uint32][]interval.Span)
	ways := [2]migrated{}
	for i := range ways {
		ways[i] = migrated{c.newTally(), c.newTally(), c.newTally()}
	}
	turns, before := 0, model.CopyKind(0)
	for i := range w.Len() {
		s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window)
		if w.Kind[i] != facts.WorkCopy || !facts.IsMigration(c.copyKind(int32(i))) || s.LenNs() == 0 {
			continue
		}
		spans[w.Device[i]] = append(spans[w.Device[i]], s)
		kind, way := c.copyKind(int32(i)), &ways[0]
		if kind == model.CopyUMDtoH {
			way = &ways[1]
		}
		if before != kind && before != 0 {
			turns++
		}
		before = kind
		way.n.add(s.StartNs, 1)
		way.bytes.add(s.StartNs, float64(c.copyBytes(int32(i))))
		way.ns.add(s.StartNs, float64(s.LenNs()))
	}
	var ns, hidden int64
	for device, list := range spans {
		set := chained(list)
		ns += set.TotalNs()
		hidden += interval.Intersect(set, c.computeTime(device)).TotalNs()
	}
	atMost := float64(ns) * c.PerStep / c.deviceCount()
	if atMost < minCopyShare*c.StepNs {
		return
	}
	up, down := ways[0], ways[1]
	f := out.Add(0.8, atMost, "Unified memory migrates page by page for %s of %s per step: %s to the GPU, %s back to the host",
		ms(atMost), ms(c.StepNs), size(up.bytes.perStep()), size(down.bytes.perStep()))
	for i, name := range []string{"to the GPU", "to the host"} {
		if x := ways[i]; x.n.perStep() > 0 {
			f.Because(fmt.Sprintf("%s: %s per step of %s on average, %.1f GB/s", name,
				several(x.n.perStep(), "migration", "migrations"), size(x.bytes.perStep()/x.n.perStep()),
				x.bytes.perStep()/max(1, x.ns.perStep())))
		}
	}
	f.Because(fmt.Sprintf("%.0f %% of that time kernels run, which wait for the pages that they touch",
		100*float64(hidden)/float64(max(1, ns))))
	if c.again(float64(turns)*c.PerStep) && 2*min(up.bytes.perStep(), down.bytes.perStep()) > up.bytes.perStep() {
		f.Because(fmt.Sprintf("the direction changes %s per step, and as much comes back as goes: host and GPU touch the "+
			"same pages in turns", times(float64(turns)*c.PerStep)))
	}
	c.faults(f)
}

// chained is spans in order of start, with the pauses between them that are too short for anything but the next fault:
// the driver moves a page, the thread goes on, and touches the next one.
func chained(spans []interval.Span) interval.Set {
	var out interval.Set
	for _, s := range spans {
		if n := len(out); n > 0 && s.StartNs-out[n-1].EndNs < facts.LongCallNs {
			out[n-1].EndNs = max(out[n-1].EndNs, s.EndNs)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// faults says how many page faults were recorded.
func (c *Case) faults(f *Finding) {
	p := &c.Trace.PageFaults
	gpu, cpu := c.newTally(), c.newTally()
	for i := range p.Len() {
		t := gpu
		if p.Device[i] == model.NoDevice {
			t = cpu
		}
		t.add(p.StartNs[i], float64(max(1, p.Count[i])))
	}
	if gpu.perStep()+cpu.perStep() > 0 {
		f.Because(fmt.Sprintf("%s page faults of GPUs and %s of the host per step were recorded", number(gpu.perStep()),
			number(cpu.perStep())))
	} else {
		f.Because("page faults were not recorded: nsys profile --cuda-um-gpu-page-faults=true " +
			"--cuda-um-cpu-page-faults=true shows which addresses fault")
	}
}

// beforeMigrations is the idle time of devices that ends with a migration, without the pauses between one fault and the
// next: no call ends it, but the host, which did something else until it touched the page.
func (c *Case) beforeMigrations() (out []facts.IdleGap) {
	for _, gaps := range c.Gaps {
		for _, g := range gaps {
			if g.LenNs() >= facts.LongCallNs && g.Thread != model.NoThread && c.Facts.EndsWithMigration(g) {
				out = append(out, g)
			}
		}
	}
	return out
}

// causesOf is what the host did in gaps, by cause, of the mean device.
func (c *Case) causesOf(gaps []facts.IdleGap) map[string]*tally {
	out := make(map[string]*tally)
	for _, g := range gaps {
		c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, span interval.Span) {
			text := c.Facts.CauseText(cause)
			if out[text] == nil {
				out[text] = c.newTally()
			}
			out[text].add(span.StartNs, float64(span.LenNs())/c.deviceCount())
		})
	}
	return out
}

// sumOf adds up two tallies, of which the second may be nil.
func sumOf(a, b *tally) *tally {
	if b == nil {
		return a
	}
	out := a.c.newTally()
	for i := range out.byStep {
		out.byStep[i] = a.byStep[i] + b.byStep[i]
	}
	return out
}
