package report

// Kernels is what reports on single kernels add to a timeline: why its hot kernels are slow, and what of
// that counts in a step.
type Kernels struct {
	Reports  []string `json:"reports"`
	Device   string   `json:"device"`   // that the reports were made on
	Warnings []string `json:"warnings"` // what forbids to take the figures at their word, such as another GPU
	// MatchedShare is the share of the step's kernel time that the reports cover, 0 to 1.
	MatchedShare float64         `json:"matched_share"`
	Unmatched    []UnmatchedTime `json:"unmatched"` // kernels of the timeline without a report, most time first
	NotInTrace   []string        `json:"not_in_trace"`
}

// UnmatchedTime is a kernel of the timeline that no report is about.
type UnmatchedTime struct {
	Name        string  `json:"name"`
	MsPerStep   float64 `json:"ms_per_step"`
	ShareOfStep float64 `json:"share_of_step"`
}

// A Kernel is a kernel of the timeline with what the report on it says.
type Kernel struct {
	Name         string     `json:"name"` // as the timeline has it
	CallsPerStep float64    `json:"calls_per_step"`
	MsPerStep    float64    `json:"ms_per_step"`
	ShareOfStep  float64    `json:"share_of_step"`
	MeanUs       float64    `json:"mean_us"`    // in the timeline
	ReportUs     *float64   `json:"report_us"`  // in the report; null: not measured
	MatchedBy    string     `json:"matched_by"` // name, grid and block; name; base name, grid and block
	SameSize     float64    `json:"same_size"`  // share of its time in launches of the grid and block of the report
	Launches     []int      `json:"launches"`   // of the report
	Class        string     `json:"class"`
	ClassWhy     string     `json:"class_why"`
	Roofline     *RoofPlace `json:"roofline"` // null: not known
	Notes        []string   `json:"notes"`

	// RecoverableMs is what the best finding's fix saves per step, alone.
	RecoverableMs float64         `json:"recoverable_ms"`
	Findings      []KernelFinding `json:"findings"`
}

// A RoofPlace is a kernel's place under the nearest roof.
type RoofPlace struct {
	Precision string  `json:"precision"`
	Level     string  `json:"level"`
	Flops     float64 `json:"flops"`
	Intensity float64 `json:"intensity"`
	Ceiling   float64 `json:"ceiling"`
	RoofPct   float64 `json:"roof_pct"`
}

// A KernelFinding is a fault inside a kernel with its price in a step.
type KernelFinding struct {
	Rule       string  `json:"rule"`
	Title      string  `json:"title"`
	Confidence float64 `json:"confidence"`
	Healthy    bool    `json:"healthy"`
	// Ratio is the kernel's predicted time over its time now; 0: not predicted.
	Ratio         float64  `json:"ratio"`
	LowRatio      float64  `json:"low_ratio"`
	HighRatio     float64  `json:"high_ratio"`
	Change        string   `json:"change"` // as whatif -x takes it; "": not replayed
	RecoverableMs float64  `json:"recoverable_ms"`
	GainLowMs     float64  `json:"gain_low_ms"`
	GainHighMs    float64  `json:"gain_high_ms"`
	PredictedMs   float64  `json:"predicted_step_ms"`
	Evidence      []string `json:"evidence"`
	Fix           string   `json:"fix"`
}
