package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lacuna/internal/facts"
	"lacuna/internal/report"
)

// A Cause is a part of the change of the step. The parts sum to the change of the mean step.
type Cause struct {
	What string  `json:"what"`           // in words
	Ms   float64 `json:"ms"`             // negative: the step is shorter by it
	Key  string  `json:"key"`            // idle:range:data_load, kernels:casts, copy, comm_exposed, overlap, other
	Rule string  `json:"rule,omitempty"` // the finding that went or came with it
}

// classNames is what kernels of a class are called, in the plural.
var classNames = map[facts.KernelClass]string{
	facts.ClassOther: "other kernels", facts.ClassGEMM: "matrix products", facts.ClassGEMMTail: "sums of split matrix products", facts.ClassConvolution: "convolutions",
	facts.ClassAttention: "fused attention", facts.ClassSoftmax: "softmax kernels", facts.ClassNorm: "normalisations", facts.ClassReduction: "reductions",
	facts.ClassPointwise: "element-wise kernels", facts.ClassCast: "casts", facts.ClassMove: "data movement kernels", facts.ClassMask: "masks", facts.ClassForeach: "kernels over lists of tensors",
}

// explain divides the change of the step: by the parts of the time budget, compute by kernels, idle by what it is
// there because of.
func (c *comparison) explain(d *Difference) {
	b, a := c.before[0].Report, c.after[0].Report
	if b == nil || a == nil {
		return
	}
	var out []Cause
	out = append(out, c.kernelCauses(a.Budget.Compute-b.Budget.Compute)...)
	out = append(out, Cause{What: "copies that no compute hides", Ms: a.Budget.Copy - b.Budget.Copy, Key: "copy"},
		Cause{What: "communication that no compute hides", Ms: a.Budget.CommExposed - b.Budget.CommExposed, Key: "comm_exposed"})
	out = append(out, idleCauses(&b.Budget, &a.Budget)...)
	least := leastShare * c.stepMs()
	rest := 0.0
	out = slices.DeleteFunc(out, func(x Cause) bool {
		if math.Abs(x.Ms) < least {
			rest += x.Ms
			return true
		}
		return false
	})
	slices.SortStableFunc(out, func(x, y Cause) int { return cmp.Compare(math.Abs(y.Ms), math.Abs(x.Ms)) })
	if math.Abs(rest) >= least/10 {
		out = append(out, Cause{What: "smaller parts together", Ms: rest, Key: "other"})
	}
	d.Explained = append(d.Explained, out...)
}

// kernelCauses divides the change of compute: kernels that are launched more or less often, or that came and went,
// by the range in which they did; kernels that only take another time, by class; and what overlap makes of it.
func (c *comparison) kernelCauses(compute float64) []Cause {
	type group struct {
		ms         float64
		gone, came map[string]float64 // ms by class
	}
	groups := make(map[string]*group)
	sum := 0.0
	var out []Cause
	faster := make(map[string]float64)
	for _, p := range c.pairs {
		k := c.kernelRow(p)
		if c.isComm(p) {
			continue
		}
		sum += k.ChangeMs
		if same := math.Abs(k.CallsAfter-k.CallsBefore) <= callsSlack*max(k.CallsBefore, k.CallsAfter); same {
			faster[k.Class] += k.ChangeMs
			continue
		}
		g := groups[k.Range]
		if g == nil {
			g = &group{gone: make(map[string]float64), came: make(map[string]float64)}
			groups[k.Range] = g
		}
		g.ms += k.ChangeMs
		if k.ChangeMs < 0 {
			g.gone[k.Class] += k.ChangeMs
		} else {
			g.came[k.Class] += k.ChangeMs
		}
	}
	for _, class := range slices.Sorted(maps.Keys(faster)) {
		out = append(out, Cause{What: class + " take " + ifLess(faster[class], "less", "more") + " time, as many as before", Ms: faster[class], Key: "kernels:" + class})
	}
	for _, in := range slices.Sorted(maps.Keys(groups)) {
		g := groups[in]
		where := ""
		if in != "" {
			where = " in " + in
		}
		gone, came := largest(g.gone), largest(g.came)
		what := ""
		switch {
		case came == "":
			what = "fewer " + gone + where
		case gone == "":
			what = "more " + came + where
		default:
			what = fmt.Sprintf("%s in place of %s%s", came, gone, where)
		}
		out = append(out, Cause{What: what, Ms: g.ms, Key: "kernels:" + cmp.Or(ifLess(g.ms, gone, came), gone, came)})
	}
	if rest := compute - sum; rest != 0 {
		out = append(out, Cause{What: ifLess(rest, "more", "less") + " compute at the same time on several streams", Ms: rest, Key: "overlap"})
	}
	return out
}

// isComm says whether a pair is of communication, whose time is no compute.
func (c *comparison) isComm(p pair) bool {
	for _, i := range p.before {
		return c.before[0].Kernels[i].comm
	}
	for _, i := range p.after {
		return c.after[0].Kernels[i].comm
	}
	return false
}

// ifLess is less if ms is negative, else more.
func ifLess(ms float64, less, more string) string {
	if ms < 0 {
		return less
	}
	return more
}

// largest is the classes with most of the time, at most two, in words.
func largest(of map[string]float64) string {
	names := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(math.Abs(of[y]), math.Abs(of[x])) })
	total := 0.0
	for _, x := range of {
		total += math.Abs(x)
	}
	for i, n := range names {
		if i == 2 || i > 0 && math.Abs(of[n]) < 0.2*total {
			names = names[:i]
			break
		}
	}
	return strings.Join(names, " and ")
}

// idleCauses divides the change of idle time by the causes that it is there because of, as replay has them; as far as
// these do not reach, by what the host was doing.
func idleCauses(b, a *report.Budget) []Cause {
	total := a.Idle - b.Idle
	left := total
	byKey := make(map[string]float64)
	because := differences(b.IdleBecauseOf, a.IdleBecauseOf)
	keep := func(x float64) bool { return x != 0 && (x < 0) == (total < 0) }
	weight := 0.0
	for _, x := range because {
		if keep(x) {
			weight += math.Abs(x)
		}
	}
	for key, x := range because {
		if keep(x) {
			part := x / max(1, weight/max(math.Abs(total), 1e-12)) // no more than there is
			byKey[key] += part
			left -= part
		}
	}
	byHost := differences(b.IdleByHost, a.IdleByHost)
	weight = 0
	for key, x := range byHost {
		if _, told := byKey[key]; !told && (x < 0) == (left < 0) {
			weight += math.Abs(x)
		}
	}
	rest := left
	for _, key := range slices.Sorted(maps.Keys(byHost)) {
		x := byHost[key]
		if _, told := byKey[key]; told || weight == 0 || (x < 0) != (left < 0) {
			continue
		}
		part := left * math.Abs(x) / weight
		byKey[key] += part
		rest -= part
	}
	var out []Cause
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		after := a.IdleByHost[key] + a.IdleBecauseOf[key]
		before := b.IdleByHost[key] + b.IdleBecauseOf[key]
		out = append(out, Cause{What: idleWords(key, before, after), Ms: byKey[key], Key: "idle:" + key})
	}
	if math.Abs(rest) > 1e-9 {
		out = append(out, Cause{What: "idle for other reasons", Ms: rest, Key: "idle:other"})
	}
	return out
}

// differences is what is in a less what is in b, by key.
func differences(b, a map[string]float64) map[string]float64 {
	out := maps.Clone(a)
	if out == nil {
		out = make(map[string]float64)
	}
	for key, x := range b {
		out[key] -= x
	}
	return out
}

// leftPath is the share of what a cause held up before, under which it is off the critical path.
const leftPath = 0.1

// idleWords says what changed about a cause of idleness.
func idleWords(key string, before, after float64) string {
	what := map[string]string{"sync": "synchronisations", "alloc": "allocations", "copy_call": "blocking copies", "launch": "launching", "os": "operating system calls",
		"host": "host code outside any range", "unknown": "what was not recorded", "stream_wait": "waits between streams", "queue": "the queue"}[key]
	if what == "" {
		_, name, ok := strings.Cut(key, ":")
		if what = name; !ok {
			what = key
		}
	}
	switch {
	case after < leftPath*before:
		return what + " left the critical path"
	case before < leftPath*after:
		return what + " came onto the critical path"
	case after < before:
		return "the GPU waits less because of " + what
	}
	return "the GPU waits more because of " + what
}
