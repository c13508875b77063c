package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/answer/engine"
	"lacuna/internal/answer/report"
)

// A Capture is one capture of a variant and what is said of it.
type Capture struct {
	*Variant
	Format  string
	Why     string // why it cannot be replayed, or ""
	SelfPct float64
	Now     Estimate // the step without the profiler
	Report  *report.Report
	// how many of the program's steps what was taken for one holds: more than one where only a rhythm marks them
	Steps int
	Again *Again   // the fix made once more, where it was made already
	Cure  *Variant // the program with what was planted fixed; nil if it was not timed
}

// Again is a fix applied to the program that has it: it must gain nothing.
type Again struct {
	Changes []string
	WhyNot  string   // why it was not made: the best answer
	Gain    Estimate // ms
}

// An Estimate is a number with its bounds.
type Estimate struct{ Ms, LowMs, HighMs float64 }

// Holds says whether the truth lies within the bounds.
func (e Estimate) Holds(truth float64) bool { return e.LowMs <= truth && truth <= e.HighMs }

// ErrorOf is how far an estimate is from the truth, as a share of the truth.
func ErrorOf(estimate, truth float64) float64 { return estimate/truth - 1 }

// A Prediction is one change to one capture, beside what the change did. Estimates under the tool are shares
// of the step before, since the truth is: a share cancels what the tool costs both.
type Prediction struct {
	*Capture
	Fixed   *Variant
	After   *Capture // of the fixed program with the same tool; nil if there is none
	Changes []string
	WhyNot  string // why it was not predicted, or is no truth of it, or ""

	Free     Estimate  // ms without the profiler
	FreeGain Estimate  // ms
	Printed  *Estimate // the gain beside the finding that names this change, in ms; nil: the report prices none
	Under    Estimate  // of the step before, under the same tool
}

// FreeTruth is the fixed program's step, 0 if it was not timed.
func (p *Prediction) FreeTruth() float64 { return p.Fixed.StepMs() }

// GainTruth is what the fix gains, by the program's own clock.
func (p *Prediction) GainTruth() float64 { return p.Variant.StepMs() - p.Fixed.StepMs() }

// drained says whether a program makes its batches ahead. The few steps of a capture eat what was made before, or wait
// for workers that have just begun: the program's clock at that time says nothing of a long run.
func (v *Variant) drained() bool {
	return slices.ContainsFunc(v.Changes(), func(c string) bool { return strings.HasPrefix(c, "prefetch:") })
}

const drainedWhy = "loader workers: the steps captured are not those of a long run"

// UnderTruth is the fixed step as a share of the step before, both as captured with the tool: steps of the device.
// Where the fixed program was not captured, it is by the program's own clock; 0 if that was not read.
func (p *Prediction) UnderTruth() float64 {
	if p.After == nil || p.After.Why != "" || p.Fixed.drained() || p.Report.Steps.MeanMs == 0 {
		return p.ClockTruth()
	}
	return p.After.measuredMs() / p.measuredMs()
}

// measuredMs is the mean step of the device as captured.
func (c *Capture) measuredMs() float64 { return c.perStep(c.Report.Steps.MeanMs, 0, 0).Ms }

// ClockTruth is the same by the program's own clock while it was captured, which holds the filling and draining of
// the queue; 0 if either was not captured.
func (p *Prediction) ClockTruth() float64 {
	if p.Fixed.drained() || p.Variant.Under[p.Format] == 0 {
		return 0
	}
	return p.Fixed.Under[p.Format] / p.Variant.Under[p.Format]
}

// Kind says whether a change swaps kernels for others, or only changes when things happen.
func (p *Prediction) Kind() string {
	for _, c := range p.Changes {
		name, _, _ := strings.Cut(c, ":")
		switch name {
		case "fuse", "fuse-attention", "fuse-optimizer", "tensor-cores", "drop-casts", "drop", "scale", "gpu":
			return "kernels"
		}
	}
	return "scheduling"
}

// measure reads a capture, diagnoses it, and predicts every fix of it that was timed.
func measure(ctx context.Context, v *Variant, format string, repaired []*Variant) (*Capture, []*Prediction, error) {
	job := engine.Open([]string{v.Paths[format]}, engine.Options{Rank: engine.AllRanks})
	defer job.Close()
	c := &Capture{Variant: v, Format: format}
	var err error
	if c.Report, err = job.Report(ctx, engine.ReportOptions{}); err != nil {
		return nil, nil, err
	}
	x, _, err := job.WhatIf(ctx, nil)
	var cannot *engine.CannotReplayError
	switch {
	case errors.As(err, &cannot):
		c.Why = cannot.Why
		return c, nil, nil
	case err != nil:
		return nil, nil, err
	}
	c.SelfPct, c.Steps = x.SelfErrorPct, c.stepsInOne()
	mean, untold := c.Report.Steps.MeanMs, c.Steps == 1 && wholeRatio(c.Report.Steps.MeanMs, c.Under[c.Format]) != 1
	if c.Report.Steps.Source == "none" && (untold || mean > maxWhole*c.StepMs()) {
		c.Why = "no steps are found in it: how many of the program's the whole holds is not known"
		return c, nil, nil
	}
	c.Now = c.perStep(x.Unprofiled.NowMs, x.Unprofiled.NowLowMs, x.Unprofiled.NowHighMs)
	if c.Again, err = again(ctx, job, c); err != nil {
		return nil, nil, err
	}
	var out []*Prediction
	for _, fixed := range repaired {
		p, err := predict(ctx, job, c, fixed)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", fixed.Name, err)
		}
		out = append(out, p)
	}
	return c, out, nil
}

// ask replays a capture with changes. why says what was not made.
func ask(ctx context.Context, job *engine.Job, texts []string) (x *report.WhatIf, why string, err error) {
	if x, _, err = job.WhatIf(ctx, texts); err != nil {
		return nil, "", err
	}
	for _, a := range x.Changes {
		if !a.Applied {
			return x, a.Change + " " + a.WhyNot, nil
		}
	}
	return x, "", nil
}

// again asks what the fix that a variant has would gain once more; nil if it is no fix.
func again(ctx context.Context, job *engine.Job, c *Capture) (*Again, error) {
	v := c.Variant
	// something else may be left in it
	leavesRange := func(change string) bool { return strings.HasPrefix(change, "drop-range:") }
	if v.Base == "" || len(v.Changes()) == 0 || v.Otherwise() != "" || slices.ContainsFunc(v.Changes(), leavesRange) {
		return nil, nil
	}
	a := &Again{Changes: v.Changes()}
	x, why, err := ask(ctx, job, a.Changes)
	if a.WhyNot = why; err == nil && why == "" {
		a.Gain = c.perStep(x.Unprofiled.GainMs, x.Unprofiled.GainLowMs, x.Unprofiled.GainHighMs)
	}
	return a, err
}

// stepsInOne is how many steps of the program lie in one that was found by rhythm, where the program's own clock says
// that it is a whole number: without markers nothing tells a step from a few.
func (c *Capture) stepsInOne() int {
	under := c.Under[c.Format]
	if source := c.Report.Steps.Source; under <= 0 || source != "periodicity" && source != "none" {
		return 1
	}
	n := wholeRatio(c.Report.Steps.MeanMs, under)
	if n < 2 {
		return 1
	}
	if free := wholeRatio(c.Report.Steps.MeanMs, c.StepMs()); free >= 2 {
		return free // a long run's clock holds no filling of the queue
	}
	return n
}

// wholeRatio is how many times one time goes into another, if it is about a whole number below maxWhole; else 0.
func wholeRatio(ms, stepMs float64) int {
	if stepMs <= 0 {
		return 0
	}
	ratio := ms / stepMs
	if n := math.Round(ratio); n >= 1 && n < maxWhole && math.Abs(ratio/n-1) < wholeSteps {
		return int(n)
	}
	return 0
}

const (
	// wholeSteps is how far a rhythm may be from a whole number of steps, as a share of it.
	wholeSteps = 0.1
	maxWhole   = 13 // captures hold 3 to 12 steps
)

// perStep is an estimate of one step of the program.
func (c *Capture) perStep(ms, lowMs, highMs float64) Estimate {
	n := float64(max(1, c.Steps))
	return Estimate{ms / n, lowMs / n, highMs / n}
}

// predict asks what a fix makes of a capture.
func predict(ctx context.Context, job *engine.Job, c *Capture, fixed *Variant) (*Prediction, error) {
	p := &Prediction{Capture: c, Fixed: fixed, Changes: fixed.Changes()}
	if note := fixed.Otherwise(); note != "" {
		p.WhyNot = "the program does it otherwise, " + note
		return p, nil
	}
	x, why, err := ask(ctx, job, p.Changes)
	if p.WhyNot = why; err != nil || why != "" {
		return p, err
	}
	if math.Abs(x.SelfErrorPct) > maxSelfPct && p.Kind() == "scheduling" {
		p.WhyNot = fmt.Sprintf("the replay explains the step to %.1f %% only", x.SelfErrorPct)
		return p, nil
	}
	u := x.Unprofiled
	p.Free, p.FreeGain = c.perStep(u.PredictedMs, u.LowMs, u.HighMs), c.perStep(u.GainMs, u.GainLowMs, u.GainHighMs)
	p.Printed = c.printed(p.Changes)
	p.Under = Estimate{x.PredictedMs / x.ReplayedStepMs, x.LowMs / x.ReplayedStepMs, x.HighMs / x.ReplayedStepMs}
	return p, nil
}

// printed is the gain that the report prints beside the finding whose fix these changes are; nil: it prints none.
func (c *Capture) printed(changes []string) *Estimate {
	if len(changes) != 1 || strings.Contains(changes[0], "@") { // a report takes as many workers as it needs
		return nil
	}
	want, _, _ := strings.Cut(changes[0], ":")
	for i := range c.Report.Findings {
		f := &c.Report.Findings[i]
		if name, _, _ := strings.Cut(f.Change, ":"); name == want && len(f.Before) == 0 {
			e := c.perStep(f.RecoverableMs, f.GainLowMs, f.GainHighMs)
			return &e
		}
	}
	return nil
}

// maxSelfPct is the self-error from which a capture says nothing of changes of its schedule.
const maxSelfPct = 3
