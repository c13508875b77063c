package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/replay"
	"lacuna/internal/timeline/rules"
)

// replayNeeds is what rules and replay look at beyond what a report does.
const replayNeeds = model.PartLaunchConfig | model.PartOpArgs | model.PartMemory | model.PartSched |
	model.PartCounters | model.PartFaults

// From which share of the step on a finding's price is high, medium, low. Under the last it is worth no one's day.
const (
	highShare   = 0.10
	mediumShare = 0.05
	lowShare    = 0.02
)

// maxCauses is for how many causes of idle time the idle time because of them is asked: each costs a replay.
const maxCauses = 8

// cannot lists what was found without prices, what concerns most time first. whole says that nothing marks steps in
// the capture.
func cannot(out *report.Judged, found *rules.Findings, whole bool, err error) error {
	why, ok := err.(*CannotError)
	if !ok {
		return err
	}
	out.Abstained = append(out.Abstained, report.Abstained{Rule: "whatif", Kind: report.CannotReplay, Reason: why.Why,
		Missing: "what a replay needs", GetItWith: why.Try})
	for i := range found.All {
		x := &found.All[i]
		f := finding(x)
		if x.Rule.Standing == rules.CostsTime {
			unpriced(&f, x, &report.NoGain{Kind: report.NotReplayed,
				Reason: "the capture cannot be replayed"})
		}
		if x.Faint {
			out.Negligible = append(out.Negligible, f)
			continue
		}
		out.Findings = append(out.Findings, f)
	}
	slices.SortStableFunc(out.Findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(firstOf(&a, whole), firstOf(&b, whole)), cmp.Compare(b.GainHighMs, a.GainHighMs))
	})
	return nil
}

// because asks for the largest causes of idle time how many ms of it there are because of them.
func because(k *replay.Pricer, f *facts.Facts) map[string]float64 {
	totals := make(map[facts.Cause]int64)
	for _, d := range f.Idleness(k.Program.Steps.Window()) {
		for cause, ns := range d.Causes {
			if facts.IsHosts(f.CauseText(cause)) { // not the host's to take away
				totals[cause] += ns
			}
		}
	}
	var causes []facts.Cause
	for cause := range totals {
		causes = append(causes, cause)
	}
	slices.SortFunc(causes, func(a, b facts.Cause) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	causes = causes[:min(len(causes), maxCauses)]
	// a synchronisation shows little idle time inside it and much because of it
	for _, plain := range facts.PlainCauses() {
		if !slices.Contains(causes, plain) {
			causes = append(causes, plain)
		}
	}
	out := make(map[string]float64)
	for cause, ns := range k.IdleBecauseOf(causes) {
		out[f.CauseText(cause)] = ns / 1e6
	}
	return out
}

// together makes one change after another: what two findings both claim counts once, and none counts for more than the
// time that it concerns. A change that would cost time once the others are made is left out.
func (d *desk) together(k *replay.Pricer) *report.AfterAll {
	if len(d.priced) == 0 {
		return nil
	}
	e, last := k.Program.Edit(), k.Unprofiled(k.Program.Edit())
	var done []string
	saved, bestNs := 0.0, 0.0
	for i := range d.priced {
		p := &d.priced[i]
		bestNs = max(bestNs, p.gainNs)
		made := applyAll(e, p.changes) // one that is made already matches nothing more
		if made == 0 {
			continue
		}
		price := k.Unprofiled(e)
		gain := last.Unprofiled.Ns - price.Unprofiled.Ns
		if gain < 0 {
			e = k.Program.Edit()
			applyAll(e, done)
			continue
		}
		done, last = append(done, p.changes...), price
		if made == 1 && p.f.AtMostMs > 0 { // else what it needs first gains too
			gain = min(gain, p.f.AtMostMs*1e6)
		}
		p.f.AfterOthersMs = gain / 1e6
		saved += gain
	}
	step := last.Unprofiled
	kept := d.nowNs - max(saved, bestNs) - step.Ns // what the replay takes away beyond what they concern
	after := &report.AfterAll{StepMs: (step.Ns + kept) / 1e6, LowMs: max(0, step.LowNs+kept) / 1e6,
		HighMs: (step.HighNs + kept) / 1e6}
	after.BoundBy = boundAfter(pathOf(k, e), step.Ns, kept)
	return after
}

// boundAfter is what takes most of a path; "" where the step that is told is longer than the replay's by what was kept
// of a gain, unless it is nearly all of the replay's: then what bounds the step told is not known.
func boundAfter(path map[string]float64, stepNs, keptNs float64) string {
	by := boundBy(path)
	if math.Abs(keptNs) > unexplained*stepNs && path[by] < mostOfPath*stepNs {
		return ""
	}
	return by
}

// mostOfPath is the share of a step's path that leaves a twentieth at most to anything else.
const mostOfPath = 0.95

// applyAll makes changes and says how many of them were made.
func applyAll(e *replay.Edit, changes []string) (made int) {
	for _, change := range changes {
		if applied, err := apply(e, change); err == nil && applied.Applied {
			made++
		}
	}
	return made
}

// boundBy is the cause that takes most of a critical path.
func boundBy(path map[string]float64) string {
	best, bestNs := "", -1.0
	for cause, ns := range path {
		if ns > bestNs || ns == bestNs && cause < best {
			best, bestNs = cause, ns
		}
	}
	return best
}

// out is the findings in order: those with a price in the order in which to fix them, and among them, by the time
// that they concern, those that cost time although it is unknown how much of it a fix would save. Behind them is what
// has no price because nothing is to be gained, or because it is only worth knowing. What is about time outside,
// which is longer than all that the others are about, comes first where nothing marks steps; beside the steps of a
// loop, which has it once, it is worth knowing.
func (d *desk) out() []report.Finding {
	slices.SortStableFunc(d.worth, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(b.GainHighMs, a.GainHighMs), cmp.Compare(b.AtMostMs, a.AtMostMs))
	})
	var leading, unknown, rest []report.Finding
	for _, f := range d.worth {
		if f.NoGain.Unknown() && f.GainHighMs*1e6 >= lowShare*d.stepNs {
			unknown = append(unknown, f)
		} else if firstOf(&f, d.whole) < anywhere {
			leading = append(leading, f)
		} else {
			rest = append(rest, f)
		}
	}
	slices.SortStableFunc(leading, func(a, b report.Finding) int {
		return cmp.Compare(firstOf(&a, d.whole), firstOf(&b, d.whole))
	})
	out := append([]report.Finding{}, leading...)
	for _, p := range d.priced {
		for len(unknown) > 0 && unknown[0].GainHighMs > max(p.f.GainHighMs, p.f.AtMostMs) {
			out, unknown = append(out, unknown[0]), unknown[1:]
		}
		out = append(out, p.f)
	}
	out = append(out, unknown...)
	worthFixing := slices.ContainsFunc(d.priced, func(p priced) bool { return p.gainNs >= mediumShare*d.nowNs })
	for _, f := range rest {
		if !f.Limit || !worthFixing {
			out = append(out, f)
		}
	}
	return out
}

// inOwnWords gives findings on a program in which nothing is PyTorch's the fix for others.
func inOwnWords(found *rules.Findings, f *facts.Facts) {
	if f.UsesPyTorch() {
		return
	}
	for i := range found.All {
		if x := &found.All[i]; x.Fix == "" && x.Rule.FixC != "" {
			x.Fix = x.Rule.FixC
		}
	}
}

// The places of findings that stand before all others.
const (
	saysWhatItIs = iota
	isOutside
	anywhere
)

// firstOf is the place of a finding among those that are to be read before all others: what says what the capture is,
// and, where nothing marks steps, what is about time outside the main part, which is longer than that.
func firstOf(f *report.Finding, whole bool) int {
	switch {
	case f.Leads:
		return saysWhatItIs
	case f.OutsideMs > 0 && whole:
		return isOutside
	}
	return anywhere
}

// finding is what is known of a finding without a price.
func finding(x *rules.Finding) report.Finding {
	f := report.Finding{Rule: x.Rule.ID, Title: x.Title, Severity: "info", Limit: x.Rule.Standing == rules.Limit,
		Confidence: x.Confidence, First: x.First, AtMostMs: x.AtMostNs / 1e6, OutsideMs: x.OutsideNs / 1e6,
		Leads: x.Leads, Assumes: []string{}, Evidence: []report.Evidence{}, Fix: x.Fix, FixElsewhere: x.Rule.FixC,
		Confirm: x.Rule.Confirm, RefutedBy: x.Rule.RefutedBy}
	if f.Fix == "" {
		f.Fix = x.Rule.Fix
	}
	if f.Fix == f.FixElsewhere {
		f.FixElsewhere = ""
	}
	for _, text := range []*string{&f.Fix, &f.FixElsewhere, &f.Confirm, &f.RefutedBy} {
		*text = strings.Trim(*text, "\n")
	}
	for _, e := range x.Evidence {
		rows := e.Rows
		if rows == nil {
			rows = []string{}
		}
		f.Evidence = append(f.Evidence, report.Evidence{Text: e.Text, Rows: rows})
	}
	return f
}
