package gate

import (
	"fmt"
	"slices"
	"sort"

	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
	"lacuna/internal/runs/measure"
)

// A question is one verdict to come: a measure, or the sum of several, under one rule.
type question struct {
	name          string   // of the row
	names         []string // of the measures: more than one are summed
	of            pattern
	rule          *Rule
	kind          string // change, max, min
	like          measure.Measure
	before, after [][]float64
}

// base is the measure that a question is of, without a statistic.
func (q *question) base() string {
	if len(q.names) == 0 {
		return q.name
	}
	return q.names[0]
}

// ask finds what the rules ask of the measures that there are. A measure is judged by the first rule that matches.
func (c *check) ask(r *Result) error {
	names := measure.Names(slices.Concat(c.before, c.after))
	asked := make(map[string]bool) // name and statistic
	for i := range c.opt.Rules {
		rule := &c.opt.Rules[i]
		p := patternOf(rule.Pattern, names)
		found, matched := []string(nil), false
		for _, n := range names {
			if n != p.glob && !matches(p.glob, n) {
				continue
			}
			matched = true
			if !asked[n+p.of] {
				asked[n+p.of] = true
				found = append(found, n)
			}
		}
		if !matched && !rule.Optional {
			return &NoMeasureError{rule.From, rule.Pattern, names}
		}
		if len(found) == 0 {
			continue
		}
		already := len(c.questions)
		if rule.Sum {
			if err := c.add(r, rule, rule.Pattern, found, p); err != nil {
				return err
			}
			continue
		}
		for _, n := range found {
			if err := c.add(r, rule, n+p.of, []string{n}, p); err != nil {
				return err
			}
		}
		if len(c.questions) == already && !rule.Optional { // a rule that judges nothing must not pass
			c.questions = append(c.questions, question{name: rule.Pattern, rule: rule, kind: "change",
				like: c.like(found)})
		}
	}
	if len(c.questions) == 0 {
		return fmt.Errorf("no rule matches any measure: nothing to judge")
	}
	return nil
}

// add asks a rule's questions of one measure: its change and its budgets.
func (c *check) add(r *Result, rule *Rule, name string, names []string, p pattern) error {
	q := question{name: name, names: names, of: p, rule: rule}
	q.like = c.like(names)
	batched := len(c.before) == 1 || len(c.after) == 1
	q.before, q.after = p.samples(c.before, names, batched), p.samples(c.after, names, batched)
	for _, budget := range []struct {
		kind   string
		amount *unit.Quantity
	}{{"max", rule.Max}, {"min", rule.Min}} {
		if budget.amount == nil {
			continue
		}
		if _, ok := budget.amount.In(q.like.Unit); !ok {
			return unitError(rule, budget.kind, name, q.like.Unit, *budget.amount)
		}
		q.kind = budget.kind
		c.questions = append(c.questions, q)
	}
	if !rule.Relative() {
		return nil
	}
	if rule.Floor != nil {
		if _, ok := rule.Floor.In(q.like.Unit); !ok {
			return unitError(rule, "floor", name, q.like.Unit, *rule.Floor)
		}
	}
	q.kind = "change"
	if (len(q.before) == 0 || len(q.after) == 0) && isGlob(rule.Pattern) && !rule.Sum {
		where := "before"
		if len(q.before) == 0 {
			where = "after"
		}
		r.Unmatched = append(r.Unmatched, fmt.Sprintf("%s is only there %s", name, where))
		return nil
	}
	c.questions = append(c.questions, q)
	return nil
}

func unitError(rule *Rule, what, name, symbol string, q unit.Quantity) error {
	if symbol == "" {
		symbol = "no unit"
	}
	return fmt.Errorf("%s: %s: %s %s cannot be compared with %s, which is in %s", rule.From, rule.Pattern, what, q,
		name, symbol)
}

// like is the first of the measures, for its unit and its way; new runs are asked first.
func (c *check) like(names []string) measure.Measure {
	for _, r := range slices.Concat(c.after, c.before) {
		for _, n := range names {
			if m := r.Find(n); m != nil {
				return *m
			}
		}
	}
	return measure.Measure{}
}

// fewestForBatches is how many steps of a single run are cut into five parts whose quantiles tell how well
// the run's is known: parts of fewer than ten steps have no p90 of their own.
const fewestForBatches = 50

// samples is what is judged of each run that has the measure: its steps, or one quantile of them; batched:
// that of each fifth of a long run.
func (p pattern) samples(runs []*measure.Run, names []string, batched bool) [][]float64 {
	var out [][]float64
	for _, r := range runs {
		v := summed(r, names)
		switch {
		case len(v) == 0:
			continue
		case p.of == "":
			out = append(out, v)
		case batched && len(v) >= fewestForBatches:
			var parts []float64
			for i := range 5 {
				parts = append(parts, p.statistic(v[i*len(v)/5:(i+1)*len(v)/5]))
			}
			out = append(out, parts)
		default:
			out = append(out, []float64{p.statistic(v)})
		}
	}
	return out
}

func (p pattern) statistic(v []float64) float64 {
	if p.mean {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum / float64(len(v))
	}
	sorted := slices.Clone(v)
	sort.Float64s(sorted)
	return stat.Quantile(sorted, p.q)
}

// summed is the samples of several measures of a run together, step by step. Those that were sampled otherwise count
// by their medians.
func summed(r *measure.Run, names []string) []float64 {
	var out []float64
	rest := 0.0
	for _, n := range names {
		m := r.Find(n)
		switch {
		case m == nil:
		case out == nil:
			out = slices.Clone(m.Samples)
		case len(out) == len(m.Samples):
			for i, x := range m.Samples {
				out[i] += x
			}
		default:
			rest += median(m.Samples)
		}
	}
	for i := range out {
		out[i] += rest
	}
	return out
}

func median(v []float64) float64 {
	sorted := slices.Clone(v)
	sort.Float64s(sorted)
	return stat.Quantile(sorted, 0.5)
}
