// Package doctor looks at a machine: can GPU timelines be recorded here, can ncu read counters, can the CPU be
// sampled, what is missing, what that costs, and what fixes it. Checks look at a Machine, which may be this one
// or one that a test describes; they change nothing.
package doctor

import (
	"context"
	"slices"
)

// A Purpose is what a machine may be good for.
type Purpose string

// The purposes, in the order in which they matter.
const (
	Record Purpose = "record" // lacuna record: the timeline of the GPU
	NCU    Purpose = "ncu"    // Nsight Compute: counters inside kernels
	Sample Purpose = "sample" // record --sample: what the CPU does
)

// Purposes is every purpose.
func Purposes() []Purpose { return []Purpose{Record, NCU, Sample} }

// A State is how a thing is.
type State string

// The states.
const (
	OK      State = "ok"
	Limited State = "limited" // there, but not for all
	Missing State = "missing"
	Broken  State = "broken"  // there, but it does not work
	Unknown State = "unknown" // what would tell is not there
)

// A Result is what a check found of one thing.
type Result struct {
	Check    string    `json:"check"` // the check's ID
	Title    string    `json:"title"` // of what it looks at
	State    State     `json:"state"`
	Text     string    `json:"text"`     // what there is
	Cost     string    `json:"cost"`     // what it costs that it is so; "": nothing
	Fix      string    `json:"fix"`      // what to do about it, in words; "": nothing, or see Commands
	Commands []string  `json:"commands"` // that do it
	Stops    []Purpose `json:"stops"`    // what is impossible as it is
	Limits   []Purpose `json:"limits"`   // what is possible with less
}

// A Check looks at one thing.
type Check struct {
	ID    string
	Title string    // of what it looks at
	For   []Purpose // which it may stop or limit; none: nothing needs it
	Run   func(x *exam) []Result
}

// checks is every check, in the order in which a reader wants to know.
func checks() []*Check {
	return []*Check{&driver, &gpus, &libcuda, &cupti, &agentLibrary, &environment, &confidential, &mig, &mps,
		&ncu, &counters, &dcgm, &nsys, &sampling, &python, &torch, &cpus, &memory, &disk, &container, &toolkit}
}

// A Verdict is whether a machine is good for a purpose.
type Verdict struct {
	Purpose Purpose  `json:"purpose"`
	Answer  Answer   `json:"answer"`
	Because []string `json:"because"` // IDs of the checks that stop it, or else of those that limit it
}

// An Answer is that of a verdict.
type Answer string

// The answers.
const (
	Yes        Answer = "yes"
	WithLimits Answer = "limited"
	Untold     Answer = "unknown"
	No         Answer = "no"
)

// A Report is what is known of a machine, in the JSON contract.
type Report struct {
	Schema   int       `json:"schema"`
	Verdicts []Verdict `json:"verdicts"`
	Checks   []Result  `json:"checks"`
}

// Examine looks at a machine. Purposes leave out what does not matter for them; none: everything is looked at.
func Examine(ctx context.Context, m *Machine, purposes ...Purpose) (*Report, error) {
	x := newExam(ctx, m)
	defer x.close()
	r := &Report{Schema: 1}
	for _, c := range checks() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(purposes) > 0 && !anyOf(c.For, purposes) {
			continue
		}
		for _, found := range c.Run(x) {
			found.Check, found.Title = c.ID, c.Title
			if found.State == OK || len(purposes) == 0 || anyOf(found.Stops, purposes) ||
				anyOf(found.Limits, purposes) {
				r.Checks = append(r.Checks, found)
			}
		}
	}
	if len(purposes) == 0 {
		purposes = Purposes()
	}
	for _, p := range purposes {
		r.Verdicts = append(r.Verdicts, r.judge(p))
	}
	return r, nil
}

// anyOf says whether two lists have a purpose in common.
func anyOf(a, b []Purpose) bool {
	return slices.ContainsFunc(a, func(p Purpose) bool { return slices.Contains(b, p) })
}

// judge sums up the checks for a purpose: the gravest answer, with the checks that give it.
func (r *Report) judge(p Purpose) Verdict {
	v := Verdict{Purpose: p, Answer: Yes, Because: []string{}}
	gravity := []Answer{Yes, Untold, WithLimits, No}
	for i := range r.Checks {
		c := &r.Checks[i]
		answer := c.answer(p)
		switch d := slices.Index(gravity, answer) - slices.Index(gravity, v.Answer); {
		case d < 0 || answer == Yes:
			continue
		case d > 0:
			v.Answer, v.Because = answer, []string{}
		}
		if !slices.Contains(v.Because, c.Check) {
			v.Because = append(v.Because, c.Check)
		}
	}
	return v
}

// answer is what one result comes to for a purpose.
func (c *Result) answer(p Purpose) Answer {
	switch {
	case slices.Contains(c.Stops, p):
		return No
	case !slices.Contains(c.Limits, p):
		return Yes
	case c.State == Unknown:
		return Untold
	}
	return WithLimits
}

// fine is the result of a check that found nothing to say.
func fine(text string) []Result { return []Result{{State: OK, Text: text}} }
