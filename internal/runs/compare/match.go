package compare

import (
	"cmp"
	"math"
	"slices"
)

// A pair is kernels of the two sides that do the same part of the program's work. One side is empty for what is
// gone or new; several on a side are a kernel that was split, or kernels that were fused.
type pair struct {
	before, after []int // positions in each side's kernels
	how           string
}

// The ways to find the partner of a kernel, in the order in which they are tried.
const (
	byName     = "name"          // the same name, as demanglers differ
	byStem     = "renamed"       // the same but for template arguments, versions, tiles
	byOperator = "same operator" // one or several instead of others in the same operator and range
	byPlace    = "same place"    // as often, as late in the step, and of the same class
	byRange    = "same range"    // what is gone from a range against what is new in it
	unmatched  = "gone"          //
	added      = "new"           //
	placeSlack = 0.02            // of the step: kernels of other names at one place
	callsSlack = 0.02            // kernels launched as often, but for what a step's edge cuts off
)

// match pairs the kernels of two captures.
func match(before, after []Kernel) []pair {
	m := &matcher{before: before, after: after, left: [2][]int{all(len(before)), all(len(after))}}
	m.byKey(byName, func(k *Kernel) string { return k.names.Base + " " + k.names.Words }, false)
	m.byKey(byStem, func(k *Kernel) string { return k.names.Stem() }, true)
	m.byKey(byOperator, func(k *Kernel) string {
		if k.Op == "" || k.Op == k.Range {
			return ""
		}
		return k.Op + " in " + k.Range
	}, true)
	m.byPlace()
	m.byKey(byRange, func(k *Kernel) string { return k.Range }, true)
	for _, i := range m.left[0] {
		m.pairs = append(m.pairs, pair{before: []int{i}, how: unmatched})
	}
	for _, i := range m.left[1] {
		m.pairs = append(m.pairs, pair{after: []int{i}, how: added})
	}
	return m.pairs
}

type matcher struct {
	before, after []Kernel
	left          [2][]int // not paired yet
	pairs         []pair
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// byKey pairs what has the same key, which is not "". Several with one key are one pair if they may be a
// group; but where both sides have as many, they are paired in the order in which they run.
func (m *matcher) byKey(how string, key func(*Kernel) string, groups bool) {
	keys := [2]map[string][]int{make(map[string][]int), make(map[string][]int)}
	for s, kernels := range [2][]Kernel{m.before, m.after} {
		for _, i := range m.left[s] {
			if k := key(&kernels[i]); k != "" {
				keys[s][k] = append(keys[s][k], i)
			}
		}
	}
	var both []string
	for k := range keys[0] {
		if len(keys[1][k]) > 0 {
			both = append(both, k)
		}
	}
	slices.Sort(both)
	for _, k := range both {
		b, a := keys[0][k], keys[1][k]
		switch {
		case len(b) == len(a):
			slices.SortStableFunc(b, func(x, y int) int { return cmp.Compare(m.before[x].place, m.before[y].place) })
			slices.SortStableFunc(a, func(x, y int) int { return cmp.Compare(m.after[x].place, m.after[y].place) })
			for i := range b {
				m.take(pair{[]int{b[i]}, []int{a[i]}, how})
			}
		case groups:
			m.take(pair{b, a, how})
		}
	}
}

// byPlace pairs kernels of one class that are launched as often and as late in the step, most time first.
func (m *matcher) byPlace() {
	order := slices.Clone(m.left[0])
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(m.before[y].Ms, m.before[x].Ms) })
	for _, i := range order {
		b, best := &m.before[i], -1
		for _, j := range m.left[1] {
			a := &m.after[j]
			if a.class != b.class || a.Range != b.Range || math.Abs(a.Calls-b.Calls) > callsSlack*b.Calls ||
				math.Abs(a.place-b.place) > placeSlack {
				continue
			}
			if best < 0 || math.Abs(a.place-b.place) < math.Abs(m.after[best].place-b.place) {
				best = j
			}
		}
		if best >= 0 {
			m.take(pair{[]int{i}, []int{best}, byPlace})
		}
	}
}

func (m *matcher) take(p pair) {
	m.pairs = append(m.pairs, p)
	gone := func(list, taken []int) []int {
		return slices.DeleteFunc(list, func(i int) bool { return slices.Contains(taken, i) })
	}
	m.left[0], m.left[1] = gone(m.left[0], p.before), gone(m.left[1], p.after)
}
