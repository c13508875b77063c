// Package diagnose puts prices on what rules find and on what a user asks: it applies changes to a
// program made of the capture and replays it.
package diagnose

import (
	"errors"
	"fmt"
	"math"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/changes"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

// Needs is the parts of a capture that a replay looks at.
const Needs = report.Needs | replayNeeds

// maxSelfError is the self-error from which a prediction says how far the replay is off.
const maxSelfError = 0.03

// A CannotError says why a capture cannot be replayed.
type CannotError struct{ Why, Try string }

func (e *CannotError) Error() string { return "what if: " + e.Why + "; get it with " + e.Try }

// program is a capture as a program, if it can be replayed.
func program(f *facts.Facts, steps *facts.Steps) (*replay.Program, error) {
	switch {
	case f.Work().Len() == 0:
		return nil, &CannotError{"the capture has no GPU work",
			"lacuna record, nsys profile --trace=cuda,nvtx, or ProfilerActivity.CUDA in torch.profiler"}
	case f.Trace.Calls.Len() == 0:
		return nil, &CannotError{"the capture has no CUDA calls, so what waited for the host is unknown",
			"lacuna record, nsys profile --trace=cuda,nvtx, or ProfilerActivity.CPU beside CUDA in torch.profiler"}
	case !steps.Device:
		return nil, &CannotError{"no step of the device was found",
			"NVTX ranges step_0, step_1, … around the steps, or --step-range NAME"}
	case f.Trust().WindowsApart:
		return nil, &CannotError{"GPU work and host calls do not overlap in time, so their clocks do not agree",
			"another version of the profiler"}
	}
	if calls, yes := replay.TooLarge(f, steps); yes {
		return nil, &CannotError{fmt.Sprintf("the capture is one step, or a few, of %d calls: too many to replay",
			calls), "NVTX ranges step_0, step_1, … around shorter steps, or --step-range NAME"}
	}
	p := replay.Build(f, steps)
	if len(p.Anchors) == 0 || p.Anchors[0] < 0 {
		return nil, &CannotError{"the first step begins with no work that could be found again",
			"other steps: --steps A:B"}
	}
	return p, nil
}

// ask replays a program with changes.
func ask(k *replay.Pricer, steps *facts.Steps, wanted []string) (*report.WhatIf, error) {
	out := &report.WhatIf{Schema: report.Schema, MeasuredStepMs: k.MeasuredNs / 1e6, ReplayedStepMs: k.ReplayedNs / 1e6,
		SelfErrorPct: 100 * k.SelfError, Steps: len(steps.Steady()), Changes: []report.AppliedChange{},
		Notes: []string{}}
	e := k.Program.Edit()
	for _, text := range wanted {
		applied, err := apply(e, text)
		if err != nil {
			return nil, err
		}
		out.Changes = append(out.Changes, applied)
	}
	price := k.Price(e)
	now := k.Now()
	out.PredictedMs, out.LowMs, out.HighMs = price.Profiled.Ns/1e6, price.Profiled.LowNs/1e6, price.Profiled.HighNs/1e6
	out.Unprofiled = report.Unprofiled{
		NowMs: now.Ns / 1e6, NowLowMs: now.LowNs / 1e6, NowHighMs: now.HighNs / 1e6,
		PredictedMs: price.Unprofiled.Ns / 1e6, LowMs: price.Unprofiled.LowNs / 1e6,
		HighMs: price.Unprofiled.HighNs / 1e6,
		GainMs: price.Gain.Ns / 1e6, GainLowMs: price.Gain.LowNs / 1e6, GainHighMs: price.Gain.HighNs / 1e6,
		Tool: k.Program.Overhead.Name,
	}
	out.Serving = serves(e, now, price.Unprofiled)
	out.CriticalPathMs = perMs(pathOf(k, e))
	out.Notes = notes(k)
	return out, nil
}

// apply makes one change. That it matches nothing or is not allowed is an answer, not an error.
func apply(e *replay.Edit, text string) (report.AppliedChange, error) {
	c, arg, err := changes.Find(text)
	if err != nil {
		return report.AppliedChange{}, fmt.Errorf("-x %s: %w", text, err)
	}
	out := report.AppliedChange{Change: text, Assumes: []string{}}
	before := len(e.Notes)
	n, err := applyToRanks(c, e, arg)
	var not *changes.NotAllowedError
	switch {
	case errors.As(err, &not):
		out.WhyNot, out.Refused, out.First = err.Error(), report.NotAllowed, not.First
		return out, nil
	case errors.Is(err, changes.ErrNoMatch):
		out.WhyNot, out.Refused = err.Error(), report.NoMatch
		return out, nil
	case err != nil:
		return out, fmt.Errorf("-x %w", err)
	}
	out.Applied, out.Matched = true, n
	if c.Assumes != "" {
		out.Assumes = append(out.Assumes, c.Assumes)
	}
	out.Assumes = append(out.Assumes, e.Notes[before:]...)
	return out, nil
}

// workers is the cause of a critical path that lies outside the program: what the loop waits for is made elsewhere.
const workers = "workers"

// pathOf is the critical path of a program with changes. Where what it waits for is bounded from below by what the
// program does not hold, all of its step is waiting for that.
func pathOf(k *replay.Pricer, e *replay.Edit) map[string]float64 {
	run := k.Run(e.Program)
	if e.Floor.Ns > e.StepNs(run) {
		return map[string]float64{workers: e.Floor.Ns}
	}
	return e.CriticalPath(run)
}

// notes is what a reader must know of every prediction from this capture.
func notes(k *replay.Pricer) []string {
	out := []string{}
	switch off := math.Abs(k.SelfError); {
	case off > maxOff:
		out = append(out, fmt.Sprintf("the replay is %.1f %% off: what changes of the schedule gain is unknown "+
			"from this capture", 100*off))
	case off > maxSelfError:
		out = append(out, fmt.Sprintf("the replay is %.1f %% off: ranges are wider by as much", 100*off))
	}
	if n := k.Program.Left; n > 0 {
		have := len(k.Program.Steps.Steady())
		out = append(out, fmt.Sprintf("only %d of %d steps, in the middle, were replayed: all make too many calls",
			have, have+n))
	}
	if k.Program.OneOfRanks() {
		out = append(out, "only one rank of several is given: its waits in collectives are taken as recorded; give "+
			"the captures of all ranks")
	}
	if n := k.Program.Inferred; n > 0 {
		out = append(out, fmt.Sprintf("%d waits between streams were inferred from times: the capture does not "+
			"record them; lacuna record and nsys profile --trace=cuda,nvtx do", n))
	}
	if !k.Known {
		out = append(out, "the overhead of this profiler is unknown: none was subtracted")
	}
	return out
}

func perMs(ns map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(ns))
	for cause, v := range ns {
		out[cause] = v / 1e6
	}
	return out
}
