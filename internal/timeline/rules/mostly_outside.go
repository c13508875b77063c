package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
)

var mostlyOutside = Rule{
	ID:       "mostly_outside",
	Title:    "Most of the recording lies outside what is judged: start-up, preparation, the end",
	Since:    "0.3",
	Standing: CostsElse,
	Needs:    []Need{needWork, needCalls},
	Doc: `
All other figures of a report are of the steps or, where nothing marks steps, of the main GPU work. Where the larger part
of what was recorded of the process lies before or behind it, with the GPU idle, the answer to "where does the time go" is
there: importing, reading and preparing data, compiling, creating the context, or work that the host keeps for itself.

The rule adds up the time before and behind in which no device works, without the time in which the host waits for a
device, which is then busy with work that was not recorded. It must be more than half of what was recorded; start-up
steps count as steps. Beside steps it must be 0.1 s, below which nobody notices a wait. It says what the
host did by the names of calls, ranges and operators, and by Python functions and CPU samples where they were recorded.`,
	Limits: `
It is paid once per run: in a run that lasts longer than the recorded one it is a smaller part, and nothing is wrong with
it. What nothing in the capture names stays unnamed. A torch.profiler schedule records steps only, and hides it. Time
before the first recorded event of the process, such as loading the program, is in no capture.`,
	Fix: `
First decide whether it counts: if real runs last much longer than this one, it does not. Then record the loop longer and
warm, or choose steps with --steps:

    torch.cuda.profiler.start()                # after about ten steps
    nsys profile --capture-range=cudaProfilerApi --trace=cuda,nvtx python train.py

If it counts (short jobs, tests, services that scale): prepare data once and store it as the program reads it; keep what
compilers make (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR, JAX_COMPILATION_CACHE_DIR, CUDA_CACHE_PATH); allocate pinned
memory once and no more than is needed; do on the GPU, or on all cores, what one thread computes here.`,
	FixC: `First decide whether it counts: if real runs last much longer than this one, it does not. Then record the loop
longer and warm: cudaProfilerStart() behind the first turns, and nsys profile --capture-range=cudaProfilerApi.

If it counts: read and prepare input once, on all cores or on the GPU; allocate pinned memory once and no more than is
needed; ship cubins for the GPU instead of PTX; create the context (cudaFree(0)) on a thread of its own meanwhile.`,
	Confirm:   `In a recording of a real run the steps, or the GPU work, are the larger part.`,
	RefutedBy: `A run of usual length spends a few per cent of its time there.`,
	Check:     checkMostlyOutside,
}

// maxOutsideNames is how many things a title names, each of outsideShare of the time or more.
const (
	maxOutsideNames = 3
	outsideShare    = 0.10
)

func checkMostlyOutside(c *Case, out *Findings) {
	o := c.Facts.Unjudged(c.Steps)
	if !o.Most() {
		return
	}
	what, judged := "the main GPU work", "which covers "+ms(float64(o.Judged.LenNs()))
	if o.Steps {
		what, judged = "the steps", "which take "+ms(float64(o.Judged.LenNs()))+" in all"
	}
	where, main, ns := "before", &o.Before, o.Before.Ns
	if o.After.Ns > o.Before.Ns {
		where, main, ns = "behind", &o.After, o.After.Ns
	}
	if float64(o.Ns()-ns) >= outsideShare*float64(o.Ns()) {
		where, ns = "before and behind", o.Ns()
	}
	f := out.Add(0.9, 0, "%s of the %s recorded pass %s %s, %s", ms(float64(ns)), ms(float64(o.Recorded.LenNs())),
		where, what, judged)
	if names := outsideNames(main); len(names) > 0 {
		f.Title += ": " + strings.Join(names, ", ")
	}
	f.OutsideNs = float64(o.Ns())
	if again := o.AgainNs(); float64(again) >= minIdleShare*float64(o.Ns()) {
		f.Because(fmt.Sprintf("work like that of the steps runs there too, in turns that were not taken for steps: %s lie "+
			"between them, and only the rest comes once", ms(float64(again))))
	} else {
		f.Because("in this run it comes once: it counts where runs are as short as this one")
	}
	for _, h := range main.Host {
		if h.Kind == facts.DoingLoad && float64(h.Ns) >= outsideShare*float64(main.Ns) {
			f.Because("data is loaded for every batch: only a longer recording shows whether the GPU waits for it again")
		}
	}
	for _, h := range main.Host {
		if h.Kind == facts.DoingCalls && main == &o.Before && float64(h.Ns) >= outsideShare*float64(main.Ns) {
			f.Because("first calls create the context and load modules; pinned memory is slow to allocate")
		}
		if h.Kind == facts.DoingUnnamed && float64(h.Ns) >= outsideShare*float64(main.Ns) && len(main.Code.Code) == 0 {
			f.Because("to see what the code without a name does, record CPU samples (lacuna record --sample, nsys profile " +
				"--sample=process-tree) or mark it with NVTX ranges")
		}
	}
	for _, p := range []struct {
		part  *facts.UnjudgedPart
		where string
	}{{&o.Before, "before"}, {&o.After, "behind"}} {
		if float64(p.part.Ns) >= outsideShare*float64(o.Ns()) {
			f.Because(fmt.Sprintf("%s %s the GPU is idle for %s while the host does this", p.where, what,
				ms(float64(p.part.Ns))), outsideRows(p.part)...)
		}
	}
}

// outsideNames is what the host mostly did in words: "1475 ms in code that nothing in the capture names".
func outsideNames(p *facts.UnjudgedPart) (names []string) {
	for _, h := range p.Host {
		if float64(h.Ns) < outsideShare*float64(p.Ns) || len(names) == maxOutsideNames {
			break
		}
		names = append(names, ms(float64(h.Ns))+" "+p.Words(h))
	}
	return names
}

// outsideRows is what the host did, most time first, with the functions of what has no other name.
func outsideRows(p *facts.UnjudgedPart) (rows []string) {
	for _, h := range p.Host {
		if float64(h.Ns) >= minIdleShare*float64(p.Ns) && len(rows) < 5 {
			row := ms(float64(h.Ns)) + " " + p.Words(h)
			if h.Calls > 1 {
				row += fmt.Sprintf(", %d calls", h.Calls)
			}
			rows = append(rows, row)
		}
	}
	for i, c := range p.Code.Code {
		if i < 3 && float64(c.Ns) >= minIdleShare*float64(p.Ns) {
			rows = append(rows, fmt.Sprintf("%s: of the code without other names, %s", ms(float64(c.Ns)), c.Text()))
		}
	}
	return rows
}
