package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"lacuna/internal/answer/diagnose"
	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A Job is one capture, or the captures of one job's ranks. Files are read when the first question comes, as far as
// it needs them, and once more if a later one needs more. It may be asked by several goroutines.
type Job struct {
	paths []string
	opt   Options

	life context.Context // ends when the job is closed
	end  context.CancelFunc

	turn  chan struct{} // held while files are read, and while what follows is looked at
	now   *ranks        // what was read; nil: nothing yet
	have  model.Parts
	whole bool // now knows the files as they are, too
}

// Open prepares questions about captures, at least one. It reads nothing yet.
func Open(paths []string, opt Options) *Job {
	j := &Job{paths: slices.Clone(paths), opt: opt, turn: make(chan struct{}, 1)}
	j.life, j.end = context.WithCancel(context.Background())
	return j
}

// Close gives the memory back: what is being read is given up, and later questions fail. Those that are being
// answered keep what they have read until they are done.
func (j *Job) Close() {
	j.end()
	j.turn <- struct{}{}
	defer j.release()
	j.now, j.have = nil, 0
}

// hold waits for this goroutine's turn, which ends with release.
func (j *Job) hold(ctx context.Context) error {
	select {
	case j.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := cmp.Or(j.life.Err(), ctx.Err()); err != nil {
		j.release()
		return err
	}
	return nil
}

func (j *Job) release() { <-j.turn }

// read makes the parts of need known. whole: of files that hold several ranks, the file as it is, too.
func (j *Job) read(ctx context.Context, need model.Parts, whole bool) (*ranks, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(j.life, cancel)()
	r, err := j.readNow(ctx, need, whole)
	if j.life.Err() != nil {
		return nil, &ClosedError{j.paths[0]}
	}
	return r, err
}

func (j *Job) readNow(ctx context.Context, need model.Parts, whole bool) (*ranks, error) {
	if err := j.hold(ctx); err != nil {
		return nil, err
	}
	defer j.release()
	if need |= j.have; need == 0 {
		need = model.PartsAll
	}
	whole = whole || j.whole
	switch {
	case j.now != nil && need == j.have && whole == j.whole:
		return j.now, nil
	case j.now != nil && slices.Contains(j.paths, "-"):
		return nil, &ReadOnceError{}
	}
	now, err := j.load(ctx, need, whole)
	if err != nil {
		return nil, err
	}
	j.now, j.have, j.whole = now, need, whole
	return now, nil
}

// load reads the captures and takes them apart.
func (j *Job) load(ctx context.Context, need model.Parts, whole bool) (*ranks, error) {
	now := new(ranks)
	var have []int32
	for _, path := range j.paths {
		trace, err := j.opt.openTrace(ctx, path, need)
		if err != nil {
			return nil, err
		}
		f := facts.With(trace, j.opt.Steps)
		some := byRank(f, j.opt.Steps)
		if whole {
			now.files = append(now.files, file{f, some})
		}
		have = append(have, rankNumbers(some)...)
		for _, f := range some {
			if j.opt.Rank < 0 || int(f.Trace.Info.Rank) == j.opt.Rank {
				now.in = append(now.in, f)
			}
		}
	}
	if len(now.in) == 0 {
		return nil, &NoRankError{j.opt.Rank, have}
	}
	return now, nil
}

// ReportOptions says what to report on.
type ReportOptions struct {
	Top     int      // rows of each list; 0: the usual
	Device  *uint32  // only this device; nil: all. Findings are of the whole process
	Kernels *Kernels // reports on single kernels to be joined with the timeline; nil: none
	Serving report.ServingOptions
}

// Report says where a step's time goes and what which change would gain: of several ranks, for the slowest.
func (j *Job) Report(ctx context.Context, opt ReportOptions) (*report.Report, error) {
	var inside *kernelreport.Report
	if opt.Kernels != nil {
		var err error
		if inside, err = opt.Kernels.inside(); err != nil {
			return nil, err
		}
	}
	in, err := j.read(ctx, diagnose.Needs, false)
	if err != nil {
		return nil, err
	}
	return in.report(ctx, report.Options{Top: opt.Top, Device: opt.Device, Serving: opt.Serving}, inside)
}

// WhatIf predicts the step of a job with changes, given as -x takes them, made to all of its ranks. input is what the
// step is of.
func (j *Job) WhatIf(ctx context.Context, changes []string) (x *report.WhatIf, input report.Input, err error) {
	in, err := j.read(ctx, diagnose.Needs, false)
	if err != nil {
		return nil, input, err
	}
	return in.whatIf(ctx, changes)
}

// Measures is what was measured of each rank, in the names of package measure.
func (j *Job) Measures(ctx context.Context) (out []*measure.Run, err error) {
	in, err := j.read(ctx, report.MeasureNeeds, false)
	if err != nil {
		return nil, err
	}
	for i := range in.in {
		run, err := in.measures(i)
		if err != nil {
			return nil, err
		}
		out = append(out, run)
	}
	return out, ctx.Err()
}

// Contents is what each file holds, who made it and what it lacks, whatever Options.Rank says.
func (j *Job) Contents(ctx context.Context) (out []*report.Contents, err error) {
	in, err := j.read(ctx, model.PartsAll, true)
	if err != nil {
		return nil, err
	}
	for _, f := range in.files {
		c, err := report.ContentsOf(f.whole, f.ranks)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, ctx.Err()
}

// Timeline is each file's events as they are, for exporters.
func (j *Job) Timeline(ctx context.Context) (out []*model.Trace, err error) {
	in, err := j.read(ctx, model.PartsAll, true)
	if err != nil {
		return nil, err
	}
	for _, f := range in.files {
		out = append(out, f.whole.Trace)
	}
	return out, nil
}

// RangeNames is the names of the ranges that a person wrote, sorted.
func (j *Job) RangeNames(ctx context.Context) ([]string, error) {
	r, err := j.read(ctx, model.PartRanges, false)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, f := range r.in {
		t := f.Trace
		for i, id := range t.Ranges.Name {
			if text := t.Strings.Text(id); text != "" && t.Ranges.Kind[i] != model.RangeProfiler {
				names[text] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Facts is what is true of the captures of the job's ranks, of which need was read, and the place of the slowest.
func (j *Job) Facts(ctx context.Context, need model.Parts) (in []*facts.Facts, slowest int, err error) {
	r, err := j.read(ctx, need, false)
	if err != nil {
		return nil, 0, err
	}
	slowest, err = r.slowest()
	return r.in, slowest, err
}

// cannotReplay makes the error about an input of one that says why it cannot be replayed.
func cannotReplay(input string, err error) error {
	var cannot *diagnose.CannotError
	if errors.As(err, &cannot) {
		return &CannotReplayError{input, cannot.Why, cannot.Try}
	}
	return inputError(input, err)
}
