// Package rules is the shelf of diagnoses: one file a fault of GPU programs. A rule looks at the
// facts of one capture and says where the fault is, how much time it can have to do with at most, and
// which change would fix it, in the grammar of `whatif -x`. It knows no replay: package diagnose
// prices what rules find.
package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// A Rule is a diagnosis. Its document is part of it: docs/rules is made from these fields.
type Rule struct {
	ID        string // names the fault: input_pipeline
	Title     string // the fault in a few words, for lists
	Since     string // version
	Needs     []Need // what a capture must have for the rule to judge; lacking it, the rule abstains
	Doc       string // what the fault is, how it is recognised, with every threshold and its reason
	Limits    string // when it is wrong or silent; compulsory
	Fix       string // what to change, with a short example in PyTorch
	FixC      string // the same outside PyTorch: CUDA calls, C++
	Confirm   string // how to see in a new profile that it is fixed
	RefutedBy string // what would show that the diagnosis is wrong
	Standing  Standing

	// After is the rules whose findings this one looks at (Findings.Of): they judge first. They themselves come after
	// none.
	After []*Rule

	Check func(c *Case, out *Findings)
}

// Standing says how a rule's findings are judged.
type Standing uint8

// The standings.
const (
	CostsTime Standing = iota // priced in ms of the step, dropped if the fix gains nothing
	CostsElse                 // costs memory or money, or is only worth knowing: judged by presence
	// no fault, but what bounds a step in which nothing is worth fixing: withheld beside what is
	Limit
)

// A Need is something that a capture must hold, with the command that records it.
type Need struct {
	Name string // "kernels"
	Has  func(f *facts.Facts) bool
	Try  string // "nsys profile --trace=cuda,nvtx"
}

// A Case is one capture as rules see it.
type Case struct {
	Facts   *facts.Facts
	Trace   *model.Trace
	Steps   *facts.Steps
	Budgets []facts.Budget    // of each device, over the steps looked at
	Gaps    [][]facts.IdleGap // of each budget
	Idle    map[string]int64  // idle by host of the mean device, ns over the window
	StepNs  float64           // mean step
	PerStep float64           // 1 / number of steps

	Ranks *Ranks // the job's captures, of which it is one; nil: it is given alone

	memo *memo // what several rules look at, found once
}

// Share is what ns over the window is of the window: 0 to 1.
func (c *Case) Share(ns int64) float64 { return float64(ns) * c.PerStep / max(1, c.StepNs) }

// A Finding is a fault in a place.
type Finding struct {
	Rule       *Rule
	Title      string   // in the user's terms, with names and numbers of this capture
	AtMostNs   float64  // upper bound of what fixing it can save of a mean step; 0: not known, or no time
	Changes    []string // the fix as what-if changes, best first; none: it cannot be replayed
	First      string   // rule whose fix this one needs first, or ""
	Confidence float64  // 0 to 1: how sure the rule is that this is the fault
	Evidence   []Evidence
	Fix        string // "": the rule's
	// Faint says that what is seen of it in the capture is too little of a step to be worth a word: it is one only if
	// its fix gains something, by what follows.
	Faint bool
	// Leads says that it tells what the capture is, which is to be known before anything else in it.
	Leads bool
	// OutsideNs is time outside the steps that it is about: AtMostNs is of the steps.
	OutsideNs float64
	// Occasions is how often it was met, where that is not in every step and at no fixed period: how often it comes in
	// a long run is known as far as so few can tell. 0: it comes in every step, or at a period.
	Occasions int
}

// Evidence is a sentence and the rows that show it.
type Evidence struct {
	Text string
	Rows []string // named intervals, calls, kernels: "step 3: 12.4 ms at 210.3 ms: data_load"
}

// Findings collects what a rule finds.
type Findings struct {
	rule   *Rule
	others map[*Rule]*Findings // what those of rule.After found
	All    []Finding
	// Abstained is what the rule cannot judge although its needs are met, and why.
	Abstained []Abstention
}

// An Abstention says why a rule cannot judge.
type Abstention struct {
	Rule    *Rule
	Reason  string
	Missing string
	Try     string
	Lacks   bool // the capture holds nothing of one of the rule's Needs; else the rule looked, and cannot tell
}

// Of is what a rule of After found.
func (o *Findings) Of(r *Rule) []Finding {
	if found := o.others[r]; found != nil {
		return found.All
	}
	return nil
}

// Add adds a finding and returns it for what is still to be said.
func (o *Findings) Add(confidence float64, atMostNs float64, title string, args ...any) *Finding {
	o.All = append(o.All, Finding{Rule: o.rule, Title: fmt.Sprintf(title, args...), AtMostNs: atMostNs,
		Confidence: confidence})
	return &o.All[len(o.All)-1]
}

// Cannot says that the rule cannot judge.
func (o *Findings) Cannot(reason, missing, try string) {
	o.Abstained = append(o.Abstained, Abstention{Rule: o.rule, Reason: reason, Missing: missing, Try: try})
}

// Because adds evidence to a finding.
func (f *Finding) Because(text string, rows ...string) *Finding {
	f.Evidence = append(f.Evidence, Evidence{text, rows})
	return f
}

// Repair names the changes that fix it, best first.
func (f *Finding) Repair(changes ...string) *Finding {
	f.Changes = append(f.Changes, changes...)
	return f
}

// NewCase looks at a capture over its steps.
func NewCase(f *facts.Facts, steps *facts.Steps) *Case {
	c := &Case{Facts: f, Trace: f.Trace, Steps: steps, PerStep: 1 / float64(max(1, len(steps.Steady()))),
		Idle: make(map[string]int64), memo: new(memo)}
	window := steps.Window()
	c.StepNs = float64(window.LenNs()) * c.PerStep
	devices := f.Idleness(window)
	for _, d := range devices {
		c.Budgets, c.Gaps = append(c.Budgets, d.Budget), append(c.Gaps, d.Gaps)
		for cause, ns := range d.Causes {
			c.Idle[f.CauseText(cause)] += ns / int64(len(devices))
		}
	}
	return c
}

// Run lets rules judge a case. What they say is in the order given; those that look at findings of others judge last.
func Run(c *Case, list []*Rule) *Findings {
	found := judged(c, list)
	all := &Findings{}
	for _, r := range list {
		if need := lacks(c.Facts, r); need != nil {
			all.Abstained = append(all.Abstained, Abstention{r, "the capture has no " + need.Name, need.Name, need.Try,
				true})
			continue
		}
		out := found[r]
		if c.Steps.Source == facts.StepsNone {
			out.ofCapture()
		}
		all.All = append(all.All, out.All...)
		all.Abstained = append(all.Abstained, out.Abstained...)
	}
	return all
}

// judged is what each rule finds. One that lacks what it needs judges only if another comes after it: what it then
// finds is not shown, but no rule may say that all is well beside it.
func judged(c *Case, list []*Rule) map[*Rule]*Findings {
	found, lookedAt := make(map[*Rule]*Findings, len(list)), make(map[*Rule]bool)
	for _, r := range list {
		for _, before := range r.After {
			lookedAt[before] = true
		}
	}
	for _, late := range []bool{false, true} {
		for _, r := range list {
			if late == (len(r.After) > 0) && (lookedAt[r] || lacks(c.Facts, r) == nil) {
				found[r] = &Findings{rule: r, others: found}
				r.Check(c, found[r])
			}
		}
	}
	return found
}

func lacks(f *facts.Facts, r *Rule) *Need {
	for i := range r.Needs {
		if !r.Needs[i].Has(f) {
			return &r.Needs[i]
		}
	}
	return nil
}
