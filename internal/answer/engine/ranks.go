package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lacuna/internal/answer/diagnose"
	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// ranks is what is known of the captures of one job, in their order. It answers all questions about them.
type ranks struct {
	in    []*facts.Facts
	files []file // only if they were asked for

	mu        sync.Mutex
	diagnoses map[int]*diagnose.Diagnosis // by place
}

// A file is a capture as it lies, and the ranks that it was taken apart into.
type file struct {
	whole *facts.Facts
	ranks []*facts.Facts // whole itself, if it holds one
}

// byRank takes a capture apart: one for each rank that is merged in it, in their order. Whatever is said of steps,
// streams or kernels is said of one of these; a capture of one rank comes back as it is.
func byRank(f *facts.Facts, steps facts.StepOptions) []*facts.Facts {
	traces := model.ByRank(f.Trace)
	if len(traces) == 1 {
		return []*facts.Facts{f}
	}
	var out []*facts.Facts
	for _, t := range traces {
		out = append(out, facts.With(t, steps))
	}
	return out
}

// slowest is the place of the capture that a report on all judges.
func (r *ranks) slowest() (int, error) {
	var all []*facts.Steps
	for _, f := range r.in {
		steps, err := f.Steps()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", facts.InputName(f, r.in), err)
		}
		all = append(all, steps)
	}
	return facts.Slowest(all), nil
}

// diagnosis is what is found in the capture at a place, in the light of the others.
func (r *ranks) diagnosis(place int) (*diagnose.Diagnosis, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.diagnoses[place]; d != nil {
		return d, nil
	}
	d, err := diagnose.Of(r.in, place)
	if err != nil {
		return nil, err
	}
	if r.diagnoses == nil {
		r.diagnoses = make(map[int]*diagnose.Diagnosis)
	}
	r.diagnoses[place] = d
	return d, nil
}

// report is the report on all, with the findings of the slowest.
func (r *ranks) report(ctx context.Context, opt report.Options, inside *kernelreport.Report) (*report.Report, error) {
	place, err := r.slowest()
	if err != nil {
		return nil, err
	}
	return r.build(ctx, r.in, place, opt, inside)
}

// reportOn is the report on the capture at a place alone, with its findings in the light of the others.
func (r *ranks) reportOn(ctx context.Context, place int) (*report.Report, error) {
	return r.build(ctx, r.in[place:place+1], place, report.Options{}, nil)
}

// build makes a report while the capture at a place is judged.
func (r *ranks) build(
	ctx context.Context, in []*facts.Facts, place int, opt report.Options, inside *kernelreport.Report,
) (*report.Report, error) {
	d, err := r.diagnosis(place)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // where the report cannot be built, nobody wants what is judged, nor waits for it
	var judged report.Judged
	var failed error
	over := make(chan struct{})
	go func() {
		defer close(over)
		judged, failed = judge(ctx, d, inside)
	}()
	return report.Build(in, opt, func() (report.Judged, error) {
		<-over
		return judged, failed
	})
}

// judge is what is found in a capture, and what reports on its kernels say.
func judge(ctx context.Context, d *diagnose.Diagnosis, inside *kernelreport.Report) (report.Judged, error) {
	found, err := d.Judged(ctx)
	if err != nil {
		return report.Judged{}, err
	}
	out := *found
	if inside != nil {
		out.Kernels, out.KernelReports, err = d.Kernels(ctx, inside)
	}
	return out, err
}

// whatIf replays the slowest with changes, together with the others.
func (r *ranks) whatIf(ctx context.Context, changes []string) (*report.WhatIf, report.Input, error) {
	place, err := r.slowest()
	if err != nil {
		return nil, report.Input{}, err
	}
	d, err := r.diagnosis(place)
	if err != nil {
		return nil, report.Input{}, err
	}
	x, err := d.WhatIf(ctx, changes)
	if err != nil {
		return nil, report.Input{}, cannotReplay(facts.InputName(r.in[place], r.in), err)
	}
	return x, report.InputOf(r.in[place]), nil
}

// measures is what was measured of the capture at a place; the run says which rank it is of, if there are several.
func (r *ranks) measures(place int) (*measure.Run, error) {
	f := r.in[place]
	run, err := report.Measures(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", facts.InputName(f, r.in), err)
	}
	if len(r.in) > 1 && f.Trace.Info.Rank >= 0 {
		run.Labels = append(run.Labels, measure.Pair{Name: rankLabel, Value: fmt.Sprint(f.Trace.Info.Rank)})
		run.Sort()
	}
	return run, nil
}

// inputError says which input an error is about, unless nobody wants the answer any more.
func inputError(input string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", input, err)
}
