package rules

import (
	"fmt"
	"regexp"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var compilesOnce = Rule{
	ID:    "compiles_once",
	Title: "The GPU waits while the host compiles: once per kernel and shape",
	Since: "0.3",
	Needs: []Need{needWork, needCalls},
	Doc: `
In a capture in which nothing marks steps the GPU waits while the host compiles: in a range or an operator that says so
(XlaCompile, CompileProgram, autotuning), in NVRTC or the linker of CUDA, or in a program that it starts, where the wait
ends with the load of a module. Triton, XLA, nvFuser, CuPy and Julia compile a kernel when it is first called with new
types or shapes: that comes once, and not at all where what they made is kept.

The rule adds up the idle time in which the thread that feeds the GPU does that. It must be 10 % of the capture.`,
	Limits: `
What the process does around its compiler, such as tracing in Python and reading files, is not counted. Between steps it
is recompilation's.`,
	Fix: `
Leave it out of what is measured, by a warm-up call per shape. Where start-up matters keep what is made:

    os.environ["TRITON_CACHE_DIR"] = "/cache/triton"               # also TORCHINDUCTOR_CACHE_DIR
    os.environ["JAX_COMPILATION_CACHE_DIR"] = "/cache/jax"
    os.environ["CUDA_CACHE_PATH"] = "/cache/cuda"                  # of the driver's own compiler`,
	FixC: `Leave it out of what is measured, by a warm-up call. Where start-up matters keep what NVRTC made (the cubin), or
compile ahead for the GPU.`,
	Confirm:   `In a second run, with the cache, these waits are gone.`,
	RefutedBy: `They come again in a second run of the same process with the same shapes.`,
	Check:     checkCompilesOnce,
}

// loadsCode is calls that load what was compiled.
var loadsCode = regexp.MustCompile(`^(cu|hip)(Module|Library)Load`)

func checkCompilesOnce(c *Case, out *Findings) {
	if !c.wholeCapture() {
		return
	}
	s, t := c.starved(), c.Trace
	idle, what, sets := c.newTally(), c.newGroups(), make(map[model.ThreadRow]interval.Set)
	byCall := make(map[model.ThreadRow][]interval.Span)
	loads := make(map[model.ThreadRow][]int64)
	for i := range t.Calls.Len() {
		switch name, th := c.Facts.CallName(int32(i)), t.Calls.Thread[i]; {
		case loadsCode.MatchString(name):
			loads[th] = append(loads[th], t.Calls.StartNs[i])
		case facts.DoingOf(name) == facts.DoingCompile:
			byCall[th] = append(byCall[th], interval.Span{StartNs: t.Calls.StartNs[i], EndNs: t.Calls.EndNs(i)})
		}
	}
	count := func(name string, span interval.Span) {
		ns := float64(span.LenNs()) / s.devices
		idle.add(span.StartNs, ns)
		what.add(name, span.StartNs, ns)
	}
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			set, known := sets[g.Thread]
			if !known {
				set = interval.Union(append(byCall[g.Thread], c.Facts.Compiling(g.Thread, c.Steps.Window())...))
				sets[g.Thread] = set
			}
			named := set.Clip(g.Span)
			for _, x := range named {
				count(nameOr(c.Facts.Where(g.Thread, x.StartNs), "calls that compile"), x)
			}
			if !anyIn(loads[g.Thread], g.Span) {
				continue
			}
			c.Facts.HostDoing(g.Thread, g.Span, func(cause facts.Cause, span interval.Span) {
				name := c.Facts.OSName(g.Thread, span.StartNs)
				if c.Facts.CauseText(cause) == facts.CauseOS && overlapNs(named, span) == 0 &&
					facts.DoingOf(name) == facts.DoingCompile {
					count(name+", before a module is loaded", span)
				}
			})
		}
	}
	if idle.perStep() < minStartShare*c.StepNs {
		return
	}
	f := out.Add(0.8, idle.perStep(), "The GPU waits %s of %s while the host compiles: once per kernel and shape", ms(idle.perStep()),
		ms(c.StepNs))
	f.Because(fmt.Sprintf("%.0f %% of the capture is idle in what compiles", 100*idle.share()), what.allRows(4)...)
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

// anyIn says whether one of some instants lies in a span.
func anyIn(at []int64, s interval.Span) bool {
	for _, ns := range at {
		if s.Contains(ns) {
			return true
		}
	}
	return false
}
