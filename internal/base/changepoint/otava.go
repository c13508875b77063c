package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Otava finds changes as Apache Otava 0.6 (formerly Hunter) does: E-divisive in windows with a t-test in place of
// permutations, at ten times the level asked for, then merging from the weakest on. It is here to be compared with:
// the method is theirs (Fleming et al. 2023, doi 10.1145/3578244.3583719; Apache-2.0, Copyright The Apache Software
// Foundation), this program is not. The answer is the first point of each new level. Time is n times the window, and
// quadratic in the number of weak cuts.
func Otava(values []float64, window int, p, magnitude float64) []int {
	first := p
	switch {
	case p < 0.05:
		first = 10 * p
	case p < 0.5:
		first = 2 * p
	}
	var d divider
	cuts := d.weak(values, window, first)
	seen := make([]strength, len(cuts))
	for i := range cuts {
		seen[i] = strengthOf(around(values, cuts, i))
	}
	for len(cuts) > 0 {
		drop := weakest(seen, p)
		if seen[drop].p < p && seen[drop].magnitude > magnitude {
			return cuts
		}
		cuts, seen = slices.Delete(cuts, drop, drop+1), slices.Delete(seen, drop, drop+1)
		for i := drop; i < min(drop+2, len(cuts)); i++ { // theirs: the cut before the one dropped keeps its old numbers
			seen[i] = strengthOf(around(values, cuts, i))
		}
	}
	return nil
}

// A strength is how sure and how large a cut is.
type strength struct{ p, magnitude float64 }

func strengthOf(before, after []float64) strength {
	return strength{tTest(before, after), magnitudeOf(before, after)}
}

// weakest is the cut with the largest p, or if every p is good enough the one with the least magnitude.
func weakest(seen []strength, p float64) int {
	drop := 0
	for i, s := range seen {
		if s.p > seen[drop].p {
			drop = i
		}
	}
	if seen[drop].p >= p {
		return drop
	}
	for i, s := range seen {
		if s.magnitude < seen[drop].magnitude {
			drop = i
		}
	}
	return drop
}

// around is the values of the levels before and after a cut.
func around(values []float64, cuts []int, i int) (before, after []float64) {
	start, end := 0, len(values)
	if i > 0 {
		start = cuts[i-1]
	}
	if i+1 < len(cuts) {
		end = cuts[i+1]
	}
	return values[start:cuts[i]], values[cuts[i]:end]
}

// magnitudeOf is the change of the mean as a share of the smaller one.
func magnitudeOf(before, after []float64) float64 {
	a, b := mean(before), mean(after)
	if a == 0 || b == 0 {
		return math.Inf(1)
	}
	return max(math.Abs(b/a-1), math.Abs(a/b-1))
}

func passes(before, after []float64, p float64) bool { return tTest(before, after) <= p }

// tTest is the two-sided p of Student's test with one variance for both sides, each taken with n in place of n-1 as
// Otava has it.
func tTest(before, after []float64) float64 {
	n1, n2 := float64(len(before)), float64(len(after))
	df := n1 + n2 - 2
	if df <= 0 {
		return 1
	}
	m1, m2 := mean(before), mean(after)
	pooled := ((n1-1)*variance(before, m1) + (n2-1)*variance(after, m2)) / df
	switch {
	case m1 == m2:
		return 1
	case pooled == 0:
		return 0
	}
	t := math.Abs(m1-m2) / math.Sqrt(pooled*(1/n1+1/n2))
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.Survival(t)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// variance is about m, with n in place of n-1.
func variance(v []float64, m float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return sum / float64(len(v))
}

// ascending sorts and drops what is double.
func ascending(v []int) []int {
	slices.Sort(v)
	return slices.Compact(v)
}
