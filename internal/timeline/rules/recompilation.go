package rules

import (
	"fmt"
	"regexp"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var recompilation = Rule{
	ID:    "recompilation",
	Title: "Recompilation: code is compiled or graphs are captured in the middle of the run",
	Since: "0.2",
	Needs: []Need{needWork, needCalls, needSteps},
	Doc: `
After start-up, steps still compile: TorchDynamo or Inductor recompile because a shape, a type or a Python value
changed, modules are loaded, NVRTC compiles, or CUDA graphs are captured and instantiated again. The GPU is idle
meanwhile.

The rule counts the idle time of gaps with such a range, operator or call on the thread that feeds the GPU. It must
be 2 % of the step on average.`,
	Limits: `
nsys sees the load of compiled code, not the compilation, unless the program marks it; idle time around the load is
taken as compilation. No trace says what changed: TORCH_LOGS=recompiles does. Dynamo's cache lookups, which are in
every step, are not counted.`,
	Fix: `
Find out what changes, and keep it the same:

    TORCH_LOGS="recompiles,graph_breaks" python train.py
    torch._dynamo.mark_dynamic(x, 0)           # or torch.compile(model, dynamic=True)
    x = F.pad(x, (0, 0, 0, bucket(n) - n))     # pad to a few sizes
    step = torch.tensor(step)                  # Python numbers are guarded, tensors are not`,
	FixC: `Update an instantiated graph with cudaGraphExecUpdate instead of instantiating again; compile with
NVRTC once and keep the cubin.`,
	Confirm:   `No compilation, module load or graph instantiation is left after the first steps.`,
	RefutedBy: `The same signs appear in a run whose shapes never change, and the step does not get longer.`,
	Check:     checkRecompilation,
}

// compiling is names of ranges and operators in which PyTorch or XLA compile. Cache lookups and compiled regions run
// in every step.
var compiling = regexp.MustCompile(`(?i)dynamo_timed|compile_fx|_compile\.compile|compile_inner|entire_frame_compile|backend_?compile|inductor.*compil|xla.*compil|triton.*compil|autotun|compile_and_?run|benchmark_all_configs`)

// compileCall is calls that load what was compiled, compile, or make a graph.
var compileCall = regexp.MustCompile(`^((cu|hip)(Module|Library)Load|nvrtcCompile|hiprtcCompile|cuLink(Create|Add|Complete)|(cuda|cu|hip)(GraphInstantiate|StreamBeginCapture))`)

func checkRecompilation(c *Case, out *Findings) {
	marks := c.compileMarks()
	if len(marks) == 0 {
		return
	}
	s := c.starved()
	sets := make(map[model.ThreadRow]interval.Set)
	for th, list := range marks {
		var spans []interval.Span
		for _, m := range list {
			spans = append(spans, m.span)
		}
		sets[th] = interval.Union(spans)
	}
	idle := c.newTally()
	what := c.newGroups()
	for _, gaps := range s.gaps {
		for _, g := range gaps {
			if overlapNs(sets[g.Thread], g.Span) > 0 {
				idle.add(g.StartNs, float64(g.LenNs())/s.devices)
			}
		}
	}
	n := 0.0
	for _, list := range marks {
		for _, m := range list {
			if c.stepAt(m.span.StartNs) >= 0 {
				what.add(m.name, m.span.StartNs, float64(m.span.LenNs()))
				n++
			}
		}
	}
	atMost := 0.0
	var which []int
	for i, ns := range idle.byStep { // stalled steps too: compiling is what stalls them
		if atMost += ns * c.PerStep; ns > 0 {
			which = append(which, i)
		}
	}
	if atMost < minIdleShare*c.StepNs {
		return
	}
	f := out.Add(0.85, atMost, "Code is compiled, or graphs are captured, in %d of %d steps: the GPU waits %s of a "+
		"mean step of %s for it", len(which), len(idle.byStep), ms(atMost), ms(c.StepNs))
	f.Because(fmt.Sprintf("what compiles, loads or captures after the start-up steps, %s", times(n)),
		what.allRows(4)...)
	if name := c.longestRange(marks); name != "" {
		f.Repair("drop-range:" + regexp.QuoteMeta(name))
	}
	if 2*len(which) < len(idle.byStep) { // else no step is left to say what is usual
		f.Repair(c.evenSteps(which))
	}
}

// longestRange is the name of the ranges and operators among marks that last longest; "" if there are only calls.
func (c *Case) longestRange(marks map[model.ThreadRow][]mark) string {
	sums := make(map[string]int64)
	for _, list := range marks {
		for _, m := range list {
			if !m.isCall {
				sums[m.name] += m.span.Clip(c.Steps.Window()).LenNs()
			}
		}
	}
	best, bestNs := "", int64(0)
	for name, ns := range sums {
		if ns > bestNs || ns == bestNs && name < best {
			best, bestNs = name, ns
		}
	}
	return best
}

// A mark is a range, an operator or a call by name.
type mark struct {
	name   string
	span   interval.Span
	isCall bool
}

// compileMarks is what compiles, by thread.
func (c *Case) compileMarks() map[model.ThreadRow][]mark {
	t, window := c.Trace, c.Steps.Window()
	out := make(map[model.ThreadRow][]mark)
	judge := func(re *regexp.Regexp, isCall bool) func(model.StringID, model.ThreadRow, int64, int64) {
		judged := make([]int8, t.Strings.Len()) // 0: not yet, 1: yes, -1: no
		return func(id model.StringID, th model.ThreadRow, startNs, endNs int64) {
			if judged[id] == 0 {
				judged[id] = -1
				if re.MatchString(facts.BaseCallName(t.Strings.Text(id))) {
					judged[id] = 1
				}
			}
			if judged[id] > 0 && startNs < window.EndNs && endNs > window.StartNs {
				out[th] = append(out[th], mark{t.Strings.Text(id), interval.Span{StartNs: startNs, EndNs: endNs},
					isCall})
			}
		}
	}
	named, called := judge(compiling, false), judge(compileCall, true)
	for i, id := range t.Ranges.Name {
		named(id, t.Ranges.Thread[i], t.Ranges.StartNs[i], t.Ranges.EndNs(i))
	}
	for i, id := range t.Ops.Name {
		named(id, t.Ops.Thread[i], t.Ops.StartNs[i], t.Ops.EndNs(i))
	}
	for i, id := range t.Calls.Name {
		called(id, t.Calls.Thread[i], t.Calls.StartNs[i], t.Calls.EndNs(i))
	}
	return out
}
