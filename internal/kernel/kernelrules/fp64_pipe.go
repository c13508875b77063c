package kernelrules

import (
	"math"
	"strings"

	"lacuna/internal/kernel"
)

var fp64Pipe = Rule{
	ID:    "fp64_pipe",
	Title: "FP64 pipe: double precision limits the kernel",
	Since: "0.2",
	Needs: []Need{needTime, needFP64, needIssue},
	Doc: `
FP64 runs at half the rate of FP32 on data centre GPUs (V100, A100, H100) and at a 32nd or 64th on the others. A
literal without f, or a variable that became a double by accident, is enough: 0.3 in x * 0.3 converts, multiplies
and converts back.

It is a finding when the FP64 pipe is what limits the kernel (half of its peak or more), or when conversions between
double and another type are at least a tenth of the instructions. Conversions, loads of FP32 only, or parameters that
are float and not double are evidence that the doubles are an accident. Where the kernel loads doubles they are probably
intended: the finding then only mentions them, unless divisions of doubles are 1 % of the instructions or more (each takes about 20), or the GPU does 16
FP32 operations or more in the time of one in FP64: there they are the whole time of a kernel, whatever was intended.

The time after the fix leaves out the FP64 pipe and the conversions; the arithmetic moves to the FP32 pipe.`,
	Limits: `
Doubles may be intended: the finding is then true, but its fix is not wanted. Tensor cores for FP64 (A100, H100) are
not counted here.`,
	Fix: `
Use FP32 literals and accumulators where that is precise enough:

    float acc = 0.1f;                    // auto acc = 0.1 is a double
    y = powf(x, 1.5f) * 0.3f + acc;      // pow, sqrt, 0.3 would convert x, and back

    nvcc --Wdouble-promotion             // (clang: -Wdouble-promotion) names each place

Where doubles are needed for a sum, add in float pairs (Kahan), or add doubles once per block.`,
	RefutedBy: `The SASS has no D instructions (DADD, DMUL, DFMA) and no conversion with F64 in the hot loop.`,
	Check:     checkFP64,
}

const (
	accidental    = 0.01 // of all instructions: something is converted
	divisionShare = 0.01 // of all instructions: with what follows each, a fifth of them
	// A division of doubles is a reciprocal of 20 bits, two steps of Newton's, the product and its correction, and a
	// path for special values: about 8 instructions of the FP64 pipe of about 20.
	perDivision        = 20
	doublesPerDivision = 8
	fp64Busy           = 0.5 // of the pipe: it is then the limit or next to it
	conversionShare    = 0.1 // of all instructions: they run at a quarter of the rate or less
)

func isDivision(name string) bool {
	return strings.HasPrefix(name, "MUFU.RCP64H") || strings.HasPrefix(name, "MUFU.RSQ64H")
}

func isF64Conversion(name string) bool {
	return (strings.HasPrefix(name, "F2F") || strings.HasPrefix(name, "F2I") || strings.HasPrefix(name, "I2F")) &&
		strings.Contains(name, "F64")
}

func checkFP64(c *Case, out *Findings) {
	u := c.use(kernel.FP64)
	at, most := c.limiter()
	converts := c.modified(isF64Conversion)
	// The pipe is the limit if nothing but issue is busier.
	pipe := u >= fp64Busy && (at == kernel.FP64 || at == kernel.Issue || u >= nearlyBusiest*most)
	if !pipe && !(converts >= conversionShare) {
		return
	}
	slow := c.fp64Ratio() >= slowFP64
	accident := converts >= accidental || slow && floatsOnly(c.Launch.Name) || c.modified(func(name string) bool {
		return strings.HasPrefix(name, "LDG") &&
			strings.Contains(name, "64")
	}) == 0 && u > 0
	if converts >= conversionShare {
		f := out.Add(0.9, "FP64: %s of the instructions convert to or from double", percent(converts))
		f.Because("conversions run on the XU pipe, which is at %s of its peak; the FP64 pipe is at %s",
			percent(c.use(kernel.XU)), percent(u))
		c.withoutDoubles(f, converts)
		return
	}
	if n := c.modified(isDivision); !accident && n >= divisionShare {
		f := out.Add(0.6, "FP64: divisions of doubles take about %s of the instructions",
			percent(math.Min(1, n*perDivision)))
		f.Because("%s of the instructions are reciprocals to begin a division or root of doubles with, and each is "+
			"followed by about %d others; the FP64 pipe is at %s", percent(n), perDivision, percent(u))
		f.Fix = "Divide once and multiply by the reciprocal where the divisor repeats: double r = 1.0 / h; then x " +
			"* r. Results may differ in the last bit."
		f.Places = c.HotOpcodes("MUFU")
		r := asNow().leave(math.Max(0, 1-n*perDivision), kernel.Issue, kernel.ALU, kernel.FMA)
		r.leave(math.Max(0, 1-n*doublesPerDivision/c.mix("DADD", "DMUL", "DFMA", "DSETP")), kernel.FP64)
		r.high = math.Min(1, 1-n*perDivision/2)
		c.expect(f, r)
		return
	}
	f := out.Add(0.85, "FP64 pipe busy for %s of the time", percent(u))
	switch {
	case accident && slow && floatsOnly(c.Launch.Name):
		f.Confidence = math.Min(f.Confidence, accidentByName)
		f.Because("its arguments are float, not double: the doubles look like an accident")
	case accident:
		f.Because("values are loaded in FP32, or converted: the doubles look like an accident")
	default:
		f.Because("doubles are loaded, or nothing shows what is: they may be intended")
	}
	if slow {
		f.Because("this GPU does %s FP32 operations in the time of one in FP64; a data centre GPU does 2",
			digits(c.fp64Ratio()))
	}
	c.withoutDoubles(f, orZero(converts))
	if !accident && !slow {
		out.mention()
	} else if !accident {
		f.Confidence = fp64Meant
	}
}

// fp64Ratio is how many FP32 operations the GPU does in the time of one in FP64.
func (c *Case) fp64Ratio() float64 {
	return known(c.Attribute("single_to_double_precision_perf_ratio"))
}

const (
	// slowFP64 is the ratio from which doubles are what a GPU is not made for: 2 on data centre GPUs, 32 or 64 on
	// others.
	slowFP64 = 16
	// accidentByName is the confidence where only the parameters say that doubles are not meant.
	accidentByName = 0.75
	// fp64Meant is the confidence where doubles may be intended, on a GPU that is slow at them.
	fp64Meant = 0.5
)

// floatsOnly says that a kernel's parameters, as its name lists them, have float and not double.
func floatsOnly(name string) bool {
	_, parameters, ok := strings.Cut(name, "(")
	return ok && strings.Contains(parameters, "float") && !strings.Contains(parameters, "double")
}

// withoutDoubles moves double precision to the FP32 pipe and drops the conversions.
func (c *Case) withoutDoubles(f *Finding, converts float64) {
	doubles := orZero(c.mix("DADD", "DMUL", "DFMA", "DSETP"))
	if doubles > 0 {
		f.Because("%s of the instructions are double-precision arithmetic", percent(doubles))
	}
	f.Places = c.HotOpcodes("F2F", "DADD", "DMUL", "DFMA")
	r := asNow()
	r.times(0, kernel.FP64).leave(1-converts, kernel.Issue)
	if xu := c.use(kernel.XU); converts > 0 && xu > 0 {
		// Each conversion takes a slot of XU, a sixteenth of the issue rate of an SM's four schedulers at 16 lanes a
		// clock.
		other := math.Max(0, 1-converts/math.Max(converts, c.mix("MUFU", "F2F", "F2I", "I2F", "FRND", "POPC")))
		r.times(other, kernel.XU)
	}
	if fma, u := c.use(kernel.FMA), c.use(kernel.FP64); fma >= 0 && u > 0 {
		ratio := c.fp64Ratio()
		if !(ratio >= 1) {
			ratio = 2
		}
		if fma > 0 {
			r.times(1+u/ratio/fma, kernel.FMA)
		}
	}
	// Blocks that load, compute and store once have waves of a length of their own, which doubles only lengthen.
	r.wait = c.waveFloor()
	if c.fp64Ratio() >= slowFP64 {
		r.wait = math.Max(r.wait, atMost) // nothing else is busy then, and throughput says little
		r.high = 4 * atMost
	}
	r.high = math.Min(1, math.Max(r.high, 1.3*r.wait))
	c.expect(f, r)
}
