package rules

import (
	"fmt"
)

var coldStart = Rule{
	ID:       "cold_start",
	Title:    "The first steps are not like the later ones",
	Since:    "0.2",
	Needs:    []Need{needSteps},
	Standing: CostsElse,
	Doc: `
The first steps of the capture are slower than the later ones beyond their spread, and do what only a start does: they load
modules, compile, tune, capture graphs or allocate. They are left out of the budget and of every other finding, and reported
here: it costs once, not in every step.`,
	Limits: `
Start-up before the first step is not seen. Where most steps look like start-up, all are kept, and the report says so.
torch.profiler's own warm-up steps take the cold ones away: capture with warmup=0 to see them.`,
	Fix: `
Where it matters (short jobs, autoscaled services), keep what a start makes:

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/cache/inductor"      # compiled kernels survive the process
    os.environ["CUDA_MODULE_LOADING"] = "LAZY"                     # the default since CUDA 12.2
    torch.backends.cudnn.benchmark = False                         # no tuning where shapes change

and warm up before the service takes requests. When measuring, leave the first steps out.`,
	FixC:      `Ship cubins for the device instead of PTX, keep CUDA's compute cache (CUDA_CACHE_PATH), and run a warm-up before the first request.`,
	Confirm:   `The first steps of a new process are as fast as the later ones.`,
	RefutedBy: `The same steps are slow in the middle of a run: then it is periodic_stall or recompilation.`,
	Check:     checkColdStart,
}

func checkColdStart(c *Case, out *Findings) {
	s := c.Steps
	if len(s.Startup) == 0 || len(s.Steady()) == 0 {
		return
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
	first := "The first step takes"
	if n := len(s.Startup); n > 1 {
		first = fmt.Sprintf("The first %d steps take", n)
	}
	f := out.Add(0.9, 0, "%s %s in all, later ones %s each: start-up, left out of the rest", first, ms(totalNs), ms(c.StepNs))
	f.Because("what they do that later ones do not", rows...)
}
