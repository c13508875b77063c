package kernelrules

import (
	"math"

	"lacuna/internal/kernel"
)

var sfuPipe = Rule{
	ID:    "sfu_pipe",
	Title: "XU pipe: special functions limit the kernel",
	Since: "0.2",
	Needs: []Need{needTime, needXU, needIssue},
	Doc: `
Sine, cosine, exponential, logarithm, square root and division start on the XU pipe, with 16 lanes per clock and SM:
an eighth of the rate of a multiply. There are two faults.

The pipe itself is the limit (60 % or more, and issue under 75 %, so that other pipes have room): too many special
functions.

Or the precise library functions are the limit: issue at 60 % or more, 12 to 200 instructions per special function,
and at least 5 % of them the selects, roundings, checks and branches of argument reduction, which fast functions do
not need. Some precise functions, powf above all, are polynomials without a special function: there conversions to
integers count, if as many roundings and 5 % of branches and selects are around them. The code around the pipe is
then the limit, not the pipe.

After the fix: in the first case 30 % of the special functions remain (at best none, and DRAM sets the time), and as
many other instructions as now, since the replacement also replaces a function's scaling; in the second, 13
instructions per function and half of the XU pipe's work.`,
	Limits: `
Only the author knows how many special functions an algorithm can do without: the range is wide. Conversions from
and to 64 bits run on the same pipe; where they prevail, fp64_pipe comes first. Fast functions are less precise: for
sine about 2^-21 of absolute error, and wrong for large arguments.`,
	Fix: `
Where precision allows, use the fast functions, one by one or for a file:

    __sinf(x), __powf(x, y), __fdividef(x, y), __expf(x)      // not sinf, powf, /, expf
    nvcc -use_fast_math

Where the fast ones are already used, use fewer of them. cos(k x) for k = 1, 2, ... follows from a recurrence; exp2f
with a scaled argument saves a multiplication; some of the functions can be a polynomial on the FMA pipe.`,
	RefutedBy: `Replacing every special function by its argument leaves the time as it is.`,
	Check:     checkSFU,
}

const (
	xuRoom = 0.75 // issue below it has room for the work of the XU pipe
	// instructions a function from which the library's precise code is around it: fast ones take 2 to 8
	precisePerMUFU  = 12
	precisePerMax   = 200  // beyond it special functions are not what the kernel is about
	reductionShare  = 0.05 // of instructions: none in kernels with fast functions
	fastPerMUFU     = 13   // 6 to 19 in kernels with fast functions, with what else they do
	fastPerMUFUMost = 19
	functionsLeft   = 0.3
	reducedFunction = 0.5
)

func checkSFU(c *Case, out *Findings) {
	xu, issue := c.use(kernel.XU), c.use(kernel.Issue)
	mufu := c.mix("MUFU")
	if c.limitedBy(kernel.XU) && issue < xuRoom {
		if c.modified(isF64Conversion) >= conversionShare {
			return
		}
		f := out.Add(0.85, "XU pipe: special functions take it to %s of its peak", percent(xu))
		f.Because("instruction issue is at %s: other pipes have room", percent(issue))
		if mufu > 0 {
			f.Because("%s of the instructions are special functions", percent(mufu))
		}
		f.Places = c.HotOpcodes("MUFU")
		r := asNow().leave(functionsLeft, kernel.XU)
		r.atBest(0, kernel.XU)
		c.expect(f, r)
		return
	}
	if c.Opcodes() == nil {
		if issue >= limits {
			out.abstain(needOpcodes)
		}
		return
	}
	calls := mufu
	// Some precise functions, powf above all, are polynomials: they round their argument, and select and branch
	// around it.
	if rounds := c.mix("F2I"); c.mix("FRND") >= rounds && c.mix("BSSY", "BSYNC", "FSEL") >= reductionShare {
		calls = math.Max(calls, rounds)
	}
	per := 1 / calls
	reduction := c.mix("BSSY", "BSYNC", "FSEL", "F2I", "FRND", "FCHK")
	if !(issue >= limits) || !(per >= precisePerMUFU && per <= precisePerMax) || !(reduction >= reductionShare) {
		return
	}
	f := out.Add(0.8, "XU pipe: precise functions take %s instructions each", digits(per))
	f.Because("instruction issue is at %s, the XU pipe at %s: the code around the special functions is the limit",
		percent(issue), percent(xu))
	f.Because("%s of the instructions are selects, roundings and branches as in argument reduction", percent(reduction))
	f.Fix = "Use the fast functions where precision allows: __sinf, __powf, __fdividef, or -use_fast_math."
	f.Places = c.HotOpcodes("MUFU")
	left := fastPerMUFU / per
	r := asNow().leave(left, kernel.Issue, kernel.ALU, kernel.FMA, kernel.Heavy).leave(reducedFunction, kernel.XU)
	r.high = math.Min(1, fastPerMUFUMost/per)
	c.expect(f, r)
}
