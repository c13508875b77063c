package report

import (
	"slices"
	"strings"
)

// A WhatIf is what `lacuna whatif` says: the step as measured, as replayed, and with changes. All in ms.
type WhatIf struct {
	Schema         int                `json:"schema"`
	MeasuredStepMs float64            `json:"measured_step_ms"`
	ReplayedStepMs float64            `json:"replayed_step_ms"` // the unmodified program's, by the rules alone
	SelfErrorPct   float64            `json:"self_error_pct"`   // what the rules do not explain
	Steps          int                `json:"steps"`            // that it was taken over
	PredictedMs    float64            `json:"predicted_step_ms"`
	LowMs          float64            `json:"low_ms"`
	HighMs         float64            `json:"high_ms"`
	CriticalPathMs map[string]float64 `json:"critical_path_ms"` // of the changed program, without the profiler
	Unprofiled     Unprofiled         `json:"unprofiled"`
	Changes        []AppliedChange    `json:"changes"`
	Serving        *WhatIfServing     `json:"serving,omitempty"` // of a serving engine's steps
	Notes          []string           `json:"notes"`             // what a reader must know of the whole prediction
}

// Unprofiled is the step without the profiler, before and after.
type Unprofiled struct {
	NowMs       float64 `json:"now_ms"`
	NowLowMs    float64 `json:"now_low_ms"`
	NowHighMs   float64 `json:"now_high_ms"`
	PredictedMs float64 `json:"predicted_ms"`
	LowMs       float64 `json:"low_ms"`
	HighMs      float64 `json:"high_ms"`
	GainMs      float64 `json:"gain_ms"`
	GainLowMs   float64 `json:"gain_low_ms"`
	GainHighMs  float64 `json:"gain_high_ms"`
	Tool        string  `json:"tool"` // whose overhead was taken out; "": none is known
}

// An AppliedChange is one -x, and what became of it.
type AppliedChange struct {
	Change  string   `json:"change"`
	Applied bool     `json:"applied"`
	Matched int      `json:"matched"`           // calls or pieces of work
	WhyNot  string   `json:"why_not,omitempty"` // if it was not applied
	Refused Refusal  `json:"refused,omitempty"` // the kind of WhyNot
	First   string   `json:"first,omitempty"`   // the change that must be made before it
	Assumes []string `json:"assumes"`
}

// A Refusal is in which way a change could not be made.
type Refusal string

// The refusals.
const (
	NoMatch    Refusal = "no_match"    // the capture holds nothing that it changes
	NotAllowed Refusal = "not_allowed" // it may not be made here, or not yet
)

// A Finding is a fault with its price.
type Finding struct {
	Rule          string  `json:"rule"`
	Title         string  `json:"title"`
	Severity      string  `json:"severity"`        // high, medium, low, info
	Limit         bool    `json:"limit,omitempty"` // no fault: what bounds a step in which nothing is worth fixing
	Confidence    float64 `json:"confidence"`
	RecoverableMs float64 `json:"recoverable_ms"` // of a step of the program without the profiler, alone
	GainLowMs     float64 `json:"gain_low_ms"`
	GainHighMs    float64 `json:"gain_high_ms"`
	AfterOthersMs float64 `json:"after_others_ms"` // what it adds once those above it are fixed
	PredictedMs   float64 `json:"predicted_step_ms"`
	LowMs         float64 `json:"low_ms"`
	HighMs        float64 `json:"high_ms"`
	Change        string  `json:"change"`          // as -x takes it; "": it cannot be replayed
	First         string  `json:"first,omitempty"` // rule whose fix this one needs first
	// AtMostMs is the time of a step that the fault concerns: no fix of it can gain more; 0: unknown, or no time.
	AtMostMs float64 `json:"at_most_ms,omitempty"`
	// Leads says that it tells what the capture is, which is to be known before anything else.
	Leads bool `json:"leads,omitempty"`
	// OutsideMs is time outside the steps that it is about: it is in no step, and comes once.
	OutsideMs float64 `json:"outside_ms,omitempty"`
	// NoGain is why a fault that costs time has no price; nil: it has one, or costs no time.
	NoGain *NoGain `json:"why_no_gain,omitempty"`
	// changes that must be made before Change; what they buy is not in the gain
	Before       []string   `json:"before,omitempty"`
	Assumes      []string   `json:"assumes"`
	Evidence     []Evidence `json:"evidence"`
	Fix          string     `json:"fix"`
	FixElsewhere string     `json:"fix_elsewhere"` // outside PyTorch
	Confirm      string     `json:"confirm"`
	RefutedBy    string     `json:"refuted_by"`
}

// A NoGain is why a fault that costs time has no price.
type NoGain struct {
	Kind   NoGainKind `json:"kind"`
	Change string     `json:"change,omitempty"` // the change that was tried
	Reason string     `json:"reason"`
	// what the step takes longest for once the change is made, as in idle_by_host or a part of the budget, and how long
	BoundBy string  `json:"bound_by,omitempty"`
	BoundMs float64 `json:"bound_ms,omitempty"`
	StepMs  float64 `json:"step_ms,omitempty"` // with the change
	// what the change would gain if kernels that it lets run at once did not slow each other
	SideBySideMs float64 `json:"side_by_side_ms,omitempty"`
}

// NoGainKind is in which way a finding has no price.
type NoGainKind string

// Why findings have no price.
const (
	GainsNothing  NoGainKind = "gains_nothing"  // replayed with the change, the step takes as long
	RangeHasNone  NoGainKind = "range_has_none" // it may gain, or not: the range of the gain includes none
	ReplayOff     NoGainKind = "replay_off"     // the replay explains too little of the step
	ChangeMisses  NoGainKind = "change_misses"  // the change reaches too little of what the fault concerns
	ChangeRefused NoGainKind = "change_refused" // the change may not be made here
	NoSuchChange  NoGainKind = "no_change"      // no change makes this fix
	NotReplayed   NoGainKind = "not_replayed"   // the capture cannot be replayed
)

// Unknown says whether the fix may gain although it has no price.
func (n *NoGain) Unknown() bool { return n != nil && n.Kind != GainsNothing }

// Args is the changes of a finding as whatif takes them: "-x drop-syncs -x cuda-graph".
func (f *Finding) Args(word func(string) string) string {
	text := ""
	for _, c := range append(slices.Clone(f.Before), f.Change) {
		text += " -x " + word(c)
	}
	return strings.TrimSpace(text)
}

// Evidence is a sentence and the rows that show it.
type Evidence struct {
	Text string   `json:"text"`
	Rows []string `json:"rows"`
}

// AfterAll is the step once all findings are fixed.
type AfterAll struct {
	StepMs  float64 `json:"step_ms"`
	LowMs   float64 `json:"low_ms"`
	HighMs  float64 `json:"high_ms"`
	BoundBy string  `json:"bound_by"`
}

// Profiler is what the step would take without the profiler.
type Profiler struct {
	MeasuredStepMs   float64 `json:"measured_step_ms"`
	UnprofiledStepMs float64 `json:"unprofiled_step_ms"`
	LowMs            float64 `json:"low_ms"`
	HighMs           float64 `json:"high_ms"`
	Tool             string  `json:"tool"` // "": its overhead is not known, and nothing was taken out
	// SelfErrorPct is how far the replay of the capture as it is lies from what was measured.
	SelfErrorPct float64 `json:"self_error_pct"`
}
