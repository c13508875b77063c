package kernelrules

import (
	"slices"

	"lacuna/internal/kernel"
)

var debugBuild = Rule{
	ID:    "debug_build",
	Title: "Debug build: the kernel was compiled without optimisation",
	Since: "0.3",
	Needs: []Need{needSchedule},
	Doc: `
nvcc -G (and cuda.jit(debug=True), and -Xptxas -O0) turns optimisation of device code off: every variable has a home in
local memory or a register of its own, most instructions are moves, and each waits until the one before has surely
ended. It is recognised by that waiting: the code says for each instruction how many cycles, 0 to 15, its warp waits
before the next. Optimised code waits for 4 to 6 where the next instruction needs the result, and for 1 or 2 elsewhere;
unoptimised code waits for nearly 15 each time. The finding is made when the mean is 8 cycles or more, half of the most.
Of 213 launches from V100 to GB200, optimised ones were at 4.3 at most and debug builds at 10 or more. It is taken from
the stall reason Wait, or from the machine code where that was not collected.

It is the first finding, without a time, and no other is priced: what an optimised kernel will wait for is not in
counters of a debug build. That a launch is too small for the GPU stays a finding.`,
	Limits: `
The counters do not show how fast the optimised kernel will be. A chain of tensor core instructions can wait for as long;
no kernel was seen that does little else.`,
	Fix: `
Build without -G, and profile again before anything else is changed:

    nvcc -O3 -lineinfo                     // not -G: -lineinfo keeps source lines, and changes no code
    cmake -DCMAKE_BUILD_TYPE=Release       // Debug may add -G
    @cuda.jit(lineinfo=True)               // Numba: not debug=True, opt=False`,
	RefutedBy: `The build's command line has neither -G nor -Xptxas -O0.`,
	Check:     checkDebugBuild,
}

// unoptimisedWait is half of the most that an instruction can say: results of fixed latency are there after 4 to 6
// cycles since Volta.
const unoptimisedWait = 8

// fixedWait is how many cycles the code lets a warp wait after an instruction on average.
func (c *Case) fixedWait() float64 { return known(c.FixedWait()) }

func checkDebugBuild(c *Case, out *Findings) {
	wait := c.fixedWait()
	if !(wait >= unoptimisedWait) {
		return
	}
	f := out.Add(0.95, "Debug build: the kernel was compiled without optimisation (nvcc -G)")
	f.Because("an instruction waits %s cycles for the one before, as its code says; in optimised code 2 to 4", digits(wait))
	if m := c.Mix(); m != nil {
		if moves := m.Share(kernel.ClassMove); moves.Known && moves.Value > 0 {
			f.Because("%s of the instructions are moves", percent(moves.Value))
		}
	}
	f.Because("what the optimised kernel will wait for is not in these counters: no gain of another fix is predicted")
}

// launchFaults are true whatever the code inside the kernel is.
var launchFaults = []string{"debug_build", "small_grid", "tail_effect"}

// unoptimised leaves, of what was found in a debug build, that it is one and what is wrong with the launch, and takes
// all prices back.
func (o *Findings) unoptimised() {
	at := o.find("debug_build")
	if at < 0 {
		return
	}
	debug := o.All[at]
	rest := slices.Delete(o.All, at, at+1)
	o.All = []Finding{debug}
	var aside []Finding
	for _, f := range rest {
		f.PredictedUs, f.LowUs, f.HighUs, f.Next, f.repair, f.SameAs, f.SymptomOf = 0, 0, 0, "", nil, "", ""
		if slices.Contains(launchFaults, f.Rule.ID) {
			o.All = append(o.All, f)
		} else {
			aside = append(aside, f)
		}
	}
	for i := range o.Mentioned {
		f := &o.Mentioned[i]
		f.PredictedUs, f.LowUs, f.HighUs, f.Next, f.repair = 0, 0, 0, "", nil
	}
	o.Mentioned = append(aside, o.Mentioned...)
}
