package kernel

import (
	"cmp"
	"slices"
)

// Roofline is where a kernel stands under the roofs of its device: a point for each precision in
// which it computed and each level of memory whose traffic is known.
type Roofline struct {
	Points []Point // precisions nearest to their peak first; DRAM, L2, L1 within each
	Peaks  []Peak  // what arithmetic was possible, of the same precisions
	// Bandwidths is what the levels moved and could, whether or not the kernel computed.
	Bandwidths []Bandwidth
}

// A Peak is arithmetic of one precision.
type Peak struct {
	// "fp64", "fp32", "fp16", "tensor fp16", "tensor bf16", "tensor tf32", "tensor fp8", "tensor fp64", ...
	Precision string
	Flops     float64 // a second, achieved
	Most      float64 // a second, at the clock of the measurement
	From      string  // how Most is known
}

// worthAPoint is the share of its peak below which a precision beside another that is ten times above it
// is not arithmetic of the algorithm: compilers move constants with HFMA2.
const worthAPoint = 0.01

func (p Peak) share() float64 { return p.Flops / p.Most }

// A Bandwidth is one level of memory.
type Bandwidth struct {
	Level string  // "dram", "l2", "l1"
	Bytes float64 // a second, moved
	Most  float64 // a second; 0: not known
	From  string  // how Most is known
}

// A Point is a kernel's place under one roof.
type Point struct {
	Precision, Level string
	Flops            float64 // a second, achieved
	Intensity        float64 // FLOP per byte of the level
	Peak             float64 // FLOP a second: the flat part of the roof
	Bandwidth        float64 // bytes a second: the slope
	Ridge            float64 // intensity where they meet
	Ceiling          float64 // FLOP a second that the roof allows at the kernel's intensity
	Reached          float64 // Flops / Ceiling
}

// Slope says that at the point's intensity the bandwidth is the roof, not the arithmetic.
func (p Point) Slope() bool { return p.Intensity < p.Ridge }

// ByEfficiency is how many times as fast the kernel would be under the same roof at its best: waiting
// and waste removed, traffic and arithmetic as they are.
func (p Point) ByEfficiency() float64 { return p.Ceiling / p.Flops }

// ByIntensity is how much the roof would rise if the kernel moved so few bytes at this level that
// arithmetic became its limit; 1: it is already.
func (p Point) ByIntensity() float64 { return p.Peak / p.Ceiling }

// Roofline is where the kernel stands; nil: neither arithmetic nor traffic was collected.
func (k *Kernel) Roofline() *Roofline {
	r := &Roofline{Peaks: append(k.vectorPeaks(), k.tensorPeaks()...)}
	r.Peaks = slices.DeleteFunc(r.Peaks, func(p Peak) bool { return p.Flops <= 0 || p.Most <= 0 })
	slices.SortStableFunc(r.Peaks, func(a, b Peak) int { return cmp.Compare(b.share(), a.share()) })
	r.Peaks = slices.DeleteFunc(r.Peaks, func(p Peak) bool {
		return p.share() < worthAPoint &&
			p.share() < worthAPoint*10*r.Peaks[0].share()
	})
	for _, level := range []func() (Bandwidth, bool){k.dramBandwidth, k.l2Bandwidth, k.l1Bandwidth} {
		if b, ok := level(); ok {
			r.Bandwidths = append(r.Bandwidths, b)
		}
	}
	if len(r.Peaks) == 0 && len(r.Bandwidths) == 0 {
		return nil
	}
	for _, p := range r.Peaks {
		for _, b := range r.Bandwidths {
			if b.Bytes <= 0 || b.Most <= 0 {
				continue
			}
			at := Point{Precision: p.Precision, Level: b.Level, Flops: p.Flops, Intensity: p.Flops / b.Bytes,
				Peak: p.Most, Bandwidth: b.Most, Ridge: p.Most / b.Most}
			at.Ceiling = min(at.Peak, at.Bandwidth*at.Intensity)
			at.Reached = at.Flops / at.Ceiling
			r.Points = append(r.Points, at)
		}
	}
	return r
}

// How a ceiling is known.
const (
	fromCounters   = "the profiler's peak at the measured clock"
	fromAttributes = "the device's attributes"
	fromLoad       = "what was moved, divided by the share of the peak that it was"
	fromDesign     = "the architecture's rate at the measured clock"
)

// vector is the precisions of the ordinary pipes: the counters of an operation, and the FLOP of each
// thread instruction. FP16 instructions do two elements (HFMA2), also where 2023's own formula
// counted one: on an A10G that gave half of the FP32 rate, which the chip matches.
var vector = []struct {
	precision, fma, add, mul string
	perFMA, perOther         float64
}{
	{"fp64", "dfma", "dadd", "dmul", 2, 1},
	{"fp32", "ffma", "fadd", "fmul", 2, 1},
	{"fp16", "hfma", "hadd", "hmul", 4, 2},
}

func (k *Kernel) vectorPeaks() []Peak {
	var out []Peak
	for _, v := range vector {
		fma, ok := k.ThreadOps(v.fma)
		if !ok {
			continue
		}
		// FP16 sums and products were counted by few versions: without them FLOP are a lower bound.
		add, ok1 := k.ThreadOps(v.add)
		mul, ok2 := k.ThreadOps(v.mul)
		if (!ok1 || !ok2) && v.precision != "fp16" {
			continue
		}
		p := Peak{Precision: v.precision, Flops: v.perFMA*fma + v.perOther*(add+mul)}
		p.Most, p.From = k.vectorMost(v.precision, v.fma)
		p.Most *= v.perFMA
		out = append(out, p)
	}
	return out
}

// vectorMost is multiply-add instructions a second at most, over all threads.
func (k *Kernel) vectorMost(precision, fma string) (float64, string) {
	hz, ok := k.Rate("sm")
	if !ok {
		khz, known := k.Attribute("clock_rate")
		hz, ok = khz*1000, known
	}
	sms, known := k.SMs()
	if !ok || !known {
		return 0, ""
	}
	base := "sm__sass_thread_inst_executed_op_" + fma + "_pred_on"
	if v, ok := k.number(base + ".sum.peak_sustained"); ok {
		return v * hz, fromCounters
	}
	if v, ok := k.number(base + ".avg.peak_sustained"); ok {
		return v * sms * hz, fromCounters
	}
	cc, _ := k.Capability()
	return lanesPerClock(cc, precision) * sms * hz, fromDesign
}

// lanesPerClock is multiply-adds of an SM per clock: read from reports for 7.0, 7.5, 8.0, 8.6, 9.0 and
// 10.0, from the CUDA programming guide's table of arithmetic throughput for 8.9 and 12.0. 0: not known.
func lanesPerClock(cc int, precision string) float64 {
	switch precision {
	case "fp32":
		switch cc {
		case 70, 72, 75, 80:
			return 64
		case 86, 87, 89, 90, 100, 103, 120:
			return 128
		}
	case "fp64":
		switch cc {
		case 70, 80:
			return 32
		case 72, 75, 86, 87, 89, 120:
			return 2
		case 90, 100:
			return 64
		}
	}
	return 0
}

// dramBandwidth is device memory. In a kernel shorter than shortForClocks the measured clock is wrong
// (a V100's read 377 to 532 of 877 MHz): the larger of the two ceilings counts there.
func (k *Kernel) dramBandwidth() (Bandwidth, bool) {
	b := Bandwidth{Level: "dram"}
	us, timed := k.Microseconds()
	if !timed || us <= 0 {
		return b, false
	}
	read, write, ok := k.DRAMBytes()
	bytes := read + write
	if !ok {
		bytes, ok = k.DRAMBytesByRate()
	}
	if !ok {
		return b, false
	}
	b.Bytes = bytes / (us * 1e-6)
	b.Most, b.From = k.DRAMPeak()
	return b, true
}

// shortForClocks is the duration in microseconds below which clocks are measured wrong: on a V100 held at
// 1.29 GHz, kernels of 11 to 14 us read 0.55 to 0.78.
const shortForClocks = 50

// DRAMPeak is the bytes a second that device memory could move; 0: not known.
func (k *Kernel) DRAMPeak() (most float64, from string) {
	if peak, ok := k.number("dram__bytes.sum.peak_sustained"); ok {
		if hz, ok := k.Rate("dram"); ok {
			most, from = peak*hz, fromCounters
		}
	}
	khz, ok1 := k.Attribute("memory_clock_rate")
	bits, ok2 := k.Attribute("global_memory_bus_width")
	us, timed := k.Microseconds()
	if stated := 2 * khz * 1000 * bits / 8; ok1 && ok2 && stated > most &&
		(most == 0 || !timed || us < shortForClocks) {
		most, from = stated, fromAttributes
	}
	return most, from
}

// l2Bandwidth is the sectors that L2 moved for the SMs in both directions, against the peak that their
// own load implies. The profiler's own roofline counts what L2 gives alone, and shows a kernel that L2
// limits by its stores at 7 % of the roof; it stands in where a report has nothing else.
func (k *Kernel) l2Bandwidth() (Bandwidth, bool) {
	b := Bandwidth{Level: "l2"}
	us, timed := k.Microseconds()
	bytes, ok := k.L2TexBytes()
	share, loaded := k.percent("lts__t_sectors_srcunit_tex" + ofPeak)
	if timed && us > 0 && ok && loaded && share >= leastImplying {
		b.Bytes = bytes / (us * 1e-6)
		b.Most, b.From = b.Bytes/share, fromLoad
		return b, true
	}
	moved, ok := k.number("derived__lts__lts2xbar_bytes.sum.per_second")
	if !ok {
		return b, false
	}
	b.Bytes = moved
	peak, ok1 := k.number("derived__lts__lts2xbar_bytes.sum.peak_sustained")
	hz, ok2 := k.Rate("lts")
	if ok1 && ok2 {
		b.Most, b.From = peak*hz, fromCounters
	}
	return b, true
}

// leastImplying is the load from which a peak may be calculated from it: below, its digits are too few.
const leastImplying = 0.01

// l1Bandwidth is what L1 and shared memory gave to registers since 2023; before, the sectors of global
// and local accesses, which is less by the traffic of shared memory.
func (k *Kernel) l1Bandwidth() (Bandwidth, bool) {
	b := Bandwidth{Level: "l1"}
	hz, clocked := k.Rate("l1tex")
	if !clocked {
		hz, clocked = k.Rate("sm")
	}
	for _, name := range []string{"derived__l1tex__lsu_writeback_bytes_mem_lgds",
		"derived__l1tex__lsu_writeback_bytes_mem_lg"} {
		moved, ok := k.number(name + ".sum.per_second")
		if !ok {
			continue
		}
		b.Bytes = moved
		if peak, ok := k.number(name + ".sum.peak_sustained"); ok && clocked {
			b.Most, b.From = peak*hz, fromCounters
		}
		return b, true
	}
	us, timed := k.Microseconds()
	sectors, ok := k.sum(
		"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
		"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum")
	if !timed || us <= 0 || !ok {
		return b, false
	}
	b.Bytes = sectors * SectorBytes / (us * 1e-6)
	if sms, ok := k.SMs(); ok && clocked {
		cc, _ := k.Capability()
		b.Most, b.From = l1BytesPerClock(cc)*sms*hz, fromDesign
	}
	return b, true
}

// l1BytesPerClock of an SM: a line, and half of it on Turing (Jia et al., Dissecting the NVidia Turing T4
// GPU via Microbenchmarking, 2019), whose load/store unit takes an instruction every other clock.
func l1BytesPerClock(cc int) float64 {
	if cc == 75 {
		return LineBytes / 2
	}
	return LineBytes
}
