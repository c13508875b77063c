package changepoint

import (
	"container/heap"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// sums answers what the mean and the scatter of any stretch of a series are, without walking it.
type sums struct {
	x, xx, ix []float64 // sums of z, z squared, and i*z over the first i values, z taken from its first
	base      float64   // that first
	slow      float64   // how many points count as one, slowness
	jumps     float64   // usualJump; 0: not known
}

func newSums(z []float64) *sums {
	n := len(z)
	s := &sums{make([]float64, n+1), make([]float64, n+1), make([]float64, n+1), 0, 1, 0}
	if n > 0 {
		s.base = median(z[:min(n, window)])
	}
	for i, x := range z {
		x -= s.base
		s.x[i+1], s.xx[i+1], s.ix[i+1] = s.x[i]+x, s.xx[i]+x*x, s.ix[i]+float64(i)*x
	}
	return s
}

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

// score is how many standard deviations of a normal distribution the levels [i, c) and [c, j) are apart: by all
// of their points or by the jump between them, whichever is more.
func (s *sums) score(i, c, j int) float64 {
	n1, n2 := float64(c-i), float64(j-c)
	df := max(1, (n1+n2)/s.slow-2)
	diff := s.mean(c, j) - s.mean(i, c)
	ss := s.scatter(i, c) + s.scatter(c, j)
	switch {
	case math.Abs(diff) <= 1e-12*math.Abs(s.mean(i, c)):
		return 0
	case ss == 0:
		return math.Inf(1)
	}
	t2 := diff * diff / (ss / max(1, n1+n2-2) * s.slow * (1/n1 + 1/n2))
	return max(normal(t2, df), s.jump(i, c, j))
}

// byJump says whether the cut stands by its jump rather than by its levels.
func (s *sums) byJump(i, c, j int) bool {
	jump := s.jump(i, c, j)
	return jump > 0 && jump >= s.score(i, c, j)
}

// normal is the normal deviate that is as rare as Student's t with df degrees of freedom, given t squared (Wallace 1959).
func normal(t2, df float64) float64 { return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t2/df)) }

const (
	beside  = 3  // points on each side of a place make a jump
	lasting = 10 // points must follow and precede it, so that it is not a blip of noise that is no normal one
)

// jump is how many times larger than usual the jump at c is, if the levels keep at least half of it. On a series that
// wanders slowly, where means of long levels tell little, a sudden step is seen by that alone.
func (s *sums) jump(i, c, j int) float64 {
	if s.jumps == 0 || min(c-i, j-c) < lasting {
		return 0
	}
	jump := s.mean(c, c+beside) - s.mean(c-beside, c)
	if (s.mean(c, j)-s.mean(i, c))/jump < 0.5 {
		return 0
	}
	return math.Abs(jump) / s.jumps
}

// usualJump is the robust standard deviation of the difference between three neighbouring points and the next three,
// over the whole series; 0: too few points to know.
func usualJump(s *sums) float64 {
	const fewest = 60
	if s.len() < fewest {
		return 0
	}
	all := make([]float64, 0, s.len())
	for c := beside; c+beside <= s.len(); c++ {
		all = append(all, math.Abs(s.mean(c, c+beside)-s.mean(c-beside, c)))
	}
	return 1.4826 * median(all)
}

// needed is the score that a cut of n points must reach: noise alone exceeds it anywhere in one series of a hundred.
// A cut is chosen among about as many as there are points that count, and tested against neighbours that
// were chosen too; chosen is what this comes to, by simulation (TestFalseAlarms).
func (s *sums) needed() float64 { return s.neededOf(s.slow) }

func (s *sums) neededOf(slow float64) float64 {
	const chosen = 1.0
	n := max(2, float64(s.len())/slow)
	return distuv.UnitNormal.Quantile(1 - falseAlarms/2/n/chosen)
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
		if min(c.at-start, end-c.at) < fewestWithin && !(c.at-start >= fewestAtEnd && start == 0 || c.at-start >= fewestWithin) ||
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
