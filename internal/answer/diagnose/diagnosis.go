package diagnose

import (
	"context"
	"fmt"
	"sync"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
	"lacuna/internal/timeline/rules"
)

// A Diagnosis answers what is wrong with a capture and what changes to it would gain. What it found out it keeps: to
// ask again is cheap. It may be asked by several goroutines; they take turns.
type Diagnosis struct {
	job  *jobCase
	self int // the place of the capture that it is of

	turn   chan struct{} // held by whoever looks at what is below
	built  bool          // k and cannot are known
	k      *replay.Pricer
	cannot error // why the capture cannot be replayed
	judged *report.Judged
}

// Of prepares the diagnosis of the capture at place self, in the light of all others of its job. Nothing is judged or
// replayed yet.
func Of(in []*facts.Facts, self int) (*Diagnosis, error) {
	j, err := newJob(in)
	if err != nil {
		return nil, err
	}
	return &Diagnosis{job: j, self: self, turn: make(chan struct{}, 1)}, nil
}

// hold waits for this goroutine's turn, which ends with release.
func (x *Diagnosis) hold(ctx context.Context) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		x.release()
		return err
	}
	return nil
}

func (x *Diagnosis) release() { <-x.turn }

// pricer prepares the replay on first use.
func (x *Diagnosis) pricer() (*replay.Pricer, error) {
	if !x.built {
		x.k, x.cannot = x.job.pricer(x.self)
		x.built = true
	}
	return x.k, x.cannot
}

// Judged is what rules find and what replays say of it. The answer is everybody's: it is not to be changed.
func (x *Diagnosis) Judged(ctx context.Context) (*report.Judged, error) {
	if err := x.hold(ctx); err != nil {
		return nil, err
	}
	defer x.release()
	if x.judged == nil {
		out, err := x.judge(ctx)
		if err != nil {
			return nil, err
		}
		x.judged = out
	}
	return x.judged, nil
}

// judge lets the rules judge the capture while it is replayed, and prices what they find. Rules, replay and whoever
// builds a report meanwhile look at the same facts and at nothing of each other.
func (x *Diagnosis) judge(ctx context.Context) (*report.Judged, error) {
	var found *rules.Findings
	out := &report.Judged{Findings: []report.Finding{}}
	var running sync.WaitGroup
	running.Go(func() {
		if k, err := x.pricer(); err == nil && ctx.Err() == nil {
			out.IdleBecauseOf = because(k, x.job.in[x.self])
		}
	})
	running.Go(func() { found = rules.Run(x.job.rules(x.self), rules.All) })
	running.Wait()
	inOwnWords(found, x.job.in[x.self])
	out.CommWaitNs = x.job.waits(x.self)
	for _, a := range found.Abstained {
		kind := report.CannotTell
		if a.Lacks {
			kind = report.LacksPart
		}
		out.Abstained = append(out.Abstained,
			report.Abstained{Rule: a.Rule.ID, Kind: kind, Reason: a.Reason, Missing: a.Missing, GetItWith: a.Try})
	}
	whole := x.job.steps[x.self].Source == facts.StepsNone
	if x.cannot != nil {
		return out, cannot(out, found, whole, x.cannot)
	}
	now := x.k.Now()
	out.Profiler = &report.Profiler{MeasuredStepMs: x.k.MeasuredNs / 1e6, UnprofiledStepMs: now.Ns / 1e6,
		LowMs: now.LowNs / 1e6, HighMs: now.HighNs / 1e6, Tool: x.k.Program.Overhead.Name,
		SelfErrorPct: 100 * x.k.SelfError}
	d := &desk{k: x.k, nowNs: now.Ns, stepNs: x.k.MeasuredNs, whole: whole}
	for i := range found.All {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.price(&found.All[i])
	}
	d.rank()
	out.AfterAll = d.together(x.k)
	out.Findings, out.Negligible = d.out(), d.small
	return out, ctx.Err()
}

// WhatIf predicts the step with changes, given as -x takes them, made to all ranks, which are replayed together.
func (x *Diagnosis) WhatIf(ctx context.Context, wanted []string) (*report.WhatIf, error) {
	if err := x.hold(ctx); err != nil {
		return nil, err
	}
	defer x.release()
	k, err := x.pricer()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	out, err := ask(k, x.job.steps[x.self], wanted)
	if err != nil || !x.job.several() {
		return out, err
	}
	if name := x.job.name(x.self); x.job.apart != "" {
		out.Notes = append(out.Notes, fmt.Sprintf("only the slowest rank was replayed, %s: %s", name, x.job.apart))
	} else {
		out.Notes = append(out.Notes,
			fmt.Sprintf("%d ranks were replayed together; the step is that of the slowest, %s", len(x.job.in), name))
	}
	return out, nil
}
