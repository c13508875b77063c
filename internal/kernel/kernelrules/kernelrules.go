// Package kernelrules is the shelf of kernel diagnoses: one file a fault inside a kernel. A rule looks
// at one launch's counters, says what is wrong and where, and predicts the kernel's time once it is
// fixed: from what then limits it, not from what is wasted now.
package kernelrules

import (
	"fmt"

	"lacuna/internal/kernel"
)

// A Rule is a diagnosis. Its document is part of it: docs/kernelrules is made from these fields.
type Rule struct {
	ID        string // names the fault: uncoalesced_access
	Title     string // the fault in a few words, for lists
	Since     string // version
	Needs     []Need // counters without which the rule abstains
	Doc       string // what the fault is, how it is recognised, with every threshold and its reason
	Limits    string // when it is wrong or silent; compulsory
	Fix       string // what to change, with a short example in CUDA C++
	RefutedBy string // what would show that the diagnosis is wrong
	Healthy   bool   // nothing is wrong: the kernel is at a limit
	Residual  bool   // asked only when no other rule has found anything

	Check func(c *Case, out *Findings)
}

// A Need is counters that a rule looks at: any one name of the list is enough.
type Need struct {
	Name    string   // in words: "stall reasons"
	AnyOf   []string // metric names
	Section string   // the section of ncu that collects them: "WarpStateStats"
}

// A Case is one launch as rules see it, with the launches around it.
type Case struct {
	*kernel.Kernel
	All []*kernel.Kernel // every launch of the report in order: faults of pairs
	At  int              // position of this one in All
}

// A Finding is a fault of a kernel.
type Finding struct {
	Rule       *Rule
	Title      string  // with names and numbers of this kernel
	Confidence float64 // 0 to 1
	// PredictedUs is the time after the fix, between LowUs and HighUs; 0: not predicted.
	PredictedUs, LowUs, HighUs float64
	Next                       string // what limits the kernel then
	Evidence                   []string
	Places                     []kernel.Place // source lines or instructions where it sits, worst first
	Fix                        string         // "": the rule's
	SameAs                     string         // rule whose finding above this one has the same fix
	SymptomOf                  string         // rule of the finding above that causes this one

	repair *repair // what the fix leaves of each demand; nil: not modelled
}

// Findings collects what a rule finds.
type Findings struct {
	rule *Rule
	All  []Finding // ranked: causes before symptoms, then by what their fix gains
	// true of the kernel, but its fix gains less than gainWorth, or the kernel is too short to say
	Mentioned []Finding
	Abstained []Abstention
}

// An Abstention says why a rule cannot judge a kernel.
type Abstention struct {
	Rule    *Rule
	Missing string // "stall reasons"
	Section string // what to collect: "WarpStateStats"
}

// Add adds a finding and returns it for what is still to be said.
func (o *Findings) Add(confidence float64, title string, args ...any) *Finding {
	o.All = append(o.All, Finding{Rule: o.rule, Title: fmt.Sprintf(title, args...), Confidence: confidence})
	return &o.All[len(o.All)-1]
}

// abstain says that the rule in hand cannot judge the kernel, beyond what it always needs.
func (o *Findings) abstain(n Need) {
	o.Abstained = append(o.Abstained, Abstention{o.rule, n.Name, n.Section})
}

// mention moves the last finding to what is only mentioned: it is true, and no fault.
func (o *Findings) mention() {
	last := len(o.All) - 1
	o.Mentioned = append(o.Mentioned, o.All[last])
	o.All = o.All[:last]
}

// Because adds evidence.
func (f *Finding) Because(text string, args ...any) *Finding {
	f.Evidence = append(f.Evidence, fmt.Sprintf(text, args...))
	return f
}
