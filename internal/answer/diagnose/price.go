package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/replay"
	"lacuna/internal/timeline/rules"
)

// maxOff is the self-error from which no change of the schedule is priced. Below, what the replay does not explain is
// in the range of the gain; a replay that misses a quarter of the step is one of another program.
const maxOff = 0.25

// A desk prices findings and puts them in order.
type desk struct {
	k      *replay.Pricer
	nowNs  float64
	stepNs float64 // as measured
	whole  bool    // nothing marks steps: the capture is one
	priced []priced
	worth  []report.Finding // judged by presence, or without a price
	small  []report.Finding // that concern, or gain, too little of the step to be listed
}

type priced struct {
	rule    *rules.Finding
	changes []string
	f       report.Finding
	gainNs  float64
}

// price finds the best of a finding's fixes that can be made.
func (d *desk) price(x *rules.Finding) {
	f := finding(x)
	if x.Rule.Standing != rules.CostsTime {
		d.worth = append(d.worth, f)
		return
	}
	no := &report.NoGain{Kind: report.NoSuchChange, Reason: "no change of the replay makes this fix"}
	for _, change := range x.Changes {
		e, before, applied := d.make(change)
		if !applied.Applied {
			if applied.Refused == report.NotAllowed && no.Kind == report.NoSuchChange {
				no = &report.NoGain{Kind: report.ChangeRefused, Change: change, Reason: change + " " + applied.WhyNot}
			}
			continue
		}
		price, why := d.gain(x, change, before, e)
		if why != nil {
			if no.Kind != report.RangeHasNone {
				no = why
			}
			if why.Kind == report.RangeHasNone {
				f.GainLowMs, f.GainHighMs = 0, price.Gain.HighNs/1e6
			}
			continue
		}
		f.NoGain, f.Change, f.Before, f.Assumes = nil, change, before, applied.Assumes
		if len(before) > 0 {
			f.Assumes = append(f.Assumes, "after "+strings.Join(before, " and ")+
				", which it needs first and which is not in the gain")
		}
		f.RecoverableMs, f.GainLowMs, f.GainHighMs = price.Gain.Ns/1e6, price.Gain.LowNs/1e6, price.Gain.HighNs/1e6
		f.PredictedMs, f.LowMs, f.HighMs = price.Unprofiled.Ns/1e6, price.Unprofiled.LowNs/1e6,
			price.Unprofiled.HighNs/1e6
		f.AtMostMs, f.Severity = d.ceiling(x, e)/1e6, d.severity(price.Gain.Ns)
		if n := x.Occasions; n > 0 {
			low, _ := stat.RateBounds(n)
			f.GainLowMs *= low / float64(n)
			f.Severity = d.severity(f.GainLowMs * 1e6)
			f.Assumes = append(f.Assumes, fmt.Sprintf("it comes as often as in this capture, %s: in a long run it may "+
				"be %.2g times as often", unit.Counted(n, "time", "times"), low/float64(n)))
		}
		if x.Faint && price.Gain.Ns < lowShare*d.nowNs {
			d.small = append(d.small, f)
			return
		}
		d.priced = append(d.priced, priced{x, append(slices.Clone(before), change), f, price.Gain.Ns})
		return
	}
	d.unpriced(f, x, no)
}

// gain is the price of a finding's change; why says why it promises nothing.
func (d *desk) gain(x *rules.Finding, change string, before []string, e *replay.Edit) (p replay.Price,
	why *report.NoGain) {
	off := math.Abs(d.k.SelfError)
	if off > maxOff && e.Reschedules(d.k.Program) {
		return p, &report.NoGain{Kind: report.ReplayOff, Change: change,
			Reason: fmt.Sprintf("the replay is %.1f %% off", 100*off)}
	}
	p = d.priceAfter(before, e)
	replayed := p.Gain.Ns
	p.Gain = atMost(p.Gain, d.ceiling(x, e))
	p.Gain.HighNs = min(p.Gain.HighNs, max(p.Gain.Ns, d.nowNs)) // of a slow run's step it may be more, not of this one
	p.Unprofiled = later(p.Unprofiled, replayed-p.Gain.Ns)
	switch {
	case p.Gain.LowNs > 0:
		return p, nil
	case p.Gain.HighNs < leastGain*d.nowNs || p.Gain.Ns < leastGain*d.nowNs && p.Gain.HighNs < lowShare*d.nowNs:
		if ns, only := e.ReachNs(d.k.Program); only && ns < leastReach*x.AtMostNs {
			return p, &report.NoGain{Kind: report.ChangeMisses, Change: change, Reason: fmt.Sprintf(
				"%s finds only %.2g of the %.3g ms in a form that it knows", change, ns/1e6, x.AtMostNs/1e6)}
		}
		return p, d.nothing(change, p, e)
	}
	reason := change + " may gain nothing"
	if off >= unexplained {
		reason += fmt.Sprintf(": the replay is %.1f %% off", 100*off)
	}
	return p, &report.NoGain{Kind: report.RangeHasNone, Change: change, Reason: reason,
		StepMs: p.Unprofiled.Ns / 1e6}
}

const (
	// leastGain is the share of a step below which a replayed gain is none: one replay and the next of steps of one
	// program differ by more.
	leastGain = 0.002
	// leastReach is the share of the time that a fault concerns which its change must reach before it is said that
	// nothing is gained.
	leastReach = 0.5
	// unexplained is the self-error that is worth a word beside a range.
	unexplained = 0.01
)

// ceiling is the time of a step that a fault concerns, with the pauses around work that its fix leaves out; 0: that is
// not known.
func (d *desk) ceiling(x *rules.Finding, e *replay.Edit) float64 {
	if x.AtMostNs <= 0 {
		return 0
	}
	return x.AtMostNs + e.GapsNs(d.k.Program)
}

// atMost keeps a gain within the time that the fault concerns; 0: that is not known. It was measured in one run:
// another may take as much longer as steps of one program do, so the range may go as far.
func atMost(g replay.Range, atMostNs float64) replay.Range {
	if atMostNs <= 0 {
		return g
	}
	return replay.Range{Ns: min(g.Ns, atMostNs), LowNs: min(g.LowNs, atMostNs*(1-otherRun)),
		HighNs: min(g.HighNs, atMostNs*(1+otherRun))}
}

// later is a step that is longer by ns.
func later(step replay.Range, ns float64) replay.Range {
	return replay.Range{Ns: step.Ns + ns, LowNs: step.LowNs + ns, HighNs: step.HighNs + ns}
}

// otherRun is by how much a time may differ in another run: 108 captures of device-bound programs had steps of 0.97 to
// 1.11 times the estimate in long runs, host-bound ones more.
const otherRun = 0.10

// nothing says what bounds the step once a change is made that gains nothing.
func (d *desk) nothing(change string, p replay.Price, e *replay.Edit) *report.NoGain {
	path := pathOf(d.k, e)
	by := boundBy(path)
	no := &report.NoGain{Kind: report.GainsNothing, Change: change, BoundBy: by, BoundMs: path[by] / 1e6,
		StepMs: p.Unprofiled.Ns / 1e6, Reason: "replayed with " + change + ", the step takes as long"}
	if alone := e.Alone(); alone != nil {
		if g := d.k.GainOver(d.k.Program.Edit(), alone); g.Ns > leastGain*d.nowNs {
			no.SideBySideMs = g.Ns / 1e6
		}
	}
	return no
}

// unpriced keeps a finding whose fix has no price, with the reason; one that concerns next to nothing of the step is
// kept apart.
func (d *desk) unpriced(f report.Finding, x *rules.Finding, no *report.NoGain) {
	unpriced(&f, x, no)
	if x.Faint || x.AtMostNs > 0 && x.AtMostNs < lowShare*d.stepNs {
		d.small = append(d.small, f)
		return
	}
	d.worth = append(d.worth, f)
}

// unpriced says of a finding why it has no price, and what it can buy at most.
func unpriced(f *report.Finding, x *rules.Finding, no *report.NoGain) {
	f.RecoverableMs, f.NoGain = 0, no
	switch {
	case no.Kind == report.GainsNothing:
		f.GainHighMs = 0
	case f.GainHighMs == 0:
		f.GainHighMs = x.AtMostNs / 1e6
	}
	f.Assumes = append(f.Assumes, no.Reason)
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
