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

The rule adds up the time in which pages migrate or faults are served, as far as it was recorded, beside kernels too: a
kernel that waits for its pages is not computing. The pauses between one migration and the next are not counted: what the
host does there with the page that it got and how long an unrecorded fault takes cannot be separated. The sum
must be 10 % of the step in half of the steps. It says how much goes which way, in pieces of which size, how fast, and
whether the same amount keeps going back and forth.

Where start-up steps spend half of their time or more so, and the later ones do not, that is said instead: memory that
is touched for the first time, or more of it than the GPU holds.`,
	Limits: `
Which pages move, and whether they are the same ones again, the capture does not say. Part of the migrations beside
kernels may be prefetches that cost nothing: pieces of 2 MB are a sign of those. Without records of page faults it counts
too little: a fault takes some ten microseconds beside its migration. On machines whose CPU and GPU share page tables
(Grace Hopper, MI300A) memory is often not moved at all.`,
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
	moves := c.pageMoves(c.Steps.Window())
	cost := c.newTally()
	var ns, hidden int64
	for device, set := range moves.busy {
		for _, s := range set {
			cost.add(s.StartNs, float64(s.LenNs())/c.deviceCount())
		}
		ns += set.TotalNs()
		hidden += interval.Intersect(set, c.computeTime(device)).TotalNs()
	}
	atMost := cost.perStep()
	if !cost.usual() || atMost < minCopyShare*c.StepNs {
		c.movesAtStart(out)
		return
	}
	up, down := moves.ways[0], moves.ways[1]
	what := "migrates"
	if moves.faults {
		what = "serves page faults and migrates"
	}
	f := out.Add(0.8, atMost, "Unified memory %s for %s of %s per step: %s to the GPU, %s back to the host", what,
		ms(atMost), ms(c.StepNs), size(up.bytes.amount()), size(down.bytes.amount()))
	for i, name := range []string{"to the GPU", "to the host"} {
		if x := moves.ways[i]; x.n.perStep() > 0 {
			f.Because(fmt.Sprintf("%s: %s per step of %s on average, %.1f GB/s", name,
				several(x.n.amount(), "migration", "migrations"), size(x.bytes.perStep()/x.n.perStep()),
				x.bytes.perStep()/max(1, x.ns.perStep())))
		}
	}
	f.Because(fmt.Sprintf("%.0f %% of that time kernels run, which wait for the pages that they touch",
		100*float64(hidden)/float64(max(1, ns))))
	if c.again(float64(moves.turns)*c.PerStep) && 2*min(up.bytes.perStep(), down.bytes.perStep()) > up.bytes.perStep() {
		f.Because(fmt.Sprintf("the direction changes %s per step, and as much comes back as goes: host and GPU touch the "+
			"same pages in turns", times(float64(moves.turns)*c.PerStep)))
	}
	c.faults(f)
}

// A pageMoves is the migrations and page faults of unified memory in a span.
type pageMoves struct {
	busy   map[uint32]interval.Set // of each device: when pages migrate or its faults are served
	ways   [2]migrated             // to the GPU, to the host; by steady step
	bytes  [2]int64                // the same, whatever steps they are in
	turns  int                     // how often the direction changes
	faults bool                    // whether faults of GPUs were recorded with their durations
}

func (c *Case) pageMoves(window interval.Span) *pageMoves {
	w, spans := c.Facts.Work(), make(map[uint32][]interval.Span)
	m := &pageMoves{busy: make(map[uint32]interval.Set)}
	for i := range m.ways {
		m.ways[i] = migrated{c.newTally(), c.newTally(), c.newTally()}
	}
	before := -1
	for i := range w.Len() {
		s := (interval.Span{StartNs: w.StartNs[i], EndNs: w.EndNs[i]}).Clip(window)
		if w.Kind[i] != facts.WorkCopy || !facts.IsMigration(c.copyKind(int32(i))) || s.LenNs() == 0 {
			continue
		}
		spans[w.Device[i]] = append(spans[w.Device[i]], s)
		way := 0
		if c.copyKind(int32(i)) == model.CopyUMDtoH {
			way = 1
		}
		if before >= 0 && before != way {
			m.turns++
		}
		before = way
		m.ways[way].n.add(s.StartNs, 1)
		m.ways[way].bytes.add(s.StartNs, float64(c.copyBytes(int32(i))))
		m.ways[way].ns.add(s.StartNs, float64(s.LenNs()))
		m.bytes[way] += c.copyBytes(int32(i))
	}
	p := &c.Trace.PageFaults
	for i := range p.Len() {
		s := (interval.Span{StartNs: p.StartNs[i], EndNs: p.StartNs[i] + p.DurNs[i]}).Clip(window)
		if p.Device[i] != model.NoDevice && s.LenNs() > 0 {
			spans[p.Device[i]] = append(spans[p.Device[i]], s)
			m.faults = true
		}
	}
	for device, list := range spans {
		m.busy[device] = interval.Union(list)
	}
	return m
}

// startMoves is the share of the time of start-up steps from which it is said that unified memory takes it.
const startMoves = 0.5

// movesAtStart says that the start-up steps, or a few of the others, mostly move pages.
func (c *Case) movesAtStart(out *Findings) {
	var start interval.Span
	if n := c.Steps.First; n > 0 && n == len(c.Steps.Startup) {
		start = interval.Span{StartNs: c.Steps.All[0].StartNs, EndNs: c.Steps.All[n-1].EndNs}
	}
	moves, ns := c.pageMoves(start), int64(0)
	for _, set := range moves.busy {
		ns = max(ns, set.TotalNs())
	}
	if start.LenNs() == 0 || float64(ns) < startMoves*float64(start.LenNs()) {
		return
	}
	f := out.Add(0.8, 0, "Unified memory takes %s of the %s of the start-up steps: %s to the GPU, %s back to the host",
		ms(float64(ns)), ms(float64(start.LenNs())), size(float64(moves.bytes[0])), size(float64(moves.bytes[1])))
	f.OutsideNs = float64(ns)
	f.Because("the later steps move next to nothing: pages are touched for the first time, or more memory is used than the " +
		"GPU holds until some is free again")
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

// faultNs is how long the driver may need for a page fault without its migration; what is longer between two
// migrations is the host's own work on what it got. NVIDIA's "Maximizing Unified Memory Performance in CUDA" (2017)
// has tens of microseconds; twice 50.
const faultNs = 100_000

// beforeMigrations is the idle time of devices that ends with a migration, without the pauses that a fault itself
// takes: no call ends it, but the host, which did something else until it touched the page.
func (c *Case) beforeMigrations() (out []facts.IdleGap) {
	for _, gaps := range c.Gaps {
		for _, g := range gaps {
			if g.LenNs() >= faultNs && g.Thread != model.NoThread && c.Facts.EndsWithMigration(g) {
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
