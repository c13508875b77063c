package diagnose

import (
	"cmp"
	"fmt"
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

// cannot lists what was found without prices.
func cannot(out *report.Judged, found *rules.Findings, err error) error {
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
			unpriced(&f, x, "not priced: the capture cannot be replayed")
		}
		out.Findings = append(out.Findings, f)
	}
	return nil
}

// because asks for the largest causes of idle time how many ms of it there are because of them.
func because(k *replay.Pricer, f *facts.Facts) map[string]float64 {
	totals := make(map[facts.Cause]int64)
	for _, d := range f.Idleness(k.Program.Steps.Window()) {
		for cause, ns := range d.Causes {
			totals[cause] += ns
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

// A desk prices findings and puts them in order.
type desk struct {
	k      *replay.Pricer
	nowNs  float64
	unsure bool // the self-error is too large for changes of the schedule
	priced []priced
	worth  []report.Finding // judged by presence
}

type priced struct {
	rule    *rules.Finding
	changes []string
	f       report.Finding
	gainNs  float64
}

// price finds the best of a finding's fixes that can be made.
func (d *desk) price(x *rules.Finding, out *report.Judged) {
	f := finding(x)
	if x.Rule.Standing != rules.CostsTime {
		d.worth = append(d.worth, f)
		return
	}
	if len(x.Changes) == 0 {
		d.unpriced(f, x, "not priced: the replay cannot make this change")
		return
	}
	refused := "" // why a fix is not allowed, where none could be priced
	for _, change := range x.Changes {
		e, before, applied := d.make(change)
		if !applied.Applied {
			if applied.Refused == report.NotAllowed {
				refused = change + " " + applied.WhyNot
			}
			continue
		}
		refused = ""
		if d.unsure {
			out.Abstained = append(out.Abstained, report.Abstained{Rule: x.Rule.ID, Kind: report.ReplayUnsure,
				Reason: fmt.Sprintf("the gain of %s is unknown: the replay is %.1f %% off", change,
					100*math.Abs(d.k.SelfError)),
				Missing:   "waits between streams or threads that the capture does not hold",
				GetItWith: "lacuna record, or nsys profile --trace=cuda,nvtx"})
			d.unpriced(f, x, fmt.Sprintf("not priced: the replay is %.1f %% off", 100*math.Abs(d.k.SelfError)))
			return
		}
		price := d.priceAfter(before, e)
		if price.Gain.LowNs <= 0 {
			continue // a gain whose range includes none is not promised
		}
		f.Change, f.Before, f.Assumes = change, before, applied.Assumes
		if len(before) > 0 {
			f.Assumes = append(f.Assumes, "after "+strings.Join(before, " and ")+
				", which it needs first and which is not in the gain")
		}
		f.RecoverableMs, f.GainLowMs, f.GainHighMs = price.Gain.Ns/1e6, price.Gain.LowNs/1e6, price.Gain.HighNs/1e6
		f.PredictedMs, f.LowMs, f.HighMs = price.Unprofiled.Ns/1e6, price.Unprofiled.LowNs/1e6,
			price.Unprofiled.HighNs/1e6
		f.Severity = d.severity(price.Gain.Ns)
		d.priced = append(d.priced, priced{x, append(slices.Clone(before), change), f, price.Gain.Ns})
		return
	}
	if refused != "" {
		d.unpriced(f, x, refused)
	}
}

// unpriced keeps a finding whose fix cannot be replayed.
func (d *desk) unpriced(f report.Finding, x *rules.Finding, why string) {
	unpriced(&f, x, why)
	d.worth = append(d.worth, f)
}

// unpriced says of a finding why it has no price, and what it can buy at most.
func unpriced(f *report.Finding, x *rules.Finding, why string) {
	f.RecoverableMs, f.GainHighMs = 0, x.AtMostNs/1e6
	f.Assumes = append(f.Assumes, why)
}

// maxBefore bounds the chain of changes that one needs before it.
const maxBefore = 3

// make applies a change, and before it those that it says it needs. Where that does not help, applied says why not.
func (d *desk) make(change string) (e *replay.Edit, before []string, applied report.AppliedChange) {
	for range maxBefore {
		e = d.k.Program.Edit()
		for _, b := range before {
			if a, err := apply(e, b); err != nil || !a.Applied {
				return e, before, applied
			}
		}
		a, err := apply(e, change)
		applied = a
		if err != nil || a.Applied || a.First == "" || slices.Contains(before, a.First) {
			break
		}
		before = append(before, a.First)
	}
	return e, before, applied
}

// priceAfter is the price of an edit, the gain less what the changes before it buy by themselves.
func (d *desk) priceAfter(before []string, e *replay.Edit) replay.Price {
	price := d.k.Unprofiled(e)
	if len(before) == 0 {
		return price
	}
	first := d.k.Program.Edit()
	for _, b := range before {
		if _, err := apply(first, b); err != nil {
			return price
		}
	}
	price.Gain = d.k.GainOver(first, e)
	return price
}

func (d *desk) severity(gainNs float64) string {
	switch share := gainNs / math.Max(1, d.nowNs); {
	case share >= highShare:
		return "high"
	case share >= mediumShare:
		return "medium"
	case share >= lowShare:
		return "low"
	}
	return "info"
}

// rank puts findings in order of what they buy; one that another needs first comes before it.
func (d *desk) rank() {
	slices.SortStableFunc(d.priced, func(a, b priced) int {
		return cmp.Or(cmp.Compare(b.gainNs, a.gainNs), cmp.Compare(a.f.Rule, b.f.Rule),
			cmp.Compare(a.f.Title, b.f.Title))
	})
	for i := range d.priced {
		first := d.priced[i].rule.First
		for j := i + 1; first != "" && j < len(d.priced); j++ {
			if d.priced[j].f.Rule == first {
				moved := d.priced[j]
				d.priced = slices.Insert(slices.Delete(d.priced, j, j+1), i, moved)
				break
			}
		}
	}
}

// together makes one change after another: what two findings both claim counts once.
func (d *desk) together(k *replay.Pricer) *report.AfterAll {
	if len(d.priced) == 0 {
		return nil
	}
	e := k.Program.Edit()
	before := d.nowNs
	var last replay.Price
	for i := range d.priced {
		p := &d.priced[i]
		made := false
		for _, change := range p.changes { // one that is made already matches nothing more
			if applied, err := apply(e, change); err == nil && applied.Applied {
				made = true
			}
		}
		if !made {
			continue
		}
		last = k.Unprofiled(e)
		p.f.AfterOthersMs = (before - last.Unprofiled.Ns) / 1e6
		before = last.Unprofiled.Ns
	}
	return &report.AfterAll{StepMs: last.Unprofiled.Ns / 1e6, LowMs: last.Unprofiled.LowNs / 1e6,
		HighMs:  last.Unprofiled.HighNs / 1e6,
		BoundBy: boundBy(pathOf(k, e))}
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

// out is the findings in order: those that cost time first.
func (d *desk) out() []report.Finding {
	out := []report.Finding{}
	for _, p := range d.priced {
		out = append(out, p.f)
	}
	worthFixing := slices.ContainsFunc(d.priced, func(p priced) bool { return p.gainNs >= mediumShare*d.nowNs })
	slices.SortStableFunc(d.worth, func(a, b report.Finding) int { return cmp.Compare(b.GainHighMs, a.GainHighMs) })
	for _, f := range d.worth {
		if !f.Limit || !worthFixing {
			out = append(out, f)
		}
	}
	return out
}

// finding is what is known of a finding without a price.
func finding(x *rules.Finding) report.Finding {
	f := report.Finding{Rule: x.Rule.ID, Title: x.Title, Severity: "info", Limit: x.Rule.Standing == rules.Limit,
		Confidence: x.Confidence, First: x.First,
		Assumes: []string{}, Evidence: []report.Evidence{}, Fix: x.Fix, FixElsewhere: x.Rule.FixC,
		Confirm: x.Rule.Confirm, RefutedBy: x.Rule.RefutedBy}
	if f.Fix == "" {
		f.Fix = x.Rule.Fix
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
