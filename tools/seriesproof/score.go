package main

import (
	"math"
	"math/rand"
)

// matched is how many of the points found are marked ones, each marked point once, the nearest first in order.
func matched(found, marked []int) int {
	used := make([]bool, len(marked))
	n := 0
	for _, f := range found {
		best := -1
		for i, m := range marked {
			if d := max(f-m, m-f); !used[i] && d <= margin && (best < 0 || d < max(f-marked[best], marked[best]-f)) {
				best = i
			}
		}
		if best >= 0 {
			used[best] = true
			n++
		}
	}
	return n
}

// A score is precision and recall; nothing found is precision 1, nothing marked recall 1.
type score struct{ precision, recall float64 }

func scoreOf(found, marked []int) score {
	s := score{1, 1}
	n := float64(matched(found, marked))
	if len(found) > 0 {
		s.precision = n / float64(len(found))
	}
	if len(marked) > 0 {
		s.recall = n / float64(len(marked))
	}
	return s
}

// f1 is their harmonic mean.
func (s score) f1() float64 {
	if s.precision+s.recall == 0 {
		return 0
	}
	return 2 * s.precision * s.recall / (s.precision + s.recall)
}

// A draw makes a series of n values, with its level higher by shift standard deviations from the middle on.
type draw struct {
	name string
	make func(r *rand.Rand, n int) []float64
}

// draws are noises that benchmarks have.
func draws() []draw {
	return []draw{
		{"normal", func(r *rand.Rand, n int) []float64 { return walk(r, n, 0) }},
		{"t, 4 degrees of freedom", func(r *rand.Rand, n int) []float64 {
			z := make([]float64, n)
			for i := range z {
				z[i] = r.NormFloat64() / math.Sqrt(r.ExpFloat64()+r.ExpFloat64())
			}
			return z
		}},
		{"2 % outliers of 10 SD", func(r *rand.Rand, n int) []float64 {
			z := walk(r, n, 0)
			for i := range z {
				if r.Float64() < 0.02 {
					z[i] += 10
				}
			}
			return z
		}},
		{"autocorrelation 0.3", func(r *rand.Rand, n int) []float64 { return walk(r, n, 0.3) }},
		{"autocorrelation 0.6", func(r *rand.Rand, n int) []float64 { return walk(r, n, 0.6) }},
	}
}

// walk is normal noise of standard deviation 1 with a first-order autocorrelation.
func walk(r *rand.Rand, n int, by float64) []float64 {
	z := make([]float64, n)
	before := r.NormFloat64()
	for i := range z {
		before = by*before + math.Sqrt(1-by*by)*r.NormFloat64()
		z[i] = before
	}
	return z
}

// trials is how many series each cell of the simulated tables is from.
const trials = 300

// falseAlarms is the share of series of noise in which a finder finds anything.
func falseAlarms(f finder, d draw, n int) float64 {
	bad := 0
	for k := range trials {
		if len(f.find(raised(d, int64(k), n, 0))) > 0 {
			bad++
		}
	}
	return float64(bad) / trials
}

// found is the share of series with one shift in which it is found, within the margin.
func found(f finder, d draw, n int, shift float64) float64 {
	good := 0
	for k := range trials {
		good += matched(f.find(raised(d, int64(k), n, shift)), []int{n / 2})
	}
	return float64(good) / trials
}

// raised is a series about 1,000, higher from its middle on.
func raised(d draw, seed int64, n int, shift float64) []float64 {
	z := d.make(rand.New(rand.NewSource(seed)), n)
	for i := range z {
		z[i] += 1000
		if i >= n/2 {
			z[i] += shift
		}
	}
	return z
}
