package rules

import (
	"fmt"
	"regexp"
	"strings"

	"lacuna/internal/timeline/facts"
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
step.

How much faster the kernel can be is unknown until then; its whole time is the upper bound.`,
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
var libraryKernel = regexp.MustCompile(`^(void
)?(cutlass::Kernel2?<cutlass_|cudnn|cublas|nvjet|sm\d+_xmma|xmma_|(pascal|maxwell|volta|turing|ampere|hopper)_|Cijk_|Custom_Cijk|gemv|gemm[SE]?[Nk0-9]|pytorch_flash::|flash::|fmha_|miopen|MIOpen|igemm_|ck::|` +
	`(\(anonymous namespace\)::|<unnamed>::)?softmax_warp_|triton_(poi|red|per|tem)_)`)

// IsLibraryKernel says whether a kernel, by its demangled name, is a library's, whose inside is not the user's to
// change.
func IsLibraryKernel(name string) bool { return libraryKernel.MatchString(name) }

func checkDominantKernel(c *Case, out *Findings) {
	var rows []int32
	for _, l := range c.lanes() {
		for _, r := range l {
			if c.isKernel(r) {
				rows = append(rows, r)
			}
		}
	}
	for _, g := range c.byKernel(rows) {
		ns := c.unionNs(g.rows)
		name := c.Trace.Strings.Text(g.name)
		if c.shareOfStep(ns) < dominantShare || libraryKernel.MatchString(name) ||
			strings.Contains(name, "at::native::") && c.kind(g.rows[0]).Class != facts.ClassOther {
			continue
		}
		f := out.Add(0.9, c.perStep(ns), "%s takes %.0f %% of the step: %s of %s", shortKernel(name),
			100*c.shareOfStep(ns), ms(c.perStep(ns)), ms(c.StepNs))
		f.Because(fmt.Sprintf("%s per step, %s each", number(float64(len(g.rows))*c.PerStep/c.deviceCount()),
			ms(float64(g.ns)/float64(len(g.rows)))), c.kernelRows(g.rows)...)
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
