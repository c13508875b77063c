// Package kernelreport gathers the answer to "why is this kernel slow": launches of the same code and
// size become one kernel with its spread; what package kernel derives and package kernelrules finds of
// it is put beside each other. It judges nothing and formats nothing: its types are the JSON contract
// of `lacuna kernel`, and writers print them.
//
// Times are microseconds, shares are 0 to 1, percentages say so in their names. What was not measured
// is null or not there, never zero.
package kernelreport

// Schema is the version of the JSON contract. Fields are added, never renamed.
const Schema = 1

// A Report is what `lacuna kernel` says of one kernel report, or of several.
type Report struct {
	Schema  int      `json:"schema"`
	Inputs  []Input  `json:"inputs"`
	Device  Device   `json:"device"`            // the GPU of the first kernel
	Devices []Device `json:"devices,omitempty"` // all, if kernels ran on more than one kind
	Kernels []Kernel `json:"kernels"`
	// many launches too short to tune; nil: they are few, or not most of the time
	Short   *ShortLaunches `json:"short_launches,omitempty"`
	Capture Capture        `json:"capture"`
}

// An Input is a file that was read.
type Input struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Producer string `json:"producer"`
	Host     string `json:"host"`
	Created  string `json:"created"` // RFC 3339, UTC; "": not said
	Command  string `json:"command"` // that was profiled; "": not said
	Program  string `json:"program"` // the same without the profiler; "": not said
	Launches int    `json:"launches"`
}

// A Device is a GPU as the report describes it. What is 0 or "" is not known.
type Device struct {
	ID                int     `json:"id"`
	Name              string  `json:"name"`
	ComputeCapability string  `json:"compute_capability"` // "9.0"
	SMs               int     `json:"sms"`
	ClockGHz          float64 `json:"clock_ghz"`    // the most that its SMs run at
	MemoryGBs         float64 `json:"memory_gbs"`   // the most that its DRAM moves, 10^9 bytes a second
	L2Bytes           float64 `json:"l2_bytes"`     // of the whole chip
	MemoryBytes       float64 `json:"memory_bytes"` // DRAM
}

// A Kernel is the launches of one function with one grid and block on one device.
type Kernel struct {
	Input      int       `json:"input"`    // position in Report.Inputs
	Launches   []int     `json:"launches"` // their positions in that input, from 0
	Launch     int       `json:"launch"`   // the one that everything below is of: the one of median time
	Name       string    `json:"name"`     // demangled, with its parameters, as the report has it
	Base       string    `json:"base"`     // the name alone
	Mangled    string    `json:"mangled"`  // "": not said
	Device     int       `json:"device"`
	Grid       [3]uint32 `json:"grid"`
	Block      [3]uint32 `json:"block"`
	Range      []string  `json:"range,omitempty"` // NVTX ranges around it, outermost first
	Count      int       `json:"count"`
	DurationUs *float64  `json:"duration_us"`      // median; null: not measured
	Spread     *Spread   `json:"spread,omitempty"` // nil: fewer than two were measured
	TotalUs    float64   `json:"total_us"`         // of all its launches; 0: not measured
	Share      float64   `json:"share_of_total"`   // of the time of all kernels in the answer

	Clock *Clock `json:"clock,omitempty"` // nil: at full clock, or not known
	// compute, memory:dram, memory:l2, memory:l1, latency, launch, near_limit; "": not known
	Class      string      `json:"class"`
	ClassWhy   string      `json:"class_why"`   // in a sentence
	Limiter    string      `json:"limiter"`     // the unit that is busiest, in words; "": not known
	SOL        *SOL        `json:"sol"`         // null: not collected
	Roofline   []Point     `json:"roofline"`    // nothing: not collected
	Occupancy  *Occupancy  `json:"occupancy"`   // null: not collected
	Stalls     Stalls      `json:"stalls"`      // share of each reason; nothing: not collected
	StallParts []StallPart `json:"stall_parts"` // in words, most first
	StallWhy   string      `json:"stall_why"`   // in a sentence; "": nothing stands out
	// StallsSampled says that stalls are shares of samples: the exact counters were not collected.
	StallsSampled bool    `json:"stalls_sampled"`
	Memory        *Memory `json:"memory"`    // null: not collected
	Mix           *Mix    `json:"mix"`       // null: not collected
	Lines         []Line  `json:"source"`    // hot lines or instructions, worst first
	LinesOf       string  `json:"source_of"` // what Share in source is of: "samples"

	Findings []Finding `json:"findings"`
	Together *Together `json:"together,omitempty"` // all fixes at once; nil: fewer than two have a prediction
	// true of the kernel, but worth too little, or the kernel is too short to say
	Mentioned []Finding   `json:"mentioned"`
	Abstained []Abstained `json:"abstained"`
	Missing   []Missing   `json:"missing"`       // parts of this answer that the report does not hold
	Profiler  []Said      `json:"profiler_says"` // what the profiler's own rules said
}

// A Clock is what the SMs ran at while a kernel was measured, below what they can: the profiler holds
// clocks down so that measurements repeat.
type Clock struct {
	SMGHz     float64 `json:"sm_ghz"`
	BoostGHz  float64 `json:"boost_ghz"`
	Locked    bool    `json:"locked"`      // by the profiler
	AtBoostUs float64 `json:"at_boost_us"` // the kernel's time at full clock, between low and high
	LowUs     float64 `json:"low_us"`
	HighUs    float64 `json:"high_us"`
	Why       string  `json:"why"` // in a sentence
}

// Stalls is the share of each stall reason, 0 to 1.
type Stalls map[string]float64

// A Spread is how much launches of one kernel differ.
type Spread struct {
	MinUs  float64 `json:"min_us"`
	MaxUs  float64 `json:"max_us"`
	MeanUs float64 `json:"mean_us"`
	// QuartilesOverMedian is the distance of the quartiles as a share of the median.
	QuartilesOverMedian float64 `json:"quartiles_over_median"`
}

// SOL is the speed of light: how near the kernel is to what the device can do at most.
type SOL struct {
	SMPct     *float64  `json:"sm_pct"`
	MemoryPct *float64  `json:"memory_pct"`
	Parts     []SOLPart `json:"parts"` // units, busiest first
}

// A SOLPart is one unit's use.
type SOLPart struct {
	Name string  `json:"name"` // "dram", "issue"
	What string  `json:"what"` // in words
	Pct  float64 `json:"pct"`  // of what it can do at most
}

// A Point is a kernel's place in the roofline of one precision and level of memory.
type Point struct {
	Precision string  `json:"precision"` // fp64, fp32, fp16, "tensor fp16", "tensor bf16" ...
	Level     string  `json:"level"`     // dram, l2, l1
	Flops     float64 `json:"flops"`     // achieved, per second
	Intensity float64 `json:"intensity"` // FLOP per byte of that level
	Ceiling   float64 `json:"ceiling"`   // FLOP per second that is possible at that intensity
	Peak      float64 `json:"peak_flops"`
	Bandwidth float64 `json:"bandwidth"` // bytes per second, of that level at most
	Ridge     float64 `json:"ridge"`     // intensity from which arithmetic is the limit
	RoofPct   float64 `json:"roof_pct"`  // achieved of Ceiling
	// ByEfficiency is how many times as fast it would be under the same roof at its best.
	ByEfficiency float64 `json:"by_efficiency"`
	// ByIntensity is how many times the roof would rise if it moved so few bytes that arithmetic were the limit.
	ByIntensity float64 `json:"by_intensity"`
}

// Occupancy is how many warps an SM holds, of those that it could.
type Occupancy struct {
	TheoreticalPct *float64 `json:"theoretical_pct"`
	AchievedPct    *float64 `json:"achieved_pct"`
	// registers, shared memory, barriers, warps, blocks; "": nothing
	Limiter     string   `json:"limiter"`
	Limiting    []string `json:"limiting,omitempty"` // all that limit alike
	BlocksPerSM int      `json:"blocks_per_sm"`
	Threads     int      `json:"threads_per_block"`
	Registers   int      `json:"registers_per_thread"`
	SharedBytes int      `json:"shared_bytes_per_block"`
	Waves       *float64 `json:"waves"`
	TailPct     *float64 `json:"tail_pct"` // of the slots of all waves that are empty
	Steps       []Step   `json:"steps_up"` // what more would take
}

// A Step is a change of a launch that raises its occupancy.
type Step struct {
	Needs string  `json:"needs"` // "56 registers per thread (has 64)"
	Pct   float64 `json:"theoretical_pct"`
}

// A StallPart is a group of stall reasons.
type StallPart struct {
	Name    string   `json:"name"` // "Long Scoreboard: waiting for L1TEX results"
	Share   float64  `json:"share"`
	Cycles  *float64 `json:"cycles_per_instruction,omitempty"` // of a warp, from one instruction to the next
	Reasons []string `json:"reasons"`                          // the profiler's names, most first
}

// Memory is the traffic between the levels of memory.
type Memory struct {
	Links    []Link   `json:"links"`    // from the kernel outwards
	Accesses []Access `json:"accesses"` // what instructions asked for
	Shared   *Shared  `json:"shared"`   // null: not collected, or not used
	Notes    []string `json:"notes"`    // what of it stands out, in sentences
}

// A Link is the traffic between two levels.
type Link struct {
	From       string   `json:"from"`
	To         string   `json:"to"`
	ReadBytes  *float64 `json:"read_bytes"`
	WriteBytes *float64 `json:"write_bytes"`
	HitPct     *float64 `json:"hit_pct"`  // of what arrived at To, found there
	UsedPct    *float64 `json:"used_pct"` // of what To can do at most
}

// An Access is loads or stores of one space.
type Access struct {
	Space             string   `json:"space"` // global, local
	Op                string   `json:"op"`    // load, store, reduction, atomic
	Requests          float64  `json:"requests"`
	SectorsPerRequest float64  `json:"sectors_per_request"`
	HitPct            *float64 `json:"hit_pct"`               // in L1
	UsedBytes         *float64 `json:"used_bytes_per_sector"` // of 32
}

// Shared is shared memory: its passes, and those that bank conflicts cost.
type Shared struct {
	Wavefronts   float64 `json:"wavefronts"`
	ConflictsPct float64 `json:"conflicts_pct"`
	Ways         float64 `json:"ways"` // passes over those needed
	Exact        bool    `json:"exact"`
}

// Mix is what instructions a kernel executes.
type Mix struct {
	Instructions *float64  `json:"instructions"` // executed by warps
	Lanes        *float64  `json:"lanes"`        // of 32 that work, on average
	Parts        []MixPart `json:"parts"`        // nothing: opcodes were not collected
	Notes        []string  `json:"notes"`
}

// A MixPart is a class of instructions.
type MixPart struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// A Line is where in the source something happens.
type Line struct {
	File     string  `json:"file"`
	Line     int     `json:"line"`
	Text     string  `json:"text"`
	Function string  `json:"function"`
	Offset   uint64  `json:"offset"` // of the worst instruction, from the function's start
	SASS     string  `json:"sass"`
	Share    float64 `json:"share"`
	Why      string  `json:"why,omitempty"`    // for what warps mostly wait there, in words
	Reason   string  `json:"reason,omitempty"` // the same, as the profiler calls it
}

// A Finding is a fault inside a kernel and what its fix is predicted to bring.
type Finding struct {
	Rule        string  `json:"rule"`
	Title       string  `json:"title"`
	Confidence  float64 `json:"confidence"`
	Healthy     bool    `json:"healthy"`      // nothing is wrong: the kernel is at a limit
	PredictedUs float64 `json:"predicted_us"` // the kernel's time after the fix; 0: not predicted
	LowUs       float64 `json:"low_us"`
	HighUs      float64 `json:"high_us"`
	// AtBoostUs is PredictedUs at full clock, where the profiler held clocks down; 0: the same, or not known.
	AtBoostUs float64  `json:"predicted_at_boost_us,omitempty"`
	Next      string   `json:"next"` // what limits the kernel then
	Evidence  []string `json:"evidence"`
	Where     []Line   `json:"where"`
	Fix       string   `json:"fix"`
	RefutedBy string   `json:"refuted_by"`
	SameAs    string   `json:"same_as,omitempty"`
	SymptomOf string   `json:"symptom_of,omitempty"`
}

// Together is the kernel's time once all findings are fixed: their gains do not add up.
type Together struct {
	PredictedUs float64 `json:"predicted_us"`
	LowUs       float64 `json:"low_us"`
	HighUs      float64 `json:"high_us"`
	Next        string  `json:"next"`
}

// Abstained is something that could not be judged: the form in which lacuna says "I cannot tell".
type Abstained struct {
	Rule      string `json:"rule"`
	Reason    string `json:"reason"`
	Missing   string `json:"missing"`
	GetItWith string `json:"get_it_with"`
}

// Missing is a part of the answer that the report does not hold.
type Missing struct {
	Part      string `json:"part"` // in words, after "it does not say"
	GetItWith string `json:"get_it_with"`
}

// Said is what a rule of the profiler itself said.
type Said struct {
	Rule       string  `json:"rule"`
	Title      string  `json:"title"`
	Text       string  `json:"text"`
	SpeedupPct float64 `json:"speedup_pct,omitempty"` // that it estimates
	Local      bool    `json:"local,omitempty"`       // of the resource's part, not of the kernel
}

// Capture says how far the reports can be trusted.
type Capture struct {
	Launches int      `json:"launches"` // before --kernel and --launch
	Losses   []Loss   `json:"losses"`
	Warnings []string `json:"warnings"`
}

// A Loss is something that was met and could not be kept.
type Loss struct {
	Code    string `json:"code"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}
