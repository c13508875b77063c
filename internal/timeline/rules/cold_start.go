package rules

import (
	"fmt"
	"slices"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

const coldStartFix = `
Where start-up matters (short jobs, autoscaled services), keep what it produces:

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/cache/inductor"      # compiled kernels survive the process
    os.environ["CUDA_MODULE_LOADING"] = "LAZY"                     # the default since CUDA 12.2
    torch.backends.cudnn.benchmark = False                         # no tuning where shapes change

and warm up before the service takes requests. When measuring, leave the first steps out.`

// warmCapture is what to do where only the start was recorded.
const warmCapture = `
If only the loop matters, record it warm: call torch.cuda.profiler.start() after about ten steps.

    nsys profile --capture-range=cudaProfilerApi --trace=cuda,nvtx python train.py
`

var coldStart = Rule{
	ID:       "cold_start",
	Title:    "Cold start: the first steps are slower than the later ones",
	Since:    "0.2",
	Standing: CostsElse,
	Doc: `
The first steps of the capture are slower than the later ones beyond their spread, and do what only a start does:
they load modules, compile, tune, capture graphs or allocate. They are left out of the budget and of every other
finding, and reported here if a tenth of their time or more is beyond that of later steps: they cost once, not in every
step.

In a capture with one step or none the rule looks at single calls: launches and queries that take a millisecond or
more. The first call of a process, the first launch of a kernel and the creation of a stream take that long when
they create a context or load code. NVRTC, module loading and graph instantiation count as well. The GPU must be
idle in such calls for 10 % of the capture. What precedes the main GPU work of such a capture is mostly_outside's. Calls
of a millisecond or more that allocate or register memory count there as well, unless allocator_churn has them.`,
	Limits: `
Start-up before the first step is not seen. Where most steps look like start-up, all are kept, and the report says so.
torch.profiler's own warm-up steps take the cold ones away: capture with warmup=0 to see them.`,
	Fix: coldStartFix,
	FixC: `Ship cubins for the GPU instead of PTX, keep CUDA's compute cache (CUDA_CACHE_PATH), and run a warm-up
before the first request.`,
	Confirm:   `The first steps of a new process are as fast as the later ones.`,
	RefutedBy: `The same steps are slow in the middle of a run: then it is periodic_stall or recompilation.`,
	After:     []*Rule{&allocatorChurn},
	Check:     checkColdStart,
}

// minStartShare is the share of a capture without steps, of its only step, or of its first steps, that start-up must
// take: less is no answer to where its time goes.
const minStartShare = 0.10

func checkColdStart(c *Case, out *Findings) {
	s := c.Steps
	if s.Source == facts.StepsNone || len(s.All) == 1 {
		if s.Source == facts.StepsNone && c.Trace.Calls.Len() == 0 {
			out.Abstained = append(out.Abstained, Abstention{out.rule, "the capture has neither steps nor CUDA calls",
				needCalls.Name, needCalls.Try, true})
		}
		c.startOfCapture(out)
		return
	}
	if len(s.Startup) == 0 || len(s.Steady()) == 0 {
		return
	}
	if !slices.ContainsFunc(s.Startup, func(x facts.StartupStep) bool { return x.Own }) {
		return // the profilers' start, not the program's
	}
	var totalNs float64
	var rows []string
	for _, x := range s.Startup {
		ns := float64(s.All[x.Index].LenNs())
		totalNs += ns
		if len(rows) < 5 {
			rows = append(rows, fmt.Sprintf("step %d: %s, %s", x.Index, ms(ns), x.Why))
		}
	}
	if totalNs-float64(len(s.Startup))*c.StepNs < minStartShare*totalNs {
		return // they load something, and are hardly longer for it
	}
	first := "The first step takes"
	if n := len(s.Startup); n > 1 {
		first = fmt.Sprintf("The first %d steps take", n)
	}
	f := out.Add(0.9, 0, "%s %s in all, later steps %s each: start-up, left out of all other figures", first,
		ms(totalNs), ms(c.StepNs))
	f.Because("what only these steps do", rows...)
}

// startOfCapture reports the calls that only a start makes, in a capture without steps or of one.
func (c *Case) startOfCapture(out *Findings) {
	sum, n := int64(0), 0
	for _, gaps := range c.Gaps {
		for _, ns := range c.Facts.IdleInLongCalls(gaps) {
			sum += ns
		}
	}
	var allocs map[model.ThreadRow]interval.Set
	if c.wholeCapture() && len(out.Of(&allocatorChurn)) == 0 {
		allocs = c.longAllocs()
		for _, gaps := range c.Gaps {
			for _, g := range gaps {
				sum += overlapNs(allocs[g.Thread], g.Span)
			}
		}
	}
	idle := float64(sum) / c.deviceCount()
	if idle == 0 || idle < minStartShare*c.StepNs { // a capture without GPU work has neither
		return
	}
	what := c.newGroups()
	for _, calls := range c.Facts.LongCalls() {
		for _, call := range calls {
			if in := call.Clip(c.Steps.Window()); in.LenNs() > 0 {
				what.add(c.place(call.Row), in.StartNs, float64(call.LenNs()))
				n++
			}
		}
	}
	for th := range allocs {
		for _, row := range c.Facts.OutermostCalls(th) {
			if c.stepAt(c.Trace.Calls.StartNs[row]) >= 0 && c.isLongAlloc(row) {
				what.add(c.place(row), c.Trace.Calls.StartNs[row], float64(c.Trace.Calls.DurNs[row]))
				n++
			}
		}
	}
	f := out.Add(0.8, 0, "Start-up takes %s of %s: the GPU is idle while the host is in %s that should be short",
		ms(idle), ms(c.StepNs), several(float64(n), "call", "calls"))
	f.Because("calls that launch or query take microseconds; those of a millisecond or more load or compile code, "+
		"create a context, instantiate a graph or lock memory", what.allRows(4)...)
	f.Fix = warmCapture + coldStartFix
}

// longAllocs is when threads that feed a device allocate or register memory for a millisecond or more.
func (c *Case) longAllocs() map[model.ThreadRow]interval.Set {
	out := make(map[model.ThreadRow]interval.Set)
	for _, gaps := range c.Gaps {
		for _, g := range gaps {
			if _, seen := out[g.Thread]; seen {
				continue
			}
			out[g.Thread] = nil
			for _, row := range c.Facts.OutermostCalls(g.Thread) {
				if c.isLongAlloc(row) {
					out[g.Thread] = append(out[g.Thread], interval.Span{StartNs: c.Trace.Calls.StartNs[row],
						EndNs: c.Trace.Calls.EndNs(int(row))})
				}
			}
		}
	}
	return out
}

func (c *Case) isLongAlloc(row int32) bool {
	return c.Trace.Calls.DurNs[row] >= facts.LongCallNs &&
		facts.CauseName(c.Facts.CallCauses()[row]) == facts.CauseAlloc
}
