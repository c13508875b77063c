package changepoint

import (
	"math"
	"slices"
)

// changes makes of the cuts that stand what is told of them.
func (s *sums) changes(z []float64, cuts []int, effect float64) (out []Change) {
	edges := append(append([]int{0}, cuts...), s.len())
	for i := 1; i < len(edges)-1; {
		end := i + 1 // one after the last cut of one direction
		for end < len(edges)-1 && (s.step(edges, end) > 0) == (s.step(edges, i) > 0) {
			end++
		}
		out = append(out, s.told(z, edges, i, end)...)
		i = end
	}
	for i := 1; i < len(edges); i++ {
		if c, ok := s.slope(z, edges[i-1], edges[i], effect); ok && !slices.ContainsFunc(out, c.overlaps) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return a.Index - b.Index })
	return out
}

// overlaps says whether two are drifts over the same points.
func (c Change) overlaps(d Change) bool {
	return d.Kind == Drift && c.First < d.Last && d.First < c.Last
}

const (
	// wanders is the autocorrelation from which a drift is not told from wandering,
	wanders = 0.8
	// explained is the share of the scatter that a ramp must not leave to be told all the same: what goes one way
	// from end to end is a drift whatever its wiggles.
	explained = 0.1
)

// slope is the drift within a level, if it has one: the ramp that fits it best is tested as cuts are, with the
// autocorrelation that is left about it.
func (s *sums) slope(z []float64, start, end int, effect float64) (Change, bool) {
	n := end - start
	if n < 4*fewestWithin {
		return Change{}, false
	}
	from, to, best := s.bestRamp(start, end)
	if best.left <= 0 || math.IsInf(best.left, 1) {
		return Change{}, false
	}
	var c correlation
	c.add(n, func(j int) float64 {
		w := min(max(float64(start+j-from)/float64(to-from), 0), 1)
		return z[start+j] - s.base - best.before - w*best.step
	})
	r := c.estimate()
	slow := (1 + r) / (1 - r)
	score := normal(best.step*best.step/(best.left/float64(n-2)*best.spread*slow), max(1, float64(n)/slow-2))
	before := s.base + best.before
	d := Change{Drift, from, from, min(to, end-1), before, before + best.step, score}
	told := r < wanders && score >= s.needed() || best.left < explained*s.scatter(start, end)
	return d, told && math.Abs(best.step) >= effect*math.Abs(before)
}

// bestRamp looks for where a ramp within [start, end) begins and ends, of at least an eighth of it: on a grid, then
// ever closer.
func (s *sums) bestRamp(start, end int) (from, to int, best fitted) {
	const grid = 8
	n := end - start
	least := max(2*fewestWithin, n/grid)
	best.left = math.Inf(1)
	try := func(f, t int) bool {
		if f < start || t > end || t-f < least {
			return false
		}
		fit := s.fitRamp(start, f, t, end)
		if !(fit.left < best.left) { // NaN too: values so large that their squares are none
			return false
		}
		from, to, best = f, t, fit
		return true
	}
	for i := range grid {
		for k := i + 1; k <= grid; k++ {
			try(start+i*n/grid, start+k*n/grid)
		}
	}
	for reach := n / grid / 2; reach > 0; reach /= 2 {
		for better := true; better; {
			f, t := from, to
			better = false
			for _, move := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
				better = try(f+move[0]*reach, t+move[1]*reach) || better
			}
		}
	}
	return from, to, best
}

// step is by how much the level rises at a cut.
func (s *sums) step(edges []int, i int) float64 {
	return s.mean(edges[i], edges[i+1]) - s.mean(edges[i-1], edges[i])
}

// told is cuts from first to last (excluded), all of one direction: the longest stretch of them that a ramp
// explains better than steps is a drift, and what is left on both sides is told again.
func (s *sums) told(z []float64, edges []int, first, last int) []Change {
	if first >= last {
		return nil
	}
	const longest = 24 // cuts looked at together: the search is cubic in them
	for size := min(last-first, longest); size >= 1; size-- {
		at, ramp, gain := -1, Change{}, 0.0
		for i := first; i+size <= last; i++ {
			if c, g := s.ramp(edges, i, i+size); g > gain {
				at, ramp, gain = i, c, g
			}
		}
		if at >= 0 {
			out := append(s.told(z, edges, first, at), ramp)
			return append(out, s.told(z, edges, at+size, last)...)
		}
	}
	var out []Change
	for i := first; i < last; i++ {
		out = append(out, s.shift(z, edges, i))
	}
	return out
}

// shift is what is told of one cut.
func (s *sums) shift(z []float64, edges []int, i int) Change {
	start, c, end := edges[i-1], edges[i], edges[i+1]
	low, high := s.range95(start, c, end)
	return Change{Shift, c, low, high, levelOf(z[start:c]), levelOf(z[c:end]), s.score(start, c, end)}
}

// levelOf is the median of at most a thousand points.
func levelOf(v []float64) float64 {
	const most = 1000
	if len(v) <= most {
		return median(v)
	}
	some := make([]float64, most)
	for i := range some {
		some[i] = v[i*len(v)/most]
	}
	return median(some)
}

// range95 is which cuts are as good as c but for chance: their likelihood is within what the place of a step in
// normal noise exceeds once in twenty: 2 log L = 7.35 (Bai 1997, table I, 95 %), with noise as the fit has it.
func (s *sums) range95(start, c, end int) (low, high int) {
	const critical = 7.35
	n := float64(end - start)
	least := s.fit(start, c, end).left
	if least == 0 {
		return c, c
	}
	good := func(k int) bool { return n*math.Log(s.fit(start, k, end).left/least) <= critical }
	low, high = c, c
	for low-1 > start && good(low-1) {
		low--
	}
	for high+1 < end && good(high+1) {
		high++
	}
	return low, high
}

// ramp is the straight way from the level before cut i to the level after cut last-1 that fits best, and
// by how much its Bayesian information criterion is better than that of the steps; 0 or less: it is not.
func (s *sums) ramp(edges []int, i, last int) (Change, float64) {
	start, end := edges[i-1], edges[last]
	n := float64(end-start) / s.slow()
	steps := 0.0
	for k := i - 1; k < last; k++ {
		steps += s.scatter(edges[k], edges[k+1])
	}
	if steps == 0 || n < 2*fewestWithin {
		return Change{}, 0
	}
	best := fitted{left: math.Inf(1)}
	from, to := 0, 0
	for _, f := range []int{start, (start + edges[i]) / 2, edges[i]} {
		for _, t := range []int{edges[last-1], (edges[last-1] + end) / 2, end} {
			if t-f < 2*fewestWithin {
				continue
			}
			if x := s.fitRamp(start, f, t, end); x.left < best.left {
				best, from, to = x, f, t
			}
		}
	}
	if math.IsInf(best.left, 1) {
		return Change{}, 0
	}
	cost := func(ss float64, parameters int) float64 {
		return n*math.Log(ss/float64(end-start)) + float64(parameters)*math.Log(n)
	}
	gain := cost(steps, 2*(last-i)+1) - cost(max(best.left, 1e-300), 4)
	score := s.score(start, (from+to)/2, end)
	before := s.base + best.before
	return Change{Drift, from, from, min(to, s.len()-1), before, before + best.step, score}, gain
}

// fitRamp fits by least squares one level before f, another from t on, and a line between.
func (s *sums) fitRamp(start, f, t, end int) fitted {
	// Each point is a(1-w) + b w with w = 0, (i-f)/(t-f) and 1 on the three parts.
	n := float64(t - f)
	before, after := float64(f-start), float64(end-t)
	w1 := (n - 1) / 2                               // sum of w on the ramp
	w2 := (n - 1) * (2*n - 1) / (6 * n)             // sum of w squared
	ramp := s.x[t] - s.x[f]                         // sum of z on it
	wz := (s.ix[t] - s.ix[f] - float64(f)*ramp) / n // sum of w z
	aa := before + n - 2*w1 + w2
	bb := w2 + after
	ab := w1 - w2
	az := s.x[f] - s.x[start] + ramp - wz
	bz := wz + s.x[end] - s.x[t]
	det := aa*bb - ab*ab
	if det <= 1e-9*aa*bb {
		return fitted{left: math.Inf(1)}
	}
	a, b := (az*bb-bz*ab)/det, (bz*aa-az*ab)/det
	return fitted{a, b - a, (aa + bb + 2*ab) / det, max(0, s.xx[end]-s.xx[start]-a*az-b*bz)}
}
