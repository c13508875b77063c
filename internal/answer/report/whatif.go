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
	Notes          []string           `json:"notes"` // what a reader must know of the whole prediction
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
	// changes that must be made before Change; what they buy is not in the gain
	Before       []string   `json:"before,omitempty"`
	Assumes      []string   `json:"assumes"`
	Evidence     []Evidence `json:"evidence"`
	Fix          string     `json:"fix"`
	FixElsewhere string     `json:"fix_elsewhere"` // outside PyTorch
	Confirm      string     `json:"confirm"`
	RefutedBy    string     `json:"refuted_by"`
}

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
}
