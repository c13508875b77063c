package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
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
	facts.ClassOther: "other kernels", facts.ClassGEMM: "matrix products",
	facts.ClassGEMMTail: "sums of split matrix products", facts.ClassConvolution: "convolutions",
	facts.ClassConvolutionTail: "transforms of convolutions",
	facts.ClassAttention:       "fused attention", facts.ClassSoftmax: "softmax kernels",
	facts.ClassNorm: "normalisations", facts.ClassReduction: "reductions",
	facts.ClassPointwise: "element-wise kernels", facts.ClassCast: "casts", facts.ClassMove: "data movement kernels",
	facts.ClassMask: "masks", facts.ClassForeach: "kernels over lists of tensors",
}

// explain divides the change of the step: by the parts of the time budget, compute by kernels, idle by what it is
// there because of.
func (c *comparison) explain(d *Difference) {
	b, a := c.before[0].Report, c.after[0].Report
	if b == nil || a == nil {
		return
	}
	d.MeanMs = [2]float64{b.Steps.MeanMs, a.Steps.MeanMs}
	var out []Cause
	out = append(out, c.kernelCauses(a.Budget.Compute-b.Budget.Compute)...)
	out = append(out, Cause{What: "exposed copies", Ms: a.Budget.Copy - b.Budget.Copy, Key: "copy"},
		Cause{What: "exposed communication", Ms: a.Budget.CommExposed - b.Budget.CommExposed, Key: "comm_exposed"})
	out = append(out, c.idleCauses(&b.Budget, &a.Budget)...)
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
		out = append(out, Cause{What: "smaller parts, together", Ms: rest, Key: "other"})
	}
	d.Explained = append(d.Explained, out...)
}

// classTime is what a class of kernels took in a range.
type classTime struct{ beforeMs, afterMs, callsBefore, callsAfter float64 }

func (t classTime) change() float64 { return t.afterMs - t.beforeMs }

// faster says whether the change is that each launch takes another time, more than that there are more or fewer.
func (t classTime) faster() bool {
	if t.beforeMs == 0 || t.afterMs == 0 {
		return false
	}
	return math.Abs(math.Log(t.callsAfter/t.callsBefore)) < 0.5*math.Abs(math.Log(t.afterMs/t.beforeMs)) ||
		t.callsAfter == t.callsBefore
}

// kernelCauses divides the change of compute: classes of kernels that take another time, kernels that came and
// went, by the range in which they did, and what overlap makes of it.
func (c *comparison) kernelCauses(compute float64) []Cause {
	if c.before[0].GraphMs+c.after[0].GraphMs > 0 {
		return []Cause{{What: "compute, some of it in CUDA graphs recorded at graph level, whose kernels are unknown " +
			"(lacuna record --cuda-graph=node and nsys profile --cuda-graph-trace=node record them)", Ms: compute,
			Key: "kernels:graph"}}
	}
	type place struct{ class, in string }
	times, whole := make(map[place]classTime), make(map[string]classTime)
	sum := 0.0
	for side, kernels := range [2][]Kernel{c.before[0].Kernels, c.after[0].Kernels} {
		for i := range kernels {
			k := &kernels[i]
			if k.comm {
				continue
			}
			at := place{classNames[k.class], k.Range}
			times[at], whole[at.class] = times[at].plus(side, k), whole[at.class].plus(side, k)
			sum += k.Ms * float64(2*side-1)
		}
	}
	var out []Cause
	gone, came := make(map[string]map[string]float64), make(map[string]map[string]float64) // ms by range and class
	for _, class := range slices.Sorted(maps.Keys(whole)) {
		if t := whole[class]; t.faster() {
			out = append(out, c.faster(class, t))
		}
	}
	net := make(map[string]float64)
	places := slices.SortedFunc(maps.Keys(times), func(x,
		y place) int {
		return cmp.Or(cmp.Compare(x.in, y.in), cmp.Compare(x.class, y.class))
	})
	for _, at := range places {
		t := times[at]
		if whole[at.class].faster() {
			continue
		}
		to := gone
		if t.change() > 0 {
			to = came
		}
		if to[at.in] == nil {
			to[at.in] = make(map[string]float64)
		}
		to[at.in][at.class] += t.change()
		net[at.in] += t.change()
	}
	for _, in := range slices.Sorted(maps.Keys(net)) {
		out = append(out, replaced(in, net[in], gone[in], came[in]))
	}
	if rest := compute - sum; rest != 0 {
		out = append(out, Cause{What: ifLess(rest, "more", "less") + " compute at the same time on several streams",
			Ms: rest, Key: "overlap"})
	}
	return out
}

func (t classTime) plus(side int, k *Kernel) classTime {
	if side == 0 {
		t.beforeMs, t.callsBefore = t.beforeMs+k.Ms, t.callsBefore+k.Calls
	} else {
		t.afterMs, t.callsAfter = t.afterMs+k.Ms, t.callsAfter+k.Calls
	}
	return t
}

// mostOf is the share of a class's change that one kernel must make to be named.
const mostOf = 0.8

// faster is the cause that a class of kernels takes another time; where it is one kernel, that is named.
func (c *comparison) faster(class string, t classTime) Cause {
	what := class
	for _, p := range c.pairs {
		k := c.kernelRow(p)
		if k.Class == class && k.ChangeMs/t.change() >= mostOf && len(p.after) == 1 && len(p.before) == 1 {
			what = "kernel " + kernelname.Of(k.After[0]).Base
		}
	}
	verb := " take "
	if what != class {
		verb = " takes "
	}
	calls := "as many launches as before"
	if math.Abs(t.callsAfter-t.callsBefore) > callsSlack*t.callsBefore {
		calls = launchesOf(t.callsAfter, t.callsBefore)
	}
	return Cause{What: what + verb + ifLess(t.change(), "less", "more") + " time, " + calls, Ms: t.change(),
		Key: "kernels:" + class}
}

// besides is the share of what went that what came must take to be shown with it.
const besides = 0.02

// replaced is the cause that in a range some kernels went and others came.
func replaced(in string, net float64, gone, came map[string]float64) Cause {
	where := ""
	if in != "" {
		where = " in " + in
	}
	g, a := largest(gone), largest(came)
	sumGone, sumCame := total(gone), total(came)
	switch {
	case a == "" || sumCame < besides*sumGone:
		return Cause{What: "fewer " + g + where, Ms: net, Key: "kernels:" + g}
	case g == "" || sumGone < besides*sumCame:
		return Cause{What: "more " + a + where, Ms: net, Key: "kernels:" + a}
	}
	return Cause{What: fmt.Sprintf("%s in place of %s%s", a, g, where), Ms: net, Key: "kernels:" + ifLess(net, g, a)}
}

func total(of map[string]float64) (sum float64) {
	for _, class := range slices.Sorted(maps.Keys(of)) {
		sum += math.Abs(of[class])
	}
	return sum
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
	whole := total(of)
	for i, n := range names {
		if i == 2 || i > 0 && math.Abs(of[n]) < 0.2*whole {
			names = names[:i]
			break
		}
	}
	return strings.Join(names, " and ")
}

// idleCauses divides the change of idle time by the causes that it is there because of, as replay has them; as far as
// these do not reach, by what the host was doing.
func (c *comparison) idleCauses(b, a *report.Budget) []Cause {
	total := a.Idle - b.Idle
	left := total
	byKey, during := make(map[string]float64), make(map[string]bool)
	because := differences(b.IdleBecauseOf, a.IdleBecauseOf)
	causes := slices.Sorted(maps.Keys(because))
	keep := func(x float64) bool { return x != 0 && (x < 0) == (total < 0) }
	weight := 0.0
	for _, key := range causes {
		if x := because[key]; keep(x) {
			weight += math.Abs(x)
		}
	}
	for _, key := range causes {
		if x := because[key]; keep(x) {
			part := x / max(1, weight/max(math.Abs(total), 1e-12)) // no more than there is
			byKey[key] += part
			left -= part
		}
	}
	byHost := differences(b.IdleByHost, a.IdleByHost)
	hosts := slices.Sorted(maps.Keys(byHost))
	weight = 0
	for _, key := range hosts {
		x := byHost[key]
		if _, told := byKey[key]; !told && (x < 0) == (left < 0) {
			weight += math.Abs(x)
		}
	}
	rest := left
	for _, key := range hosts {
		x := byHost[key]
		if _, told := byKey[key]; told || weight == 0 || (x < 0) != (left < 0) {
			continue
		}
		part := left * math.Abs(x) / weight
		byKey[key] += part
		during[key] = true
		rest -= part
	}
	var out []Cause
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		was, is := b.IdleBecauseOf[key], a.IdleBecauseOf[key]
		if during[key] {
			was, is = b.IdleByHost[key], a.IdleByHost[key]
		}
		out = append(out, Cause{What: c.idleWords(key, during[key], was, is), Ms: byKey[key], Key: "idle:" + key})
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

// idleWords says what changed about a cause of idleness; during: it is known only that the host was in it meanwhile.
func (c *comparison) idleWords(key string, during bool, before, after float64) string {
	what := facts.ParseCause(key).Noun()
	if key == facts.CauseLaunch {
		what += c.launchWords()
	}
	switch {
	case after < leftPath*before:
		return what + " left the critical path"
	case before < leftPath*after:
		return what + " came onto the critical path"
	}
	link := " because of "
	if during {
		link = " during "
	}
	return ifLess(after-before, "less", "more") + " GPU idle time" + link + what
}

// launchWords says how many launches there are, and in which range most of the difference is.
func (c *comparison) launchWords() string {
	b, a := c.runs[0][0].Find("launches"), c.runs[1][0].Find("launches")
	if b == nil || a == nil {
		return ""
	}
	before, after := meanOf(b.Samples), meanOf(a.Samples)
	if math.Abs(after-before) <= callsSlack*max(before, after) {
		return ""
	}
	byRange := make(map[string]float64)
	for side, kernels := range [2][]Kernel{c.before[0].Kernels, c.after[0].Kernels} {
		for _, k := range kernels {
			byRange[k.Range] += k.Calls * float64(2*side-1)
		}
	}
	where := ""
	for _, in := range slices.Sorted(maps.Keys(byRange)) {
		if in != "" && byRange[in]/(after-before) > 0.5 {
			where = ", most of the difference in " + in
		}
	}
	return " (" + launchesOf(after, before) + where + ")"
}

func launchesOf(after, before float64) string {
	noun := "launches"
	if math.Round(after) == 1 {
		noun = "launch"
	}
	return fmt.Sprintf("%.0f %s per step, was %.0f", after, noun, before)
}
