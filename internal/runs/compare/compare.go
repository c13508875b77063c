package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

// Schema is the version of the JSON contract. Fields are added, never renamed.
const Schema = 1

// A Difference is what `lacuna diff` says.
type Difference struct {
	Schema     int        `json:"schema"`
	Before     Side       `json:"before"`
	After      Side       `json:"after"`
	Comparable bool       `json:"comparable"`
	WhyNot     []string   `json:"why_not"`  // nothing: comparable as far as is known
	Warnings   []string   `json:"warnings"` // what a reader must know of the verdicts
	Step       *Change    `json:"step_ms"`  // null: no step was measured
	Unprofiled *Change    `json:"unprofiled_step_ms,omitempty"`
	MeanMs     [2]float64 `json:"mean_step_ms"` // before and after: what Explained is of
	Explained  []Cause    `json:"explained"`    // parts of the change of the step, most first; they sum to it
	// of the step: those that moved, then what is inconclusive, then the rest
	Measures  []Change       `json:"measures"`
	Kinds     []KindChange   `json:"kinds,omitempty"` // steps of a serving engine, by kind and size
	Mix       *MixChange     `json:"at_mix_of_before,omitempty"`
	Kernels   []KernelChange `json:"kernels"`
	Operators []PathChange   `json:"operators"`
	Sheets    []KernelSheet  `json:"kernel_sheets,omitempty"` // of kernel reports: what moved inside each kernel
	Findings  Findings       `json:"findings"`
	Predicted *Predicted     `json:"predicted,omitempty"` // for a what-if that was made of before
}

// Nothing says whether the two sides have no measure in common.
func (d *Difference) Nothing() bool {
	return d.Step == nil && len(d.Measures) == 0 && len(d.Kernels) == 0
}

// MeanApart says whether the mean step moved by clearly more or less than the median, which the verdict is on: a few
// steps of one side take far longer than the others.
func (d *Difference) MeanApart() bool {
	s := d.Step
	if s == nil || s.Before <= 0 || d.MeanMs[0] <= 0 || d.MeanMs[1] <= 0 {
		return false
	}
	return math.Abs(d.MeanMs[1]/d.MeanMs[0]-s.After/s.Before) >= max(meanApart, s.LimitPct/100)
}

// meanApart is the least share of a step by which mean and median move apart. In nine of ten of 85 captures of two
// steps or more mean and median lay within 4.5 % of each other; two sides may differ by twice that.
const meanApart = 0.10

// A Side is a set of runs.
type Side struct {
	Runs  []string `json:"runs"`
	Tools []string `json:"tools"` // that watched them; "": none
	GPU   string   `json:"gpu"`
	Steps int      `json:"steps"`                  // of all runs
	Kind  string   `json:"kind_of_step,omitempty"` // of a serving engine: decode@32
}

// A Change is one measure before and after. Percentages are of before.
type Change struct {
	Name       string   `json:"name"`
	Unit       string   `json:"unit"`
	Better     string   `json:"better"` // lower, higher, neither
	Before     float64  `json:"before"`
	After      float64  `json:"after"`
	ChangePct  *float64 `json:"change_pct"` // null: from nothing
	LowPct     *float64 `json:"low_pct"`    // 95 % interval; null: not known
	HighPct    *float64 `json:"high_pct"`
	LimitPct   float64  `json:"limit_pct"` // changes below it are none
	Verdict    Verdict  `json:"verdict"`
	RunsNeeded int      `json:"runs_needed,omitempty"`
	RunsBefore int      `json:"runs_before"`
	RunsAfter  int      `json:"runs_after"`
	OfSteps    bool     `json:"of_steps"` // the interval is over the steps of single runs
	Warnings   []string `json:"warnings,omitempty"`

	effect stat.Effect
}

// apartPct is the least difference between two changes, in points, that is spoken of: people see two digits.
const apartPct = 0.5

// MediansApart says why the change is another than that of the medians beside it.
const MediansApart = "single runs are outliers: the times are medians over runs, the change is between their means"

// MedianPct is the change of the medians, in percent, and whether it is another than ChangePct, which is between means:
// off by more than the limit, or beyond its interval.
func (c *Change) MedianPct() (pct float64, ok bool) {
	if c.ChangePct == nil || !(c.Before > 0) {
		return 0, false
	}
	pct = 100 * (c.After/c.Before - 1)
	off := math.Abs(pct - *c.ChangePct)
	outside := c.LowPct != nil && pct < *c.LowPct || c.HighPct != nil && pct > *c.HighPct
	return pct, off > c.LimitPct || outside && off > apartPct
}

// Options says how to compare. The zero value is usual.
type Options struct {
	MinEffect   float64 // share; 0: DefaultEffect
	MinAbsolute float64 // ms; 0: DefaultFloorMs
	Force       bool    // compare what is not comparable
	Top         int     // rows of each list; 0: all
}

// What a change must exceed to be one.
const (
	// DefaultEffect is 2 %: under it, five repeats of GPU-bound programs on one machine differ by themselves in one
	// of ten cases (bench/gpu/results/truth-h200.json).
	DefaultEffect = 0.02
	// DefaultFloorMs is 20 µs of a step: nobody gates on less, and a kernel of 5 µs moves by as much as its clock.
	DefaultFloorMs = 0.02
)

// Diff compares two sets of runs.
func Diff(before, after []*Capture, opt Options) *Difference {
	if opt.MinEffect == 0 {
		opt.MinEffect = DefaultEffect
	}
	if opt.MinAbsolute == 0 {
		opt.MinAbsolute = DefaultFloorMs
	}
	c := &comparison{before: before, after: after, opt: opt, runs: [2][]*measure.Run{runsOf(before), runsOf(after)}}
	if ofReports(c.runs[0]) && ofReports(c.runs[1]) {
		c.runs[0], c.runs[1] = pairReports(c.runs[0], c.runs[1])
	}
	c.toolsDiffer = measure.ToolsDiffer(c.runs[0], c.runs[1]) != ""
	d := &Difference{Schema: Schema, Before: sideOf(before), After: sideOf(after),
		WhyNot: append([]string{}, measure.Differences(c.runs[0], c.runs[1])...), Warnings: []string{},
		Explained: []Cause{}}
	if text := shapesDiffer(before[0].Shapes, after[0].Shapes); text != "" {
		d.WhyNot = append(d.WhyNot, text)
	}
	d.Comparable = len(d.WhyNot) == 0
	c.step(d)
	c.measures(d)
	c.kinds(d)
	c.kernels(d)
	c.operators(d)
	c.explain(d)
	d.Findings = c.findings()
	if b, a := before[0].Inside, after[0].Inside; b != nil && a != nil {
		d.Sheets = sheetsOf(b, a)
	}
	c.warn(d)
	return d
}

type comparison struct {
	before, after []*Capture
	runs          [2][]*measure.Run
	opt           Options
	toolsDiffer   bool
	pairs         []pair // of the kernels of the first capture of each side
}

func runsOf(list []*Capture) (out []*measure.Run) {
	for _, c := range list {
		out = append(out, c.Run)
	}
	return out
}

func sideOf(list []*Capture) Side {
	s := Side{Runs: []string{}, Tools: []string{}}
	for _, c := range list {
		s.Runs = append(s.Runs, c.Run.Name)
		s.Tools = append(s.Tools, c.Run.Tool)
		s.GPU = cmp.Or(s.GPU, c.Run.Machine.GPU)
		s.Kind = cmp.Or(s.Kind, c.Run.StepKind)
		if m := c.Run.Find("step"); m != nil {
			s.Steps += len(m.Samples)
		}
	}
	slices.Sort(s.Tools)
	s.Tools = slices.Compact(s.Tools)
	return s
}

// noise is how much the runs of a measure are known to scatter where too few of them were given to see it. Files of
// measures come from programs that nothing is known of.
func (c *comparison) noise(name string) stat.Noise {
	if len(c.before) > 1 && len(c.after) > 1 {
		return stat.Noise{}
	}
	if ofReports(c.runs[0]) && ofReports(c.runs[1]) {
		return reportNoise(name)
	}
	return measure.KnownNoise(name, slices.Concat(c.runs[0], c.runs[1]))
}

// change compares one measure; nil: one side does not have it.
func (c *comparison) change(name string, family int) *Change {
	var like *measure.Measure
	for _, r := range slices.Concat(c.runs[0], c.runs[1]) {
		if m := r.Find(name); m != nil {
			like = m
			break
		}
	}
	if like == nil {
		return nil
	}
	q := stat.Question{MinEffect: c.opt.MinEffect, Family: family, Noise: c.noise(name)}
	if like.Unit == "ms" {
		q.MinAbsolute = c.opt.MinAbsolute
		if measure.IsRest(name) {
			short, _ := c.stepsMs() // what counts in either step counts
			q.MinAbsolute = max(q.MinAbsolute, c.opt.MinEffect*short)
		}
	}
	e := measure.Compare(c.runs[0], c.runs[1], name, q)
	if e.RunsBefore == 0 || e.RunsAfter == 0 {
		return nil
	}
	x := changeOf(name, like.Unit, like.Better, e)
	if c.toolsDiffer && (ofHost(name) || name == "compute" && c.before[0].GraphMs+c.after[0].GraphMs > 0) {
		x.Verdict, x.RunsNeeded = Undecided, 0
	}
	return x
}

// ofHost says whether a measure is of what the host does, which profilers slow.
func ofHost(name string) bool {
	return name == "idle" || name == "gpu_busy" || name == "step" || strings.HasPrefix(name, "range:")
}

func changeOf(name, unit string, better measure.Better, e stat.Effect) *Change {
	if e.Before >= 0 && e.After >= 0 { // nothing falls by more than all of it
		e.Low = max(e.Low, -1)
	}
	return &Change{Name: name, Unit: unit, Better: better.String(), Before: e.Before, After: e.After,
		ChangePct: pct(e.Change), LowPct: pct(e.Low), HighPct: pct(e.High),
		LimitPct: min(100*e.Limit, math.MaxFloat64), Verdict: verdict(name, unit, e.Verdict), RunsNeeded: e.RunsNeeded,
		RunsBefore: e.RunsBefore, RunsAfter: e.RunsAfter,
		OfSteps: e.OfSteps, Warnings: e.Warnings, effect: e}
}

func pct(share float64) *float64 {
	x := 100 * share
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// A Verdict is what is said of a measure. Of what runs slower and faster, of counts and of parts of a step more and
// less.
type Verdict string

// The verdicts.
const (
	Undecided Verdict = "undecided" // more runs would tell
	Same      Verdict = "same"      // no change as large as the smallest that counts
	Slower    Verdict = "slower"
	Faster    Verdict = "faster"
	More      Verdict = "more"
	Less      Verdict = "less"
)

// verdict is the verdict on a measure of that name and unit.
func verdict(name, unit string, v stat.Verdict) Verdict {
	isTime := (unit == "ms" || unit == "us") && name != "idle" && name != "copy" && name != "comm_exposed" &&
		name != "compute"
	switch {
	case v == stat.Higher && isTime:
		return Slower
	case v == stat.Lower && isTime:
		return Faster
	case v == stat.Higher:
		return More
	case v == stat.Lower:
		return Less
	case v == stat.Same:
		return Same
	}
	return Undecided
}

// step is the step as it was measured; where the two sides were watched in different ways, as it is without that.
func (c *comparison) step(d *Difference) {
	d.Step = c.change("step", 1)
	c.unprofiled(d)
	if d.Step != nil && d.Unprofiled != nil && c.toolsDiffer {
		d.Step.Verdict, d.Step.LowPct, d.Step.HighPct = d.Unprofiled.Verdict, nil, nil
	}
}

// measures compares everything but kernels and operators.
func (c *comparison) measures(d *Difference) {
	var names []string
	for _, n := range measure.Names(slices.Concat(c.runs[0], c.runs[1])) {
		kernel := strings.HasPrefix(n, "kernel:") && len(c.before[0].Kernels)+len(c.after[0].Kernels) > 0
		if n != "step" && !kernel && !strings.HasPrefix(n, "op:") {
			names = append(names, n)
		}
	}
	d.Measures = []Change{}
	for _, n := range names {
		if x := c.change(n, len(names)); x != nil {
			d.Measures = append(d.Measures, *x)
		}
	}
	rank := map[Verdict]int{Undecided: 1, Same: 2}
	slices.SortStableFunc(d.Measures, func(x, y Change) int { return cmp.Compare(rank[x.Verdict], rank[y.Verdict]) })
}
