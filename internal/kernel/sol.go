package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SpeedOfLight is how near a kernel comes to what its device can sustain, and what holds it back.
type SpeedOfLight struct {
	// SM and Memory are the profiler's two headline shares, 0 to 1; -1: not collected. Each is the
	// largest of its parts, some of which the profiler hides.
	SM, Memory           float64
	SMParts, MemoryParts []Part // what they are the largest of, the largest first; nil: the file does not say
	Loads                []Load // units, the busiest first; L1Whole is among them where it is the busiest of L1
	Class                Class  // Unclassified: too little was collected
	Why                  string // the class in a sentence
	limiter              Load
	limiterKnown         bool
}

// A Part is a metric that a headline share is the largest of.
type Part struct {
	Metric string
	Share  float64
}

// A Class is what bounds a kernel.
type Class string

// The classes.
const (
	Unclassified Class = ""
	Compute      Class = "compute"     // arithmetic or the issue of instructions
	MemoryDRAM   Class = "memory:dram" // device memory
	MemoryL2     Class = "memory:l2"
	MemoryL1     Class = "memory:l1"  // L1, shared memory, and the way into them
	Latency      Class = "latency"    // no unit is busy: warps wait
	Launch       Class = "launch"     // too short, or too few blocks, to use the device
	NearLimit    Class = "near_limit" // does what must be done, at the peak of the unit that does it
)

const (
	// limitFrom is the load from which a unit limits: below it latency does. It is the profiler's own
	// line; between 0.6 and 0.7 no kernel of the corpus changes sides.
	limitFrom = 0.6
	// LaunchUs is the duration below which start and end of a kernel (2 to 4 us) are a good part of
	// it, so that the loads say little about its work.
	LaunchUs = 10
	// peakFrom is the load that streaming kernels and hand-written arithmetic reach: 0.85 to 0.96 on
	// six chips, 0.80 being the least; with writes, the bus of DRAM turns around and 0.72 is what is left.
	peakFrom           = 0.80
	peakFromWithWrites = 0.72
	writesMatter       = 0.2 // of DRAM bytes
	// nearlyBusiest is how near loads are that cannot be told apart: passes disagree by up to 5 %.
	nearlyBusiest = 0.95
)

// class of a kernel that a resource limits.
func (r Resource) class() Class {
	switch r.Level() {
	case "dram":
		return MemoryDRAM
	case "l2":
		return MemoryL2
	case "l1":
		return MemoryL1
	}
	return Compute
}

// SpeedOfLight is how near the kernel comes to its device's limits; nil: nothing of it was collected.
func (k *Kernel) SpeedOfLight() *SpeedOfLight { return k.sol.get(k.deriveSOL) }

func (k *Kernel) deriveSOL() *SpeedOfLight {
	s := &SpeedOfLight{SM: -1, Memory: -1, Loads: k.Loads()}
	if v, ok := k.percent("sm__throughput" + ofPeak); ok {
		s.SM = v
	}
	if v, ok := k.percent("gpu__compute_memory_throughput"+ofPeak, "gpu__compute_memory_request_throughput"+
		ofPeak); ok {
		s.Memory = v
	}
	s.SMParts = k.breakdown("sm__throughput" + ofPeak)
	s.MemoryParts = k.breakdown("gpu__compute_memory_throughput" + ofPeak)
	if s.SM < 0 && s.Memory < 0 && len(s.Loads) == 0 {
		if _, timed := k.Microseconds(); !timed {
			return nil
		}
	}
	s.limiter, s.limiterKnown = k.Busiest()
	if whole, ok := k.L1Whole(); ok {
		at, _ := slices.BinarySearchFunc(s.Loads, whole, func(l Load, share float64) int {
			return cmp.Compare(share, l.Share)
		})
		s.Loads = slices.Insert(s.Loads, at, Load{L1Whole, whole})
	}
	s.Class, s.Why = k.classify(s)
	return s
}

// Limiter is the busiest resource, in the sense of Busiest.
func (s *SpeedOfLight) Limiter() (Load, bool) { return s.limiter, s.limiterKnown }

// breakdown is the parts of a throughput, which the file lists under the metric's name.
func (k *Kernel) breakdown(metric string) []Part {
	list, ok := k.Launch.Text("breakdown:" + metric)
	if !ok {
		return nil
	}
	var out []Part
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if v, ok := k.percent(name); ok {
			out = append(out, Part{name, v})
		}
	}
	slices.SortStableFunc(out, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// busiestPart is the largest part of both headlines: units that are seldom busy, such as the constant
// cache, are not among the loads.
func (s *SpeedOfLight) busiestPart() (Part, bool) {
	var best Part
	for _, parts := range [][]Part{s.SMParts, s.MemoryParts} {
		if len(parts) > 0 && parts[0].Share > best.Share {
			best = parts[0]
		}
	}
	return best, best.Metric != ""
}

// rareParts is units that are not among the loads, by the beginning of their metrics.
var rareParts = []struct {
	prefix, words string
	class         Class
}{
	{"idc__", "the constant cache", Compute},
	{"sm__inst_executed_pipe_adu", "the address divergence unit (ADU)", Compute},
	{"sm__inst_executed_pipe_cbu", "the branch unit (CBU)", Compute},
	{"sm__inst_executed_pipe_uniform", "the uniform pipe", Compute},
	{"sm__mio", "the memory input/output queue (MIO)", MemoryL1},
	{"sm__memory_throughput", "the SM's memory pipelines", MemoryL1},
	{"l1tex__", "L1 and shared memory", MemoryL1},
	{"lts__", "L2", MemoryL2},
	{"dram__", "DRAM", MemoryDRAM},
	{"fbpa__", "DRAM", MemoryDRAM},
}

func (p Part) words() string {
	for _, r := range rareParts {
		if strings.HasPrefix(p.Metric, r.prefix) {
			return r.words
		}
	}
	name, _, _ := strings.Cut(p.Metric, ".")
	return name
}

func (p Part) class() Class {
	for _, r := range rareParts {
		if strings.HasPrefix(p.Metric, r.prefix) {
			return r.class
		}
	}
	return Compute
}

// classify says what bounds the kernel, and why in a sentence.
func (k *Kernel) classify(s *SpeedOfLight) (Class, string) {
	us, timed := k.Microseconds()
	if timed && us < LaunchUs {
		return Launch, fmt.Sprintf("it takes %.1f µs, of which start and end are a large part", us)
	}
	most, what, known := s.limiter.Share, s.limiter.Resource, s.limiterKnown
	whole, _ := k.L1Whole()
	if known && whole >= peakFrom && whole*nearlyBusiest > most {
		return MemoryL1, fmt.Sprintf("L1 as a whole is at %s of its peak by the profiler's figure, whose busiest part "+
			"this report does not show; of what it shows, %s is busiest, at %s", percentText(whole), what.Words(),
			percentText(most))
	}
	if known && most >= limitFrom {
		return k.classifyBusy(most, what)
	}
	if !known || !k.allLevels() {
		return k.classifyByHeadlines(s)
	}
	if part, ok := s.busiestPart(); ok && part.Share >= limitFrom {
		return part.class(), fmt.Sprintf("the busiest unit is %s, at %s of its peak", part.words(),
			percentText(part.Share))
	}
	grid, ok1 := k.GridBlocks()
	sms, ok2 := k.SMs()
	if ok1 && ok2 && grid < sms {
		blocks := fmt.Sprintf("its %.0f blocks leave", grid)
		if grid == 1 {
			blocks = "its one block leaves"
		}
		return Launch, fmt.Sprintf("%s %.0f of %.0f SMs idle, and no unit of the GPU is busy", blocks, sms-grid, sms)
	}
	why := fmt.Sprintf("no unit reaches %s of its peak (the busiest, %s, is at %s)", percentText(limitFrom),
		what.Words(), percentText(most))
	if whole >= limitFrom {
		why = fmt.Sprintf("no unit is near its limit (the busiest, L1 as a whole, is at %s of its peak by the profiler's "+
			"figure; of what this report shows, %s, at %s)", percentText(whole), what.Words(), percentText(most))
	}
	if stalls := k.Stalls(); stalls != nil {
		if words := stalls.Words(); words != "" {
			why += "; " + words
		}
	}
	return Latency, why
}

// allLevels says that a unit of every level was measured: only then may one say that none is busy.
func (k *Kernel) allLevels() bool {
	for _, r := range []Resource{DRAM, L2, L1, Issue} {
		if _, ok := k.Load(r); !ok {
			return false
		}
	}
	return true
}

// classifyBusy is for kernels in which a unit is busy enough to limit.
func (k *Kernel) classifyBusy(most float64, what Resource) (Class, string) {
	for _, l := range k.Loads() { // issue slots fill as a pipe does: what does the work is the better name
		if l.Resource.doesTheWork() && l.Share >= nearlyBusiest*most {
			what, most = l.Resource, l.Share
			break
		}
	}
	if class, why := k.busyL2(what, most); why != "" {
		return class, why
	}
	why := fmt.Sprintf("the busiest unit is %s, at %s of its peak", what.Words(), percentText(most))
	said, known := k.percent("gpu__compute_memory_throughput"+ofPeak, "gpu__compute_memory_request_throughput"+ofPeak)
	if what == L1 && known && said <= most/k.wavefrontClocks()/nearlyBusiest && k.wavefrontClocks() > 1 {
		why += " (the profiler's memory figure shows half of it on this chip)"
	}
	from := peakFrom
	if what == DRAM && k.writeShare() >= writesMatter {
		from = peakFromWithWrites
	}
	if most < from {
		return what.class(), why
	}
	if !what.doesTheWork() {
		if _, ok := k.Lanes(); !ok && what.class() == Compute {
			why += "; this report does not show whether that is work or waste"
		}
		return what.class(), why
	}
	waste, measured := k.waste(what)
	switch {
	case waste != "":
		return what.class(), why + ", but " + waste
	case !measured:
		return what.class(), why + "; whether all of that is needed was not measured"
	}
	return NearLimit, why + ", and no counter shows waste"
}

// busyL2 is for kernels in which a part of L2 is as busy as the busiest unit of another level, L1 as a rule: the
// profiler's figure for L2 as a whole, with parts that it does not show, then says which of both holds the kernel up.
// Where DRAM limits, that figure is high as well, and means nothing.
func (k *Kernel) busyL2(what Resource, most float64) (Class, string) {
	whole, ok := k.percent("lts__throughput" + ofPeak)
	if !ok || what == DRAM || whole < peakFrom || whole*nearlyBusiest < most {
		return Unclassified, ""
	}
	for _, l := range k.Loads() {
		if l.Resource.Level() == "l2" && l.Share >= nearlyBusiest*most && what.Level() != "l2" {
			return MemoryL2, fmt.Sprintf("%s are at %s of their peak, L2 as a whole by the profiler's figure at %s; the "+
				"busiest unit elsewhere, %s, is at %s", l.Resource.Words(), percentText(l.Share), percentText(whole),
				what.Words(), percentText(most))
		}
	}
	return Unclassified, ""
}

// doesTheWork says that the resource does what must be done, rather than being one way to do it: L1,
// L2 and issue slots can be saved by keeping data closer and by wider instructions.
func (r Resource) doesTheWork() bool {
	switch r {
	case DRAM, FMA, FP16, FP64, Tensor, XU:
		return true
	}
	return false
}

// Arithmetic says that the resource is a pipe that computes with floating-point numbers.
func (r Resource) Arithmetic() bool {
	switch r {
	case FMA, FP16, FP64, Tensor:
		return true
	}
	return false
}

func (k *Kernel) writeShare() float64 {
	read, write, ok := k.DRAMBytes()
	v, _ := over(write, ok, read+write, ok)
	return v
}

// Shares from which work of a unit counts as wasted.
const (
	wastedSectors = 0.25 // of those that global accesses ask for: a quarter of the traffic
	movedTwice    = 1.15 // DRAM bytes of one direction over all bytes that there are
	fullLanes     = 24   // of 32: the profiler's own line
	fusable       = 0.1  // of FP32 instructions: adds and products that one instruction could do
)

// waste says what of a busy unit's work need not be done, as far as counters show; "": nothing, if that
// was measured.
func (k *Kernel) waste(r Resource) (what string, measured bool) {
	if r == DRAM {
		return k.dramWaste()
	}
	lanes, ok := k.Lanes()
	if !ok {
		return "", false
	}
	if lanes < fullLanes {
		return fmt.Sprintf("only %.1f of 32 lanes are active", lanes), true
	}
	if r == FMA {
		f := k.fusion("ffma", "fadd", "fmul")
		if f == nil {
			return "", false
		}
		if f.Fusable >= fusable {
			return "multiplies and adds are not fused", true
		}
	}
	return "", true
}

func (k *Kernel) dramWaste() (what string, measured bool) {
	read, write, ok1 := k.DRAMBytes()
	moved := read + write
	// Sectors that are asked for needlessly cost DRAM nothing where L1 or L2 keeps them until they are used.
	excess, ok2 := k.ExcessiveShare()
	useful, _ := k.UsefulBytes()
	if ok1 && ok2 && excess >= wastedSectors && useful < (1-wastedSectors)*moved {
		return percentText(1-useful/moved) + " of the bytes that it moves are never used", true
	}
	all, ok3 := k.AccessibleBytes()
	// each byte may be read and written: only one direction by itself shows that some moved twice
	if most := max(read, write); ok1 && ok3 && most > movedTwice*all {
		return "it moves " + few(most/all) + " times the bytes that there are in one direction", true
	}
	// More than there is in both directions together may be an update in place, or passes: not known.
	return "", ok1 && (ok2 || ok3) && !(ok3 && moved > movedTwice*all)
}

// classifyByHeadlines is for reports with only the two headline shares.
func (k *Kernel) classifyByHeadlines(s *SpeedOfLight) (Class, string) {
	dram, moved := k.Load(DRAM)
	switch {
	case (s.SM < 0 || s.Memory < 0) && moved && dram >= peakFromWithWrites:
		return MemoryDRAM, fmt.Sprintf("DRAM moves %s of the bytes that it can in that time, about what good kernels reach",
			percentText(dram))
	case s.SM < 0 || s.Memory < 0:
		return Unclassified, ""
	case max(s.SM, s.Memory) < limitFrom:
		return Latency, fmt.Sprintf("neither compute (%s) nor memory (%s) reaches %s of its peak", percentText(s.SM),
			percentText(s.Memory), percentText(limitFrom))
	case s.SM >= s.Memory:
		return Compute, fmt.Sprintf("compute is at %s of its peak, memory at %s", percentText(s.SM),
			percentText(s.Memory))
	}
	if moved && dram >= nearlyBusiest*s.Memory {
		return MemoryDRAM, fmt.Sprintf("DRAM is at %s of its peak, compute at %s", percentText(dram), percentText(s.SM))
	}
	return Unclassified, fmt.Sprintf("memory is at %s of its peak, compute at %s; which level of memory was not "+
		"measured", percentText(s.Memory), percentText(s.SM))
}
