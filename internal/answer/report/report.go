// Package report gathers the answer to "where does a step's time go": steps, time budget,
// top tables, gaps, and how far the capture can be trusted. It computes nothing that facts know
// and formats nothing: its types are the JSON contract, and writers print them.
//
// All times are milliseconds unless a name says otherwise.
package report

// Schema is the version of the JSON contract. Fields are added, never renamed.
const Schema = 1

// A Report is what `lacuna report` says of one capture, or of the ranks of one job.
type Report struct {
	Schema     int         `json:"schema"`
	Inputs     []Input     `json:"inputs"`
	Slowest    int         `json:"slowest_input"` // position in Inputs of the one that steps, lists and findings are of
	Steps      Steps       `json:"steps"`
	Budget     Budget      `json:"budget_ms"` // mean over devices
	PerDevice  []Device    `json:"per_device"`
	Phases     []Phase     `json:"phases"`             // in order; none without GPU work
	Unjudged   *Unjudged   `json:"unjudged,omitempty"` // nil: the larger part of the recording is judged
	TopKernels []TopKernel `json:"top_kernels"`
	TopOps     []TopOp     `json:"top_ops"`
	TopCopies  []TopCopy   `json:"top_copies"`
	TopSyncs   []TopSync   `json:"top_syncs"`
	Gaps       []Gap       `json:"gaps"`
	// Communication is what each process group communicates; nil: no communication.
	Communication []Communication `json:"communication,omitempty"`
	Serving       *Serving        `json:"serving,omitempty"` // nil: no serving engine marks the steps

	Profiler *Profiler `json:"profiler,omitempty"` // nil: the capture cannot be replayed
	Findings []Finding `json:"findings"`
	// Negligible is what rules found and what concerns or gains next to nothing of the step: under 2 %.
	Negligible []Finding `json:"negligible,omitempty"`
	AfterAll   *AfterAll `json:"after_all,omitempty"`
	Kernels    []Kernel  `json:"kernels,omitempty"` // what reports on single kernels say, most gain in a step first

	KernelReports *Kernels    `json:"kernel_reports,omitempty"` // nil: none was given
	Inside        *Inside     `json:"look_inside,omitempty"`    // nil: no kernel is hot
	Abstained     []Abstained `json:"abstained"`
	Capture       Capture     `json:"capture"`
}

// An Input is a file that was read.
type Input struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Producer string `json:"producer"`
	Host     string `json:"host"`
	Rank     *int32 `json:"rank,omitempty"`
	GPUs     []GPU  `json:"gpus"`
}

// A GPU is a device that did work in the capture, or that the file names if none did.
type GPU struct {
	Name    string `json:"name"`
	Ordinal uint32 `json:"ordinal"`
}

// Steps describes the steps that the budget is taken over.
type Steps struct {
	Count        int        `json:"count"`
	Source       string     `json:"source"` // engine, nvtx, annotation, profiler_step, periodicity, none
	Basis        string     `json:"basis"`  // device, host
	WindowMs     [2]float64 `json:"window_ms"`
	MeanMs       float64    `json:"mean_ms"` // of several inputs: over all devices, the sum of the budget's parts
	MedianMs     float64    `json:"median_ms"`
	P10Ms        float64    `json:"p10_ms"`
	P90Ms        float64    `json:"p90_ms"`
	HostMedianMs *float64   `json:"host_median_ms,omitempty"`
	Startup      []Startup  `json:"startup"`
	EachMs       []float64  `json:"each_ms"` // every steady step, in order
	// what a reader must know, such as "no step markers: the capture is one step"
	Note string `json:"note,omitempty"`

	// of steps that a serving engine marks:
	Engine    string     `json:"engine,omitempty"` // vllm, sglang, trtllm, atom, other
	Kind      string     `json:"kind,omitempty"`   // of the steps that the budget is taken over
	Bucket    int64      `json:"bucket,omitempty"` // the largest batch, or number of tokens, of that kind's group
	Size      string     `json:"size,omitempty"`   // the same in words: "batch 17 to 32"
	Kinds     []StepKind `json:"kinds,omitempty"`  // all engine steps, by kind and size
	OutsideMs *float64   `json:"outside_ms,omitempty"`
}

// Startup is a first step that was left out, and why.
type Startup struct {
	Index int     `json:"index"`
	Ms    float64 `json:"ms"`
	Why   string  `json:"why"`
}

// Budget is a mean step: compute + copy + comm_exposed + idle = step.
type Budget struct {
	Compute     float64            `json:"compute"`
	Copy        float64            `json:"copy"`
	CommExposed float64            `json:"comm_exposed"`
	Idle        float64            `json:"idle"`
	IdleByHost  map[string]float64 `json:"idle_by_host"` // sums to Idle
	// IdleInLongCalls is the part of IdleByHost's "launch" in which one call took a millisecond or more, by its name.
	IdleInLongCalls map[string]float64 `json:"idle_in_long_calls,omitempty"`
	// IdleBecauseOf is how much shorter the step would be without the edges of a cause: causes interact, so it sums
	// to nothing.
	IdleBecauseOf map[string]float64 `json:"idle_because_of,omitempty"`
	// IdleByCode is the functions of the host behind the causes of IdleByHost, where the capture holds Python
	// functions, call stacks or CPU samples. Only the report's own budget has it, not a device's.
	IdleByCode []CodeOfCause `json:"idle_by_code,omitempty"`
	// Memset is the part of Copy in which nothing but memsets ran.
	Memset float64 `json:"memset,omitempty"`
	// CommOverlapped is communication hidden behind compute: not a part of the sum.
	CommOverlapped float64 `json:"comm_overlapped"`
	// CopyOverlapped is copies hidden behind compute or communication: not a part of the sum.
	CopyOverlapped float64 `json:"copy_overlapped"`
}

// StepMs is the sum of the parts.
func (b Budget) StepMs() float64 { return b.Compute + b.Copy + b.CommExposed + b.Idle }

// Device is the budget of one GPU.
type Device struct {
	Device uint32 `json:"device"`
	Rank   *int32 `json:"rank,omitempty"`
	Name   string `json:"name"`
	Budget Budget `json:"budget_ms"`
}

// TopKernel is a kernel name with its share of the step; kernels that overlap count in full.
type TopKernel struct {
	Name         string  `json:"name"`
	Kind         string  `json:"kind"` // compute, comm, graph
	CallsPerStep float64 `json:"calls_per_step"`
	MsPerStep    float64 `json:"ms_per_step"`
	ShareOfStep  float64 `json:"share_of_step"` // 0 to 1
	MeanUs       float64 `json:"mean_us"`
}

// TopOp is an operator or, failing those, a named range, by the GPU time of what it launched itself; where the
// capture has no GPU work, by host time.
type TopOp struct {
	Name         string  `json:"name"`
	CallsPerStep float64 `json:"calls_per_step"`
	MsPerStep    float64 `json:"ms_per_step"`      // GPU time of the work launched directly in it
	HostMs       float64 `json:"host_ms_per_step"` // host time exclusive of inner operators
	// HostTotalMs is the same with inner operators; only where the capture has no GPU work.
	HostTotalMs float64 `json:"host_total_ms_per_step,omitempty"`
	ShareOfStep float64 `json:"share_of_step"`
}

// TopCopy is a direction of copies.
type TopCopy struct {
	Name         string  `json:"name"` // HtoD pageable -> device
	CallsPerStep float64 `json:"calls_per_step"`
	MsPerStep    float64 `json:"ms_per_step"`
	MBPerStep    float64 `json:"mb_per_step"` // 0: not recorded
	GBs          float64 `json:"gb_per_s"`    // 0: not known
}

// TopSync is a call in which the host waits for a device, where it was made.
type TopSync struct {
	Name         string  `json:"name"`  // cudaStreamSynchronize
	Where        string  `json:"where"` // innermost range or operator around it, "" if none
	CallsPerStep float64 `json:"calls_per_step"`
	MsPerStep    float64 `json:"ms_per_step"` // host time in it
	BusyMs       float64 `json:"gpu_busy_ms"` // of it, per step, with recorded GPU work: no more was waiting for that
}

// Gap is an idle span of a device.
type Gap struct {
	Device  uint32  `json:"device"`
	StartMs float64 `json:"start_ms"` // since the window's start
	DurMs   float64 `json:"dur_ms"`
	Cause   string  `json:"cause"` // the largest part of it, as in idle_by_host
	// the call that lasted longest in it, on the thread that ended it or one that this waited for
	Call   string  `json:"call"`
	CallMs float64 `json:"call_ms"`
	Range  string  `json:"range"`  // range or operator on the host in it
	Before string  `json:"before"` // the work that ran before it
	After  string  `json:"after"`  // the work that ended it
	// Code is the functions that the host ran during its largest cause; nil: none is known.
	Code *CodeOfCause `json:"code,omitempty"`
}

// Abstained is something that could not be judged: the one form in which lacuna says "I cannot tell".
type Abstained struct {
	Rule      string        `json:"rule"` // of kinds that are no rule's: which part of the answer it is
	Kind      AbstainedKind `json:"kind"`
	Reason    string        `json:"reason"`
	Missing   string        `json:"missing"`
	GetItWith string        `json:"get_it_with"`
}

// AbstainedKind is in which way something could not be judged.
type AbstainedKind string

// The kinds of abstentions.
const (
	LacksPart    AbstainedKind = "lacks_part"    // the capture holds nothing of what a rule needs
	CannotTell   AbstainedKind = "cannot_tell"   // it does, and the rule cannot judge all the same
	ReplayUnsure AbstainedKind = "replay_unsure" // the gain of a fix is unknown: the replay is too far off
	AnswerLacks  AbstainedKind = "answer_lacks"  // no rule but a part of the answer: budget, idle_by_host, steps
	CannotReplay AbstainedKind = "cannot_replay" // nothing can be priced: whatif
)

// OfAnswer says whether no rule abstains but the answer itself: it is the poorer for it.
func (k AbstainedKind) OfAnswer() bool { return k == AnswerLacks || k == CannotReplay }

// Capture says how far the capture can be trusted.
type Capture struct {
	Ranges   int      `json:"ranges"` // the program's own named ranges, step markers apart
	Events   int64    `json:"events"`
	Dropped  int64    `json:"dropped"`
	Losses   []Loss   `json:"losses"`
	Warnings []string `json:"warnings"`
	Unused   []Unused `json:"unused,omitempty"` // of Events, what a report does not look at; most first

	// Of a capture without any GPU work, what shows that a GPU worked all the same.
	UnrecordedLaunches int     `json:"unrecorded_launches,omitempty"` // calls that launch kernels or graphs
	UnrecordedWaitMs   float64 `json:"unrecorded_wait_ms,omitempty"`  // how long the host waited for the device

	// NoGPUWork is why the capture has no GPU work, as facts.NoWork has it; "": it has.
	NoGPUWork   string `json:"no_gpu_work,omitempty"`
	OtherDevice string `json:"other_device,omitempty"` // with "other_kind": which kind of device the operators show
}

// Loss is something that was met and could not be kept.
type Loss struct {
	Code    string `json:"code"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}
