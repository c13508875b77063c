package changepoint

import (
	"container/heap"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// sums answers what the mean and the scatter of any stretch of a series are, without walking it.
type sums struct {
	z    []float64 // the series, from a base that keeps rounding small
	x    []float64 // sums over the first i of z, of z squared, of i*z, and of z times the one before
	xx   []float64
	ix   []float64
	xl   []float64
	base float64
	r    float64 // how much a value resembles the one before: first-order autocorrelation about the levels
}

func newSums(z []float64) *sums {
	n := len(z)
	s := &sums{make([]float64, n), make([]float64, n+1), make([]float64, n+1), make([]float64, n+1),
		make([]float64, n+1), 0, 0}
	if n > 0 {
		s.base = median(z[:min(n, window)])
	}
	before := 0.0
	for i, x := range z {
		x -= s.base
		s.z[i] = x
		s.x[i+1], s.xx[i+1], s.ix[i+1], s.xl[i+1] = s.x[i]+x, s.xx[i]+x*x, s.ix[i]+float64(i)*x, s.xl[i]+x*before
		before = x
	}
	return s
}

// slow is how many points count as one because each resembles the one before (Bartlett).
func (s *sums) slow() float64 { return (1 + s.r) / (1 - s.r) }

func (s *sums) len() int { return len(s.x) - 1 }

// mean is of the points from i, j excluded.
func (s *sums) mean(i, j int) float64 { return s.base + (s.x[j]-s.x[i])/float64(j-i) }

// scatter is the sum of squares about that mean.
func (s *sums) scatter(i, j int) float64 {
	sum := s.x[j] - s.x[i]
	ss := s.xx[j] - s.xx[i] - sum*sum/float64(j-i)
	if ss < 1e-12*(s.xx[j]-s.xx[i]) { // what rounding leaves of equal points
		return 0
	}
	return ss
}

// bestCut is the cut from low to high that leaves the least scatter within [i, cut) and [cut, j).
func (s *sums) bestCut(i, j, low, high int) int {
	at, least := min(max(low, i+1), j-1), math.Inf(1)
	for c := max(low, i+1); c <= min(high, j-1); c++ {
		if ss := s.scatter(i, c) + s.scatter(c, j); ss < least {
			at, least = c, ss
		}
	}
	return at
}

// score is how many standard deviations of a normal distribution the levels [i, c) and [c, j) are apart.
func (s *sums) score(i, c, j int) float64 {
	f := s.fit(i, c, j)
	mean := s.mean(c, j) - s.mean(i, c)
	switch {
	case math.Abs(f.step) <= 1e-12*math.Abs(s.mean(i, c)), mean/f.step < 0.5: // none, or it did not last
		return 0
	case f.left == 0:
		return math.Inf(1)
	}
	df := max(1, float64(j-i-2))
	if s.r > 0 {
		df = max(1, df-1)
	}
	return normal(f.step*f.step/(f.left/df*f.spread), df)
}

// A fitted is two levels fitted to a stretch of a series.
type fitted struct {
	before float64 // the level before, from the base of the sums
	step   float64 // by how much the level after is higher
	spread float64 // the variance of step, as a multiple of that of one value's noise
	left   float64 // the sum of squares of that noise
}

// fit fits levels to [i, c) and [c, j) by generalised least squares for noise of first-order autocorrelation r:
// ordinary least squares of z[k]-r*z[k-1], the first value times sqrt(1-r*r) (Prais and Winsten 1954). A step is then
// known by the one jump as well as by the levels: the more the noise wanders, the more by the jump.
func (s *sums) fit(i, c, j int) fitted {
	r, q := s.r, 1-s.r
	n1, n2 := float64(c-i), float64(j-c)
	// Sums of y[k] = z[k]-r*z[k-1] over (i, c) and (c, j), and at c.
	left := s.x[c] - s.x[i+1] - r*(s.x[c-1]-s.x[i])
	right := s.x[j] - s.x[c+1] - r*(s.x[j-1]-s.x[c])
	at := s.z[c] - r*s.z[c-1]
	aa, ab, bb := 1-r*r+(n1-1)*q*q+r*r, -r, 1+(n2-1)*q*q
	ay := (1-r*r)*s.z[i] + q*left - r*at
	by := at + q*right
	yy := (1-r*r)*s.z[i]*s.z[i] + s.xx[j] - s.xx[i+1] - 2*r*(s.xl[j]-s.xl[i+1]) + r*r*(s.xx[j-1]-s.xx[i])
	det := aa*bb - ab*ab
	a, b := (ay*bb-by*ab)/det, (by*aa-ay*ab)/det
	f := fitted{a, b - a, (aa + bb + 2*ab) / det, yy - a*ay - b*by}
	if f.left < 1e-12*(s.xx[j]-s.xx[i]) { // what rounding leaves of equal points
		f.left = 0
	}
	return f
}

// normal is the normal deviate that is as rare as Student's t with df degrees of freedom, given t squared (Wallace
// 1959).
func normal(t2, df float64) float64 { return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t2/df)) }

// needed is the score that a cut must reach. A cut is chosen among as many as there are points (Bonferroni), and in
// noise alone one series of a hundred has one that reaches it (TestFalseAlarms).
func (s *sums) needed() float64 {
	return distuv.UnitNormal.Quantile(1 - falseAlarms/2/max(2, float64(s.len())))
}

// A cut in the list of cuts that stand, with its neighbours.
type cut struct {
	at, before, after int // positions in the series; in cutList: of neighbours in the list
	score             float64
	place             int // in the heap; -1: dropped
}

// keep drops cuts from the weakest on until all that stand are sure, long enough and at least of an effect.
// Time is k log k in their number.
func (s *sums) keep(at []int, effect float64) []int {
	n, needed := s.len(), s.needed()
	list := make([]cut, len(at)+2)
	h := &weakestFirst{list: list}
	for i := range list {
		list[i] = cut{before: i - 1, after: i + 1, place: -1}
		switch i {
		case 0:
		case len(at) + 1:
			list[i].at = n
		default:
			list[i].at, list[i].place = at[i-1], i-1
			h.heap = append(h.heap, i)
		}
	}
	judge := func(i int) {
		c := &list[i]
		start, end := list[c.before].at, list[c.after].at
		c.score = s.score(start, c.at, end)
		if min(c.at-start, end-c.at) < fewestWithin &&
			!(c.at-start >= fewestAtEnd && start == 0 || c.at-start >= fewestWithin) ||
			end-c.at < fewestAtEnd || end-c.at < fewestWithin && end != n {
			c.score = 0
		}
		if a, b := s.mean(start, c.at), s.mean(c.at, end); math.Abs(b-a) < effect*math.Abs(a) {
			c.score = 0
		}
	}
	for _, i := range h.heap {
		judge(i)
	}
	heap.Init(h)
	for h.Len() > 0 && list[h.heap[0]].score < needed {
		i := heap.Pop(h).(int)
		c := list[i]
		list[c.before].after, list[c.after].before = c.after, c.before
		for _, next := range []int{c.before, c.after} {
			if list[next].place >= 0 {
				judge(next)
				heap.Fix(h, list[next].place)
			}
		}
	}
	var out []int
	for i := list[0].after; i <= len(at); i = list[i].after {
		out = append(out, list[i].at)
	}
	return out
}

// settle moves each cut to where it divides best what lies between its neighbours.
func (s *sums) settle(cuts []int) []int {
	for i := range cuts {
		start, end := 0, s.len()
		if i > 0 {
			start = cuts[i-1]
		}
		if i+1 < len(cuts) {
			end = cuts[i+1]
		}
		cuts[i] = s.bestCut(start, end, start+fewestAtEnd, end-fewestAtEnd)
	}
	return cuts
}

// weakestFirst is a heap of the positions of cuts in list.
type weakestFirst struct {
	list []cut
	heap []int
}

func (h *weakestFirst) Len() int { return len(h.heap) }
func (h *weakestFirst) Less(a, b int) bool {
	x, y := &h.list[h.heap[a]], &h.list[h.heap[b]]
	return x.score < y.score || x.score == y.score && x.at < y.at
}
func (h *weakestFirst) Swap(a, b int) {
	h.heap[a], h.heap[b] = h.heap[b], h.heap[a]
	h.list[h.heap[a]].place, h.list[h.heap[b]].place = a, b
}
func (h *weakestFirst) Push(any) {}
func (h *weakestFirst) Pop() any {
	last := len(h.heap) - 1
	i := h.heap[last]
	h.list[i].place = -1
	h.heap = h.heap[:last]
	return i
}
