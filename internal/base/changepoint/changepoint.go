// Package changepoint finds where a series of measurements moved, and tells a shift from a drift and from
// single points that are off. The same series gives the same answer, always.
package changepoint

import (
	"math"
	"slices"
)

// A Kind of change.
type Kind uint8

// The kinds.
const (
	Shift Kind = iota // from one point to the next
	Drift             // over many points, with no place where it happened
)

var kindNames = [...]string{"shift", "drift"}

func (k Kind) String() string { return kindNames[k] }

// A Change of a series.
type Change struct {
	Kind Kind
	// Index is the first point of the new level; of a drift, the first point that drifts.
	Index int
	// First and Last are between which points the first of the new level lies, with 95 % certainty; of a
	// drift, its first and its last point.
	First, Last int
	// Before and After are medians of the levels; of a drift, the fitted line at its ends.
	Before, After float64
	// Score is how sure the change is: as many standard deviations of a normal distribution.
	Score float64
}

// Relative is the change as a share of what was before.
func (c Change) Relative() float64 {
	if c.Before == 0 {
		return math.Inf(int(math.Copysign(1, c.After)))
	}
	return c.After/c.Before - 1
}

// A Result is what was found in a series.
type Result struct {
	Changes  []Change // in the order of Index
	Outliers []int    // points off the level that their neighbours keep, in order
}

// Options say what counts as a change.
type Options struct {
	// MinEffect is the smallest change of the level that is one, as a share of the level before.
	MinEffect float64
}

const (
	// window is how many points E-divisive sees at a time: Hunter's 30, at every scale of the series.
	window = 30
	// weakLevel is the level at which a window proposes a cut: ten times Otava's, since what is proposed is tested
	// again against whole levels, and what is not proposed is lost.
	weakLevel = 0.05
	// falseAlarms is the share of series of pure noise in which anything is found: simulated by
	// TestFalseAlarms for normal, heavy-tailed and autocorrelated noise.
	falseAlarms = 0.01
	// rounds bounds how often the autocorrelation is estimated anew: about the levels of the cuts that stood with
	// the last estimate, which are longer than those of the cuts proposed and hide less of it.
	rounds = 4
	// fewestWithin is how many points make a level between two others: fewer are outliers.
	fewestWithin = 3
	// fewestAtEnd is how many make one at the ends of the series: one point alone is an outlier until the next.
	fewestAtEnd = 2
)

// Find looks for changes in values, which are in the order in which they were measured. Values that are no
// numbers are passed over. It works in four steps:
//
//  1. Points off the level that both neighbours keep are set aside.
//  2. E-divisive in windows proposes cuts: of the series, of medians of two points, of four, and so on, so
//     that small changes of long levels are proposed too.
//  3. From the weakest on, cuts are dropped that do not stand against what a series of this length and this
//     autocorrelation shows by chance.
//  4. Neighbouring shifts of one direction that a line explains better are one drift.
//
// Time grows as n log n.
func Find(values []float64, opt Options) Result {
	var z []float64
	var at []int // where each was
	for i, x := range values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			z, at = append(z, x), append(at, i)
		}
	}
	if len(z) < 2*fewestAtEnd {
		return Result{}
	}
	clean, off := setAside(z)
	s := newSums(clean)
	weak := propose(clean)
	cuts := weak
	for range rounds {
		r := resemblance(clean, cuts)
		if r <= s.r && len(cuts) < len(weak) {
			break
		}
		s.r = max(s.r, r)
		cuts = s.keep(s.settle(s.keep(weak, opt.MinEffect)), opt.MinEffect)
	}
	r := Result{Changes: s.changes(clean, cuts, opt.MinEffect)}
	for i := range r.Changes {
		c := &r.Changes[i]
		c.Index, c.First, c.Last = at[c.Index], at[c.First], at[c.Last]
	}
	for _, i := range off {
		r.Outliers = append(r.Outliers, at[i])
	}
	return r
}

// propose is every cut worth testing.
func propose(z []float64) []int {
	var d divider
	cuts := d.weak(z, window, weakLevel)
	for scale, coarse := 2, halve(z); len(coarse) >= 2*fewestWithin; scale, coarse = 2*scale, halve(coarse) {
		for _, c := range d.weak(coarse, window, weakLevel) {
			cuts = append(cuts, refine(z, c*scale, scale))
		}
	}
	return ascending(cuts)
}

// halve is the mean of each two points.
func halve(z []float64) []float64 {
	out := make([]float64, len(z)/2)
	for i := range out {
		out[i] = (z[2*i] + z[2*i+1]) / 2
	}
	return out
}

// refine is the cut near c, at most reach points off, that divides its surroundings best.
func refine(z []float64, c, reach int) int {
	from, to := max(0, c-window/2*reach), min(len(z), c+window/2*reach)
	s := newSums(z[from:to])
	return from + s.bestCut(0, to-from, max(fewestAtEnd, c-reach-from), min(to-from-fewestAtEnd, c+reach-from))
}

// setAside pulls in points that are off the level which points on both sides keep, and says which are far off. What
// is far is measured in robust standard deviations of the noise nearby.
func setAside(z []float64) (clean []float64, off []int) {
	const half, near, far = 4, 3.5, 5
	n := len(z)
	clean = slices.Clone(z)
	if n < 2*half {
		return clean, nil
	}
	level, residual := make([]float64, n), make([]float64, n)
	for i := range z {
		level[i] = nearest(z, i, half)
		residual[i] = math.Abs(z[i] - level[i])
	}
	whole := median(residual)
	noise := make([]float64, n)
	const stretch = 3 * half
	for start := 0; start < n; start += stretch {
		nearby := 1.4826 * max(whole, median(residual[max(0, start-stretch/2):min(n, start+stretch+stretch/2)]))
		for i := start; i < min(n, start+stretch); i++ {
			noise[i] = nearby
		}
	}
	for i := 0; i < n; i++ {
		if residual[i] <= near*noise[i] {
			continue
		}
		end := i
		for end < n && residual[end] > near*noise[end] {
			end++
		}
		most := fewestWithin - 1
		if end == n || i == 0 {
			most = fewestAtEnd - 1
		}
		for j := i; j < end && end-i <= most; j++ {
			clean[j] = level[j] + math.Copysign(near*noise[j], z[j]-level[j])
			if residual[j] > far*noise[j] {
				off = append(off, j)
			}
		}
		i = end
	}
	if len(off)*10 > n { // so many are what its noise is like
		off = nil
	}
	return clean, off
}

// nearest is the level at point i by what lies before it or after it, whichever is nearer to it: a point beside a
// step is on one of the two. Near an end of the series, where a step may be within reach of the only side there is,
// the two points next to it are asked too.
func nearest(z []float64, i, half int) float64 {
	before, after := z[max(0, i-half):i], z[i+1:min(len(z), i+half+1)]
	best := math.Inf(1)
	consider := func(level float64) {
		if math.Abs(z[i]-level) < math.Abs(z[i]-best) {
			best = level
		}
	}
	if len(before) >= fewestWithin {
		consider(middle(before))
	}
	if len(after) >= fewestWithin {
		consider(middle(after))
	}
	if len(before) < fewestWithin || len(after) < fewestWithin {
		if len(before) > 1 {
			consider(middle(before[len(before)-2:]))
		}
		if len(after) > 1 {
			consider(middle(after[:2]))
		}
	}
	return best
}

// middle is the median of two to four values.
func middle(v []float64) float64 {
	low, high, sum := v[0], v[0], 0.0
	for _, x := range v {
		low, high, sum = min(low, x), max(high, x), sum+x
	}
	if len(v) == 2 {
		return sum / 2
	}
	return (sum - low - high) / float64(len(v)-2)
}

// resemblance is the first-order autocorrelation about the levels between cuts.
func resemblance(z []float64, cuts []int) float64 {
	edges := append(append([]int{0}, cuts...), len(z))
	var c correlation
	for i := 1; i < len(edges); i++ {
		part := z[edges[i-1]:edges[i]]
		if len(part) < fewestWithin {
			continue
		}
		m := mean(part)
		c.add(len(part), func(j int) float64 { return part[j] - m })
	}
	return c.estimate()
}

// A correlation is what first-order autocorrelation is estimated from.
type correlation struct{ sum, lag, pairs, levels float64 }

// add adds n residuals about a level.
func (c *correlation) add(n int, residual func(int) float64) {
	before := 0.0
	for j := range n {
		x := residual(j)
		c.sum += x * x
		if j > 0 {
			c.lag += x * before
			c.pairs++
		}
		before = x
	}
	c.levels++
}

// estimate is r, corrected for what is lost by taking each level from few points (Kendall 1954). A negative one is not
// believed, since it would narrow what noise may do.
func (c *correlation) estimate() float64 {
	const most = wanders // a series that resembles itself more is told from one that moves by its jumps alone
	if c.sum == 0 || c.pairs == 0 {
		return 0
	}
	r := c.lag / c.sum
	return min(max(0, r+(1+3*r)*c.levels/(c.pairs+c.levels)), most)
}

func median(v []float64) float64 {
	var few [2 * window]float64
	sorted := append(few[:0], v...)
	slices.Sort(sorted)
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
