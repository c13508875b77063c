package kernel

import (
	"cmp"
	"slices"
)

// A Resource is a hardware unit whose load is a share of what it can sustain.
type Resource string

// The resources. All but L1Whole count something that grows in proportion to the work, so that a share
// may be scaled: half of the bytes is half of the share. That is why lts__throughput and
// l1tex__throughput are not among them: they are the largest of several counters, some hidden, and
// lts__throughput reads 83 to 95 % on every kernel that DRAM limits. L1Whole is l1tex__throughput where
// a hidden part makes it larger than all that is shown: it says how busy L1 is, not by what.
const (
	DRAM   Resource = "dram"      // bytes from and to device memory
	L2     Resource = "l2"        // sectors looked up in L2
	L2Tag  Resource = "l2_tag"    // requests (up to 4 sectors each) looked up in L2
	L2Out  Resource = "l2_out"    // data on its way from L2 to the SMs
	L2In   Resource = "l2_in"     // requests and stored data on their way to L2: a partial sector costs a full one
	L1     Resource = "l1"        // wavefronts of L1 and shared memory: passes of one cycle each
	LSUIn  Resource = "lsu_in"    // instructions into the load/store unit: half rate on Turing
	L1Req  Resource = "l1_req"    // requests from L1 to L2
	L1Fill Resource = "l1_fill"   // sectors from L2 into L1
	Tex    Resource = "tex"       // texture unit
	Issue  Resource = "issue"     // issue slots of the schedulers
	FMA    Resource = "fma"       // FP32 (and integer multiply) pipe: both halves together
	Heavy  Resource = "fma_heavy" // the half of it that multiplies integers: full at 50 % of FMA; since 8.6
	ALU    Resource = "alu"       // integer and logic pipe
	FP16   Resource = "fp16"      // a pipe of its own up to compute capability 8.0
	FP64   Resource = "fp64"      // double precision pipe
	Tensor Resource = "tensor"    // matrix pipe
	XU     Resource = "xu"        // special functions, and conversions with a 64-bit or integer side

	L1Whole Resource = "l1_whole"
)

const ofPeak = ".avg.pct_of_peak_sustained_elapsed"

// loads has the names of each resource's load, in the order in which resources are listed.
var loads = []struct {
	Resource Resource
	Names    []string // without ofPeak; the first that was collected counts
}{
	{DRAM, []string{"gpu__dram_throughput", "dram__throughput", "dram__bytes"}},
	{L2, []string{"lts__t_sectors"}},
	{L2Tag, []string{"lts__t_tag_requests"}},
	{L2Out, []string{"lts__lts2xbar_cycles_active"}},
	{L2In, []string{"lts__xbar2lts_cycles_active"}},
	{L1, []string{"l1tex__data_pipe_lsu_wavefronts"}},
	{LSUIn, []string{"l1tex__lsuin_requests"}},
	{L1Req, []string{"l1tex__m_l1tex2xbar_req_cycles_active"}},
	{L1Fill, []string{"l1tex__m_xbar2l1tex_read_sectors"}},
	{Tex, []string{"l1tex__f_wavefronts", "l1tex__data_pipe_tex_wavefronts"}},
	{Issue, []string{"sm__issue_active", "sm__inst_executed", "sm__inst_issued"}},
	{FMA, []string{"sm__pipe_fma_cycles_active", "sm__inst_executed_pipe_fma"}},
	{Heavy, []string{"sm__pipe_fmaheavy_cycles_active", "sm__inst_executed_pipe_fmaheavy"}},
	{ALU, []string{"sm__pipe_alu_cycles_active", "sm__inst_executed_pipe_alu"}},
	{FP16, []string{"sm__inst_executed_pipe_fp16"}},
	{FP64, []string{"sm__pipe_fp64_cycles_active", "sm__inst_executed_pipe_fp64"}},
	{Tensor, []string{"sm__pipe_tc_cycles_active", "sm__pipe_tensor_cycles_active", "sm__inst_executed_pipe_tensor"}},
	{XU, []string{"sm__inst_executed_pipe_xu"}},
}

// Level says where a resource sits: "dram", "l2", "l1" or "compute".
func (r Resource) Level() string {
	switch r {
	case DRAM:
		return "dram"
	case L2, L2Tag, L2Out, L2In:
		return "l2"
	case L1, LSUIn, L1Req, L1Fill, Tex, L1Whole:
		return "l1"
	}
	return "compute"
}

// A Load is how busy a resource was: the share of what it can sustain over the whole launch.
type Load struct {
	Resource Resource
	Share    float64
}

// Load is how busy a resource was, as a share of what it can sustain. Traps: passes of a multi-pass
// measurement disagree by a few per cent, so that a share may be slightly above 1; and an absent pipe
// (tensor cores of a GTX 16) reads 0.
func (k *Kernel) Load(r Resource) (float64, bool) {
	for _, l := range loads {
		if l.Resource != r {
			continue
		}
		// Blackwell has a matrix pipe with two counters, of which one is idle: the larger counts.
		if r == Tensor {
			return k.largest(l.Names)
		}
		for _, name := range l.Names {
			if v, ok := k.percent(name + ofPeak); ok {
				if r == L1 {
					v *= k.wavefrontClocks()
				}
				return v, true
			}
		}
	}
	if r == DRAM {
		return k.dramLoadByBytes()
	}
	return 0, false
}

// wavefrontClocks is the clocks that a wavefront of L1 takes: one, and two on Turing, whose L1 moves half a line a
// clock (see l1BytesPerClock). The profiler's share of data_pipe_lsu_wavefronts is of one a clock there too, so that it
// ends at 50 %: of 37 launches on such chips none is above, and where it is 46 to 50 % l1tex__throughput is 92 to 99 %.
// On 8.0, 8.6 and 9.0 both are equal where nothing else of L1 is busier.
func (k *Kernel) wavefrontClocks() float64 {
	if cc, ok := k.Capability(); ok && cc == 75 {
		return 2
	}
	return 1
}

// L1Whole is the profiler's figure for L1 as a whole, the texture unit included, where it is larger than all parts
// that the report shows: a hidden part is busier then. On 7.0, 7.5, 8.6 and 12.0 one is twice as busy as the way from
// L1 to L2; whether it ever limits was not seen.
func (k *Kernel) L1Whole() (float64, bool) {
	whole, ok := k.percent("l1tex__throughput" + ofPeak)
	if !ok { // most sections have it of active cycles only
		v, ok1 := k.percent("l1tex__throughput.avg.pct_of_peak_sustained_active")
		active, ok2 := k.number("l1tex__cycles_active.avg")
		elapsed, ok3 := k.number("l1tex__cycles_elapsed.avg")
		share, ok4 := over(active, ok2, elapsed, ok3)
		if !ok4 {
			share, ok4 = k.ActiveShare()
		}
		whole, ok = v*min(share, 1), ok1 && ok4
	}
	if !ok {
		return 0, false
	}
	shown := false
	for _, l := range k.Loads() {
		if l.Resource.Level() == "l1" {
			shown = true
			if l.Share >= nearlyBusiest*whole {
				return 0, false
			}
		}
	}
	return whole, shown
}

// dramLoadByBytes is DRAM's load by the bytes that it moved and the time, for reports of single metrics without its
// load.
func (k *Kernel) dramLoadByBytes() (float64, bool) {
	b, ok := k.dramBandwidth()
	return over(b.Bytes, ok, b.Most, b.Most > 0)
}

func (k *Kernel) largest(names []string) (v float64, known bool) {
	for _, name := range names {
		if n, ok := k.percent(name + ofPeak); ok {
			v, known = max(v, n), true
		}
	}
	return v, known
}

// Loads is every resource whose load is known, the busiest first.
func (k *Kernel) Loads() []Load {
	var out []Load
	for _, l := range loads {
		if v, ok := k.Load(l.Resource); ok {
			out = append(out, Load{l.Resource, v})
		}
	}
	slices.SortStableFunc(out, func(a, b Load) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// Busiest is the resource with the largest load: the limiter, if anything limits by throughput. Known
// only if at least one memory and one compute resource were measured.
func (k *Kernel) Busiest() (Load, bool) {
	all := k.Loads()
	memory := slices.ContainsFunc(all, func(l Load) bool { return l.Resource.Level() != "compute" })
	compute := slices.ContainsFunc(all, func(l Load) bool { return l.Resource.Level() == "compute" })
	if !memory || !compute {
		return Load{}, false
	}
	return all[0], true
}

// Words says what a resource is.
func (r Resource) Words() string {
	switch r {
	case DRAM:
		return "DRAM bandwidth"
	case L2:
		return "L2 bandwidth"
	case L2Tag:
		return "L2 tag lookups"
	case L2Out:
		return "data from L2 to the SMs"
	case L2In:
		return "requests and stored data to L2"
	case L1:
		return "L1 and shared memory"
	case LSUIn:
		return "load and store instructions"
	case L1Req:
		return "requests from L1 to L2"
	case L1Fill:
		return "data from L2 into L1"
	case Tex:
		return "the texture unit"
	case Issue:
		return "instruction issue"
	case FMA:
		return "the FP32 pipe"
	case Heavy:
		return "the integer half of the FP32 pipe"
	case ALU:
		return "the integer pipe"
	case FP16:
		return "the FP16 pipe"
	case FP64:
		return "the FP64 pipe"
	case Tensor:
		return "the tensor pipe"
	case L1Whole:
		return "L1 as a whole"
	case XU:
		return "the XU pipe (special functions and conversions)"
	}
	return string(r)
}
