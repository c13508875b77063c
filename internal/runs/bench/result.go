package bench

import (
	"fmt"
	"math"
	"slices"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/compare"
	"lacuna/internal/runs/measure"
)

// Schema is the version of the JSON contract. Fields are added, never renamed.
const Schema = 1

// A Result is what `lacuna bench` says.
type Result struct {
	Schema       int              `json:"schema"`
	Programs     []ProgramResult  `json:"programs"` // with two, the one that is compared against comes first
	Main         string           `json:"measure"`  // what the precision was asked of, and the headline is about
	Changes      []compare.Change `json:"changes"`  // of two programs: of the main measure first; empty of one
	Comparable   bool             `json:"comparable"`
	WhyNot       []string         `json:"why_not"`
	Stopped      string           `json:"stopped"`       // precision, runs, budget, interrupted, failed
	PrecisionPct *float64         `json:"precision_pct"` // reached: half of the 95 % interval; null: not known
	SpentS       float64          `json:"spent_s"`
	// of the main measure from the first run to the last, if it drifts
	DriftPct *float64       `json:"drift_pct,omitempty"`
	Warnings []string       `json:"warnings"`
	Failure  *FailureResult `json:"failure,omitempty"`
}

// A ProgramResult is what was measured of one program.
type ProgramResult struct {
	Command    string      `json:"command"`
	Runs       int         `json:"runs"`
	Warmups    int         `json:"warmups"`
	Measures   []Spread    `json:"measures"` // in the order of their names
	Conditions []Condition `json:"conditions"`
}

// A Spread is one measure of one program.
type Spread struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Better string    `json:"better"`
	Median float64   `json:"median"`
	Low    *float64  `json:"low"` // 95 % interval on the median; null: not known
	High   *float64  `json:"high"`
	Min    float64   `json:"min"` // of the runs' medians
	Max    float64   `json:"max"`
	CVPct  float64   `json:"cv_pct"` // between runs; 0 of one run
	Runs   int       `json:"runs"`
	Modes  []float64 `json:"modes,omitempty"`
}

// A Condition is the state of the GPUs over all runs of a program.
type Condition struct {
	Name   string  `json:"name"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	Text   string  `json:"text,omitempty"`
}

// A FailureResult is a run that ended badly.
type FailureResult struct {
	Command  string   `json:"command"`
	Run      int      `json:"run"`
	ExitCode int      `json:"exit_code"`
	Signal   string   `json:"signal,omitempty"`
	LastSaid []string `json:"last_said"`
}

// main is the measure that counts.
func (s *Session) main(opt Options) string {
	if opt.Measure != "" {
		return opt.Measure
	}
	for _, runs := range s.Runs {
		if n := len(measure.Samples(runs, "step")); n == 0 || n < len(runs) {
			return "wall"
		}
	}
	return "step"
}

// precision is half of the 95 % interval on the main measure's median, or on its change, as a share.
func (s *Session) precision(opt Options) (half float64, known bool) {
	if name := s.main(opt); len(s.Runs) == 2 {
		e := measure.Compare(s.Runs[0], s.Runs[1], name, stat.Question{})
		half, known = (e.High-e.Low)/2, e.RunsBefore > 1 && e.RunsAfter > 1
	} else {
		c := stat.CentreOf(measure.Samples(s.Runs[0], name))
		half, known = (c.High-c.Low)/2/math.Abs(c.Median), c.Runs > 1
	}
	if !known || math.IsInf(half, 0) || math.IsNaN(half) {
		return 0, false
	}
	return half, true
}

// Judge sums a session up; minEffect is the share under which a change is none.
func Judge(s *Session, opt Options, minEffect float64) *Result {
	r := &Result{Schema: Schema, Main: s.main(opt), Changes: []compare.Change{}, Comparable: true, WhyNot: []string{},
		Stopped: s.Stopped, SpentS: s.Spent.Seconds(),
		Warnings: append([]string{}, s.Warnings...)}
	for i, p := range s.Programs {
		r.Programs = append(r.Programs, programResult(p, s.Runs[i], s.Warmups))
	}
	if half, known := s.precision(opt); known {
		half *= 100
		r.PrecisionPct = &half
	}
	if f := s.Failure; f != nil {
		r.Failure = &FailureResult{r.Programs[f.Program].Command, f.Run, f.ExitCode, f.Signal, f.LastSaid}
	}
	if len(s.Runs) == 2 {
		r.compare(s, minEffect)
	}
	r.warn(s)
	return r
}

// compare asks of two programs what diff asks of two sets of runs.
func (r *Result) compare(s *Session, minEffect float64) {
	var sides [2][]*compare.Capture
	for i, runs := range s.Runs {
		if len(runs) == 0 {
			return
		}
		for _, run := range runs {
			sides[i] = append(sides[i], &compare.Capture{Run: run})
		}
	}
	d := compare.Diff(sides[0], sides[1], compare.Options{MinEffect: minEffect})
	r.Comparable, r.WhyNot = d.Comparable, d.WhyNot
	if d.Step != nil {
		r.Changes = append(r.Changes, *d.Step)
	}
	r.Changes = append(r.Changes, d.Measures...)
	slices.SortStableFunc(r.Changes, func(a, b compare.Change) int {
		switch r.Main {
		case b.Name:
			return 1
		case a.Name:
			return -1
		}
		return 0
	})
}

func programResult(p Program, runs []*measure.Run, warmups int) ProgramResult {
	out := ProgramResult{Command: commandWords(p.Args), Runs: len(runs), Warmups: warmups, Measures: []Spread{},
		Conditions: conditionsOver(runs)}
	for _, name := range measure.Names(runs) {
		samples := measure.Samples(runs, name)
		c := stat.CentreOf(samples)
		like := firstWith(runs, name)
		x := Spread{Name: name, Unit: like.Unit, Better: like.Better.String(), Median: c.Median, CVPct: 100 * c.SD,
			Runs: c.Runs, Modes: c.Modes, Min: math.Inf(1), Max: math.Inf(-1)}
		if !math.IsInf(c.Low, 0) {
			x.Low, x.High = &c.Low, &c.High
		}
		for _, run := range samples {
			m := stat.CentreOf([][]float64{run}).Median
			x.Min, x.Max = min(x.Min, m), max(x.Max, m)
		}
		out.Measures = append(out.Measures, x)
	}
	return out
}

func firstWith(runs []*measure.Run, name string) *measure.Measure {
	for _, run := range runs {
		if m := run.Find(name); m != nil {
			return m
		}
	}
	return nil
}

// conditionsOver is each condition over all runs: the least, the median of the runs' medians, the most.
func conditionsOver(runs []*measure.Run) []Condition {
	out := []Condition{}
	medians := make(map[string][]float64)
	texts := make(map[string][]string)
	for _, run := range runs {
		for _, c := range run.Conditions {
			i := slices.IndexFunc(out, func(have Condition) bool { return have.Name == c.Name })
			if i < 0 {
				i = len(out)
				out = append(out, Condition{Name: c.Name, Min: c.Min, Max: c.Max})
			}
			out[i].Min, out[i].Max = min(out[i].Min, c.Min), max(out[i].Max, c.Max)
			medians[c.Name] = append(medians[c.Name], c.Median)
			if c.Text != "" {
				texts[c.Name] = append(texts[c.Name], c.Text)
			}
		}
	}
	for i := range out {
		v := medians[out[i].Name]
		slices.Sort(v)
		out[i].Median = stat.Quantile(v, 0.5)
		switch list := texts[out[i].Name]; {
		case len(list) == 1 && len(runs) == 1:
			out[i].Text = list[0]
		case len(list) > 0:
			out[i].Text = fmt.Sprintf("in %d of %d runs; first: %s", len(list), len(runs), list[0])
		}
	}
	slices.SortFunc(out, func(a, b Condition) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}
