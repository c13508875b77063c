// Package gate judges new runs of a program against budgets and against earlier runs: what `lacuna check` says. Its
// types are the JSON contract; writers print them.
package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/runs/measure"
)

// Schema is the version of the JSON contract. Fields are added, never renamed.
const Schema = 1

// A Verdict is what a check comes to, as a whole and on one measure.
type Verdict string

// The verdicts. Pass, Regression, Inconclusive and NotComparable are of a check too; Improvement is of a measure only
// and fails nothing.
const (
	Pass          Verdict = "pass"
	Regression    Verdict = "regression"
	Inconclusive  Verdict = "inconclusive"
	NotComparable Verdict = "not_comparable"
	Improvement   Verdict = "improvement"
)

// A Baseline is where the runs to compare with come from: files, or a history.
type Baseline interface {
	// Runs is what new runs are compared with, and in words what that is.
	Runs(ctx context.Context, like []*measure.Run) (runs []*measure.Run, what string, err error)
}

// A Result is what a check says.
type Result struct {
	Schema     int      `json:"schema"`
	Verdict    Verdict  `json:"verdict"`
	ExitStatus int      `json:"exit_status"` // with what --inconclusive makes of it
	Comparable bool     `json:"comparable"`
	WhyNot     []string `json:"why_not"` // nothing: comparable as far as is known
	Baseline   string   `json:"baseline"`
	Before     Side     `json:"before"`
	After      Side     `json:"after"`
	Config     string   `json:"config"` // the file with the rules, "" none
	Inputs     []string `json:"inputs"` // the files of the new runs
	Measures   []Row    `json:"measures"`
	Warnings   []string `json:"warnings"`
	Unmatched  []string `json:"unmatched"` // measures that only one side has: no verdict on them
	Location   Location `json:"-"`         // where code hosts show verdicts
}

// A Location is a line of a file of the repository, its path from the repository's root.
type Location struct {
	File string // "": unknown
	Line int    // 0: that of the rule in File
}

// A Side is a set of runs.
type Side struct {
	Runs  []string `json:"runs"`
	GPU   string   `json:"gpu"`
	Tools []string `json:"tools"` // that watched them; "": none
}

// A Row is the verdict on one measure by one rule. Percentages are of before, or of the budget.
type Row struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"` // change, or budget: max, min
	Unit       string   `json:"unit"`
	Better     string   `json:"better"` // lower, higher, neither
	Before     *float64 `json:"before"` // null: a budget
	After      float64  `json:"after"`  // medians over runs
	ChangePct  *float64 `json:"change_pct"`
	LowPct     *float64 `json:"low_pct"` // 95 % interval; null: not known
	HighPct    *float64 `json:"high_pct"`
	Limit      string   `json:"limit"`     // as --limit or --budget take it
	LimitPct   *float64 `json:"limit_pct"` // share and amount together
	Verdict    Verdict  `json:"verdict"`
	RunsNeeded int      `json:"runs_needed"` // a side, that would decide; 0: decided, or not known
	RunsBefore int      `json:"runs_before"`
	RunsAfter  int      `json:"runs_after"`
	Family     int      `json:"family"`   // questions that share one false alarm in a hundred suites
	OfSteps    bool     `json:"of_steps"` // the interval is over steps of single runs
	Policy     string   `json:"inconclusive,omitempty"`
	Rule       string   `json:"rule"`     // who says so
	Override   string   `json:"override"` // a flag that would
	Line       int      `json:"line,omitempty"`
	Why        string   `json:"why,omitempty"` // where the numbers do not say it
	Warnings   []string `json:"warnings,omitempty"`
	Each       [2]Each  `json:"each"` // before and after
}

// Each is every run's value: what a plot shows.
type Each []float64

// Options says how to check.
type Options struct {
	Rules        []Rule
	Same         []string // labels that must be equal
	Config       string   // the file of the rules
	Inputs       []string // the files of the new runs
	Baseline     string   // what before is, in words
	Inconclusive string   // "", pass, fail: for all measures
	Force        bool     // judge what is not comparable
}

// Check judges new runs. before may be nothing if every rule is a budget.
func Check(before, after []*measure.Run, opt Options) (*Result, error) {
	c := &check{before: before, after: after, opt: opt}
	r := &Result{Schema: Schema, Baseline: opt.Baseline, Config: opt.Config, Inputs: append([]string{}, opt.Inputs...),
		Before: sideOf(before), After: sideOf(after), Measures: []Row{}, Warnings: []string{}, Unmatched: []string{},
		WhyNot: []string{}}
	if err := c.ask(r); err != nil {
		return nil, err
	}
	if len(before) > 0 {
		r.WhyNot = append(r.WhyNot, c.differences()...)
	}
	r.Comparable = len(r.WhyNot) == 0
	c.judgeAll(r)
	c.conditions(r)
	r.Verdict = overall(r)
	r.ExitStatus = exitStatus(r, opt.Inconclusive)
	return r, nil
}

// A check is one at work.
type check struct {
	before, after []*measure.Run
	opt           Options
	questions     []question
}

func sideOf(runs []*measure.Run) Side {
	s := Side{Runs: []string{}, Tools: []string{}}
	for _, r := range runs {
		s.Runs = append(s.Runs, r.Name)
		s.Tools = append(s.Tools, r.Tool)
		if s.GPU == "" {
			s.GPU = r.Machine.GPU
		}
	}
	slices.Sort(s.Tools)
	s.Tools = slices.Compact(s.Tools)
	return s
}

// differences says why the two sides are not comparable: the machine, the profiler, labels that must be equal.
func (c *check) differences() []string {
	out := measure.Differences(c.before, c.after)
	if t := measure.ToolsDiffer(c.before, c.after); t != "" {
		out = append(out, t)
	}
	for _, name := range c.opt.Same {
		b, a := labels(c.before, name), labels(c.after, name)
		if !slices.Equal(b, a) || len(a) > 1 {
			out = append(out, fmt.Sprintf("label %s: before %s, after %s", name, words(b), words(a)))
		}
	}
	return out
}

// labels is the different values of a label, in order; "" where a run has none.
func labels(runs []*measure.Run, name string) (out []string) {
	for _, r := range runs {
		value := ""
		for _, l := range r.Labels {
			if l.Name == name {
				value = l.Value
			}
		}
		out = append(out, value)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func words(values []string) string {
	out := slices.Clone(values)
	for i, v := range out {
		if v == "" {
			out[i] = "(none)"
		}
	}
	return strings.Join(out, " and ")
}

// overall is the verdict of all rows: a regression is one whatever else is not known; what cannot be compared is no
// pass.
func overall(r *Result) Verdict {
	worst := Pass
	for _, v := range []Verdict{Inconclusive, NotComparable, Regression} {
		if slices.ContainsFunc(r.Measures, func(m Row) bool { return m.Verdict == v }) {
			worst = v
		}
	}
	return worst
}

// exitStatus is that of the program: 0 pass, 1 regression, 3 no verdict; a policy on what is inconclusive, of the call
// before that of a rule, makes 0 or 1 of it.
func exitStatus(r *Result, policy string) int {
	status := 0
	for i := range r.Measures {
		m := &r.Measures[i]
		if policy != "" {
			m.Policy = policy
		}
		switch {
		case m.Verdict == Regression || m.Verdict == Inconclusive && m.Policy == "fail":
			status = 1
		case status == 0 && (m.Verdict == NotComparable || m.Verdict == Inconclusive && m.Policy != "pass"):
			status = 3
		}
	}
	return status
}

// A NoMeasureError says that a rule matches nothing.
type NoMeasureError struct {
	Rule string   // who asks
	Name string   // its pattern
	Have []string // every measure there is, in order
}

func (e *NoMeasureError) Error() string {
	const shown = 6
	have := strings.Join(e.Have[:min(shown, len(e.Have))], ", ")
	if more := len(e.Have) - shown; more > 0 {
		have += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s: no measure %s (have %s)", e.Rule, e.Name, have)
}
