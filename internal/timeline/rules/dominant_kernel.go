package rules

import (
	"fmt"
	"regexp"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

var dominantKernel = Rule{
	ID:    "dominant_kernel",
	Title: "One kernel takes most of the step",
	Since: "0.1",
	Needs: []Need{needKernels},
	Doc: `
One kernel, by name, takes at least 40 % of the step. Left out are kernels that a program cannot make faster from
outside: GEMMs, convolutions and fused attention of NVIDIA's and AMD's libraries, PyTorch's kernels that stream
through memory (pointwise, reductions, softmax, normalization), kernels that torch.compile generates, and
communication, which ncu cannot replay. Profile the kernel itself: the finding gives the ncu command for a warm
step. Launches of one kernel that take unlike times are listed by their grid and block.

How much faster the kernel can be is unknown until then; its whole time is the upper bound. If the kernel's name has
a type of double precision and the GPU computes in it at 1/32 of the rate of FP32 or less, the finding says so. A kernel
that has too few blocks for the GPU belongs to few_blocks. In a capture without steps the kernel must take 2 % of the
whole capture too.`,
	Limits: `
A capture does not count launches before it began. If the program was warm then, as with torch.profiler, raise
--launch-skip by the earlier launches of that name. A kernel of a CUDA graph is profiled with --graph-profiling
node.`,
	Fix: `
Profile the kernel with the command given, then read what lacuna kernel says about the report:

    lacuna kernel dominant.ncu-rep

Often a library operator does the same (cumsum, sort, scatter_reduce), or a Triton kernel with larger blocks.`,
	FixC: `Profile it with the command given; the speed-of-light section says whether arithmetic, memory or
latency is the limit.`,
	Confirm:   `The kernel takes less than 40 % of the step, and the step is shorter by the difference.`,
	RefutedBy: `ncu shows over 80 % of the GPU's compute or memory throughput: the kernel is at its limit.`,
	Check:     checkDominantKernel,
}

// dominantShare is the share of the step from which one kernel is worth a look inside: half of it saved is then 20 %
// of the step.
const dominantShare = 0.40

// libraryKernel is kernels whose source is not the user's: cuBLAS, cuDNN, CUTLASS as they build it, fused attention,
// Tensile, MIOpen, PyTorch's softmax, and what torch.compile generates.
var libraryKernel = regexp.MustCompile(`^(void )?(cutlass::Kernel2?<cutlass_|cudnn|cublas|nvjet|sm\d+_xmma|xmma_|(pascal|maxwell|volta|turing|ampere|hopper)_|Cijk_|Custom_Cijk|gemv|gemm[SE]?[Nk0-9]|pytorch_flash::|flash::|fmha_|miopen|MIOpen|igemm_|ck::|` +
	`(\(anonymous namespace\)::|<unnamed>::)?softmax_warp_|triton_(poi|red|per|tem)_)`)

// IsLibraryKernel says whether a kernel, by its demangled name, is a library's, whose inside is not the user's to
// change.
func IsLibraryKernel(name string) bool { return libraryKernel.MatchString(name) }

func checkDominantKernel(c *Case, out *Findings) {
	var rows []int32
	w, window := c.work(), c.Steps.Window()
	for i := range w.Len() {
		if w.Kind[i] == facts.WorkKernel && window.Contains(w.StartNs[i]) {
			rows = append(rows, int32(i))
		}
	}
	for _, g := range c.byKernel(rows) {
		ns := c.unionNs(g.rows)
		name := c.Trace.Strings.Text(g.name)
		if c.shareOfStep(ns) < dominantShare || libraryKernel.MatchString(name) ||
			strings.Contains(name, "at::native::") && c.kind(g.rows[0]).Class != facts.ClassOther ||
			!c.isPartOfCapture(c.perStep(ns)) || c.hasFewBlocks(g) {
			continue
		}
		f := out.Add(0.9, c.perStep(ns), "%s takes %.0f %% of the step: %s of %s", shortKernel(name),
			100*c.shareOfStep(ns), ms(c.perStep(ns)), ms(c.StepNs))
		c.becauseOfFP64(f, g)
		f.Because(fmt.Sprintf("%s per step, %s", number(float64(len(g.rows))*c.PerStep/c.deviceCount()),
			c.eachTakes(g)), c.kernelRows(g.rows)...)
		c.becauseOfUnlike(f, g)
		command, skip := c.ncuCommand(g)
		note := "profile it in a warm step"
		if skip > 0 {
			note += fmt.Sprintf(", after the %d launches of that name before the first steady step", skip)
		}
		f.Because(note, command)
		f.Fix = "Look inside the kernel:\n\n    " + command + "\n    lacuna kernel dominant.ncu-rep"
		return
	}
}

// eachTakes is how long the launches of a kernel take: their mean, or from the shortest to the longest.
func (c *Case) eachTakes(g kernelGroup) string {
	shortest, longest := c.extremes(g.rows)
	if longest < unlikeLaunches*shortest {
		return ms(float64(g.ns)/float64(len(g.rows))) + " each"
	}
	return ms(float64(shortest)) + " to " + ms(float64(longest)) + " each"
}

// becauseOfUnlike lists the launches of a kernel by grid and block, where they take unlike times.
func (c *Case) becauseOfUnlike(f *Finding, g kernelGroup) {
	shortest, longest := c.extremes(g.rows)
	kinds := c.launchKinds(g.rows, c.durNs)
	if longest < unlikeLaunches*shortest || len(kinds) < 2 {
		return
	}
	var rows []string
	for _, l := range kinds[:min(len(kinds), maxRows)] {
		rows = append(rows, c.launchRow(l))
	}
	f.Because("its launches are unlike", rows...)
}

// hasFewBlocks says whether few_blocks has found what is wrong with a kernel: most of its time nothing ran but kernels
// that fill a small part of the GPU.
func (c *Case) hasFewBlocks(g kernelGroup) bool {
	few := c.fewBlocksFault()
	if few == nil {
		return false
	}
	var ns int64
	for _, l := range few.launches {
		if l.name == g.name {
			ns += l.ns
		}
	}
	return 2*ns > g.ns
}

// doublePrecision is types of double precision in a kernel's demangled name: of C++ and CUDA, Julia, Rust and XLA.
var doublePrecision = regexp.MustCompile(`\b(double[234]?|[Ff]loat64|f64|complex128)\b`)

// slowFP64 is the share of FP32's rate from which double precision is slow: GPUs compute in it at a half, at a 32nd or
// at a 64th of that rate.
const slowFP64 = 1.0 / 32

// becauseOfFP64 says that a kernel computes in double precision on a GPU that does so slowly, where its name says it.
func (c *Case) becauseOfFP64(f *Finding, g kernelGroup) {
	found := doublePrecision.FindString(c.Trace.Strings.Text(g.name))
	if found == "" {
		return
	}
	share, source, ok := c.fp64Share()
	if !ok || share > slowFP64 {
		return
	}
	f.Because(fmt.Sprintf("its name has %s: this GPU computes in FP64 at 1/%.0f of the rate of FP32 (%s); how much of the "+
		"kernel is arithmetic in FP64, ncu shows", found, 1/share, source))
}

// fp64Share is the rate of FP64 by that of FP32 of the devices that did work, and its source; false: not known, or not
// all alike.
func (c *Case) fp64Share() (share float64, source string, ok bool) {
	for _, d := range c.Facts.Devices() {
		dev := model.Device{}
		for _, x := range c.Trace.Devices {
			if x.Ordinal == d {
				dev = x
			}
		}
		s, from, known := peaks.FP64Share(c.Facts.DeviceName(d), dev)
		if !known || ok && s != share {
			return 0, "", false
		}
		share, source, ok = s, from, true
	}
	return share, source, ok
}

// ncuCommand is the command that profiles a step's launches of a kernel, and how many launches it skips.
func (c *Case) ncuCommand(g kernelGroup) (command string, skip int) {
	base := functionBase(c.Trace.Strings.Text(g.name))
	same := make(map[string]bool) // ncu counts launches of all kernels of that base name
	w, first := c.work(), g.rows[0]
	perStep := 0
	for i := range w.Len() {
		if w.Kind[i] != facts.WorkKernel {
			continue
		}
		name := c.Trace.Strings.Text(c.kernelName(int32(i)))
		is, known := same[name]
		if !known {
			is = functionBase(name) == base
			same[name] = is
		}
		switch {
		case !is:
		case int32(i) < first:
			skip++
		case c.stepAt(w.StartNs[i]) == c.stepAt(w.StartNs[first]):
			perStep++
		}
	}
	program := c.Trace.Info.Command
	if program == "" {
		program = "python train.py"
	}
	return fmt.Sprintf("ncu --set full --import-source yes -k 'regex:^%s$' --launch-skip %d --launch-count %d -o "+
		"dominant %s", regexp.QuoteMeta(base), skip, max(1, min(perStep, maxProfiled)), program), skip
}

// maxProfiled is how many launches ncu is asked for at most: each is run about 40 times over with --set full.
const maxProfiled = 10

// functionBase is a kernel's own name as ncu's --kernel-name-base function has it: without what it returns,
// namespaces, template and arguments.
func functionBase(name string) string {
	name = strings.TrimPrefix(name, "void ")
	name = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "").Replace(name)
	if i := strings.IndexAny(name, "<("); i > 0 {
		name = name[:i]
	}
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+len("::"):]
	}
	return name
}
