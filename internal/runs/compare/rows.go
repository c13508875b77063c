package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

// A KernelChange is a kernel, or kernels that do the same work, before and after. Times are ms of a step.
type KernelChange struct {
	Before      []string `json:"before"` // names; nothing: it is new
	After       []string `json:"after"`  // names; nothing: it is gone
	How         string   `json:"how"`    // what makes them the same work
	Op          string   `json:"op"`     // that launches it, "" not known
	Range       string   `json:"range"`
	Class       string   `json:"class"`
	CallsBefore float64  `json:"calls_before"` // a step
	CallsAfter  float64  `json:"calls_after"`
	Change
	ChangeMs float64 `json:"change_ms"`
}

// A PathChange is an operator at one place of the program.
type PathChange struct {
	Path        string  `json:"path"` // operators and ranges around it, outermost first
	BeforeMs    float64 `json:"before_ms"`
	AfterMs     float64 `json:"after_ms"`
	ChangeMs    float64 `json:"change_ms"`
	CallsBefore float64 `json:"calls_before"`
	CallsAfter  float64 `json:"calls_after"`
}

// leastShare is the share of a step that a row must have before or after to be a row: the family that is judged
// together stays as small as what anybody looks at.
const leastShare = 1e-3

// kernels compares the kernels of the first captures, with the samples of all runs.
func (c *comparison) kernels(d *Difference) {
	d.Kernels = []KernelChange{}
	b, a := c.before[0], c.after[0]
	if len(b.Kernels) == 0 || len(a.Kernels) == 0 {
		return
	}
	c.pairs = match(b.Kernels, a.Kernels)
	least := leastShare * c.stepMs()
	var rows []KernelChange
	for _, p := range c.pairs {
		if k := c.kernelRow(p); max(k.Change.Before, k.Change.After) >= least {
			rows = append(rows, k)
		}
	}
	for i := range rows {
		c.judge(&rows[i], len(rows))
	}
	slices.SortStableFunc(rows, func(x, y KernelChange) int {
		return cmp.Compare(math.Abs(y.ChangeMs),
			math.Abs(x.ChangeMs))
	})
	d.Kernels = rows[:c.top(len(rows))]
}

func (c *comparison) top(n int) int {
	if c.opt.Top > 0 {
		return min(n, c.opt.Top)
	}
	return n
}

// stepMs is the longer mean step.
func (c *comparison) stepMs() float64 { _, long := c.stepsMs(); return long }

// stepsMs is the shortest and the longest mean step of a run; 0 if none was measured.
func (c *comparison) stepsMs() (short, long float64) {
	for _, r := range slices.Concat(c.runs[0], c.runs[1]) {
		m := r.Find("step")
		if m == nil {
			continue
		}
		ms := meanOf(m.Samples)
		if long == 0 || ms < short {
			short = ms
		}
		long = max(long, ms)
	}
	return short, long
}

func meanOf(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func (c *comparison) kernelRow(p pair) KernelChange {
	k := KernelChange{Before: []string{}, After: []string{}, How: p.how}
	take := func(i int, kernels []Kernel, names *[]string, calls, ms *float64) {
		x := &kernels[i]
		*names = append(*names, x.Name)
		*calls += x.Calls
		*ms += x.Ms
		k.Op, k.Range = cmp.Or(k.Op, x.Op), cmp.Or(k.Range, x.Range)
		k.Class = cmp.Or(k.Class, classNames[x.class])
	}
	for _, i := range p.after {
		take(i, c.after[0].Kernels, &k.After, &k.CallsAfter, &k.Change.After)
	}
	for _, i := range p.before {
		take(i, c.before[0].Kernels, &k.Before, &k.CallsBefore, &k.Change.Before)
	}
	k.ChangeMs = k.Change.After - k.Change.Before
	return k
}

// judge says whether a kernel's change is real, from the samples of its names in all runs.
func (c *comparison) judge(k *KernelChange, family int) {
	q := stat.Question{Before: sums(c.runs[0], k.Before), After: sums(c.runs[1], k.After), MinEffect: c.opt.MinEffect,
		MinAbsolute: c.opt.MinAbsolute,
		Family:      family, Noise: c.noise("kernel")}
	e := stat.Compare(q)
	name := strings.Join(append(slices.Clone(k.After), k.Before...)[:1], "")
	before, after := k.Change.Before, k.Change.After
	k.Change = *changeOf("kernel:"+name, "ms", measure.Lower, e)
	k.Change.Before, k.Change.After = before, after // means over a step, so that rows sum to what explains the step
}

// sums is the samples of several kernels together in each run; a run without them has none of that work.
func sums(runs []*measure.Run, names []string) [][]float64 {
	var out [][]float64
	for _, r := range runs {
		step := r.Find("step")
		if step == nil {
			continue
		}
		total := make([]float64, len(step.Samples))
		for _, n := range names {
			if m := r.Find("kernel:" + n); m != nil && len(m.Samples) == len(total) {
				for i, x := range m.Samples {
					total[i] += x
				}
			}
		}
		out = append(out, total)
	}
	return out
}

// operators compares call paths.
func (c *comparison) operators(d *Difference) {
	d.Operators = []PathChange{}
	before, after := pathsByText(c.before[0].Paths), pathsByText(c.after[0].Paths)
	if len(before) == 0 || len(after) == 0 {
		return
	}
	var texts []string
	for t := range before {
		texts = append(texts, t)
	}
	for t := range after {
		texts = append(texts, t)
	}
	slices.Sort(texts)
	least := leastShare * c.stepMs()
	for _, t := range slices.Compact(texts) {
		b, a := before[t], after[t]
		if max(b.Ms, a.Ms) >= least {
			d.Operators = append(d.Operators, PathChange{t, b.Ms, a.Ms, a.Ms - b.Ms, b.Calls, a.Calls})
		}
	}
	slices.SortStableFunc(d.Operators, func(x, y PathChange) int {
		return cmp.Compare(math.Abs(y.ChangeMs),
			math.Abs(x.ChangeMs))
	})
	d.Operators = d.Operators[:c.top(len(d.Operators))]
}

func pathsByText(list []Path) map[string]Path {
	out := make(map[string]Path, len(list))
	for _, p := range list {
		out[p.Text] = p
	}
	return out
}
