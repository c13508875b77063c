package compare

import (
	"fmt"
	"math"
	"slices"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

// Findings is what became of findings. Times are what each could buy.
type Findings struct {
	Gone   []Finding `json:"gone"`
	New    []Finding `json:"new"`
	Stayed []Finding `json:"stayed"`
}

// A Finding is a fault on one or both sides.
type Finding struct {
	Rule     string   `json:"rule"`
	Title    string   `json:"title"`     // as of after, if it is still there
	BeforeMs *float64 `json:"before_ms"` // recoverable; null: it was not there
	AfterMs  *float64 `json:"after_ms"`
}

// findings says which findings of the first captures went, came and stayed. Findings of one rule are told apart by
// the fix that they name.
func (c *comparison) findings() Findings {
	f := Findings{Gone: []Finding{}, New: []Finding{}, Stayed: []Finding{}}
	b, a := c.before[0].Report, c.after[0].Report
	if b == nil || a == nil {
		return f
	}
	taken := make([]bool, len(a.Findings))
	for i := range b.Findings {
		x := &b.Findings[i]
		j := slices.IndexFunc(a.Findings, func(y report.Finding) bool {
			return y.Rule == x.Rule &&
				y.Change == x.Change
		})
		if j < 0 {
			j = slices.IndexFunc(a.Findings, func(y report.Finding) bool { return y.Rule == x.Rule })
		}
		if j < 0 || taken[j] {
			f.Gone = append(f.Gone, Finding{x.Rule, x.Title, &x.RecoverableMs, nil})
			continue
		}
		taken[j] = true
		f.Stayed = append(f.Stayed, Finding{x.Rule, a.Findings[j].Title, &x.RecoverableMs,
			&a.Findings[j].RecoverableMs})
	}
	for j := range a.Findings {
		if y := &a.Findings[j]; !taken[j] {
			f.New = append(f.New, Finding{y.Rule, y.Title, nil, &y.RecoverableMs})
		}
	}
	return f
}

// Predicted is a prediction made of before, held against what came. All in ms of a step; Ratio and the like are
// shares of the step before, in which a profiler's cost mostly cancels.
type Predicted struct {
	Changes  []string `json:"changes"`
	Ratio    float64  `json:"ratio"` // predicted step over step before
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
	Achieved float64  `json:"achieved"` // step after over step before
	ErrorPct float64  `json:"error_pct"`
	InRange  bool     `json:"in_range"`
}

// Hold compares a what-if that was made of before with what was achieved.
func (d *Difference) Hold(w *report.WhatIf) error {
	if d.Step == nil || d.Step.Before <= 0 {
		return fmt.Errorf("a prediction cannot be checked against steps that were not measured")
	}
	if w.ReplayedStepMs <= 0 || w.PredictedMs <= 0 {
		return fmt.Errorf("the what-if predicts nothing (its replayed step is %v ms)", w.ReplayedStepMs)
	}
	p := &Predicted{Ratio: w.PredictedMs / w.ReplayedStepMs, Low: w.LowMs / w.ReplayedStepMs,
		High: w.HighMs / w.ReplayedStepMs, Achieved: d.Step.After / d.Step.Before}
	if s, u := d.Unprofiled, w.Unprofiled; s != nil && u.NowMs > 0 {
		p.Ratio, p.Low, p.High, p.Achieved = u.PredictedMs/u.NowMs, u.LowMs/u.NowMs, u.HighMs/u.NowMs, s.After/s.Before
	}
	for _, ch := range w.Changes {
		if ch.Applied {
			p.Changes = append(p.Changes, ch.Change)
		}
	}
	p.ErrorPct = 100 * (p.Ratio/p.Achieved - 1)
	p.InRange = p.Achieved >= p.Low && p.Achieved <= p.High
	d.Predicted = p
	return nil
}

// unprofiled compares the steps as they are without a profiler, as replay estimates them: what is left to compare
// where the two sides were watched in different ways.
func (c *comparison) unprofiled(d *Difference) {
	b, a := estimate(c.before), estimate(c.after)
	if b == nil || a == nil {
		return
	}
	// The two estimates err independently, so that their bounds add up in quadrature on the scale of ratios.
	ratio := math.Log(a.UnprofiledStepMs / b.UnprofiledStepMs)
	low := math.Expm1(ratio - math.Hypot(math.Log(a.UnprofiledStepMs/a.LowMs), math.Log(b.HighMs/b.UnprofiledStepMs)))
	high := math.Expm1(ratio + math.Hypot(math.Log(a.HighMs/a.UnprofiledStepMs), math.Log(b.UnprofiledStepMs/b.LowMs)))
	e := stat.Effect{Before: b.UnprofiledStepMs, After: a.UnprofiledStepMs,
		Change: a.UnprofiledStepMs/b.UnprofiledStepMs - 1, Low: low, High: high,
		Limit: c.opt.MinEffect, RunsBefore: len(c.before), RunsAfter: len(c.after)}
	switch {
	case low > e.Limit:
		e.Verdict = stat.Higher
	case high < -e.Limit:
		e.Verdict = stat.Lower
	case low >= -e.Limit && high <= e.Limit:
		e.Verdict = stat.Same
	}
	d.Unprofiled = changeOf("unprofiled_step", "ms", measure.Lower, e)
	d.Unprofiled.Warnings = append(d.Unprofiled.Warnings,
		"an estimate from each side's capture, with its bounds, not a measurement")
}

// estimate is the mean estimate of a side; nil: one capture has none.
func estimate(side []*Capture) *report.Profiler {
	var sum report.Profiler
	for _, c := range side {
		if c.Report == nil || c.Report.Profiler == nil || c.Report.Profiler.LowMs <= 0 ||
			c.Report.Profiler.UnprofiledStepMs <= 0 {
			return nil
		}
		p := c.Report.Profiler
		n := float64(len(side))
		sum.UnprofiledStepMs += p.UnprofiledStepMs / n
		sum.LowMs += p.LowMs / n
		sum.HighMs += p.HighMs / n
	}
	return &sum
}

// warn says what makes verdicts weak.
func (c *comparison) warn(d *Difference) {
	if text := measure.ToolsDiffer(c.runs[0], c.runs[1]); text != "" {
		d.Warnings = append(d.Warnings, text+": each slows the program differently, so measured steps differ by "+
			"that as well; kernels and counts compare")
	}
	for side, list := range [2][]*Capture{c.before, c.after} {
		d.Warnings = append(d.Warnings, sideWarnings([2]string{"before", "after"}[side], list)...)
	}
	if len(c.before) == 1 && len(c.after) == 1 {
		switch {
		case c.before[0].Run.Profile != "" && c.before[0].Run.Profile == c.after[0].Run.Profile:
			d.Warnings = append(d.Warnings, "before and after are the same file")
		case c.before[0].Report != nil:
			d.Warnings = append(d.Warnings, fmt.Sprintf(
				"one run per side does not show how much runs scatter; the scatter of other programs is assumed: "+
					"%.1f %% where the GPU is busy, %.0f %% where it waits for the host", 100*measure.GPUScatter,
				100*measure.HostScatter))
		case ofReports(c.runs[0]) && ofReports(c.runs[1]):
			d.Warnings = append(d.Warnings, fmt.Sprintf(
				"one report per side does not show how much runs scatter; %.0f %% is assumed, as launches of one "+
					"kernel on the same data scatter under ncu", 100*reportScatter))
		}
	}
	if s := d.Step; s != nil {
		d.Warnings = append(d.Warnings, s.Warnings...)
		if _, apart := s.MedianPct(); apart {
			d.Warnings = append(d.Warnings, MediansApart)
		}
	}
	if s := d.Step; s != nil && len(d.Explained) > 0 {
		sum := 0.0
		for _, x := range d.Explained {
			sum += x.Ms
		}
		if mean := d.MeanMs[1] - d.MeanMs[0]; math.Abs(sum-mean) > 0.02*c.stepMs() {
			d.Warnings = append(d.Warnings, fmt.Sprintf(
				"the parts of the change sum to %+.3f ms, but the mean steps differ by %+.3f ms", sum, mean))
		}
	}
}

// sideWarnings says what makes the runs of one side other than they look.
func sideWarnings(side string, list []*Capture) (out []string) {
	ranks := make(map[int32]bool)
	unmarked := false
	for _, x := range list {
		if x.Report != nil && x.Report.Steps.Source == "none" {
			unmarked = true
		}
		if x.Rank != nil {
			ranks[*x.Rank] = true
		}
	}
	if unmarked {
		out = append(out, side+": no steps are marked, so the whole capture counts as one step")
	}
	if len(list) > 1 && len(ranks) == len(list) {
		out = append(out, side+": the files are ranks of one job, not repeats of it, and share their noise; "+
			"compare one rank with the same rank, or several captures of the job")
	}
	return out
}
