package main

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/distuv"

	"lacuna/internal/base/changepoint"
	"lacuna/internal/base/stat"
)

// minEffect is the smallest effect of the gate, its default.
const minEffect = 0.02

// A rule says "slower" of one measure of a suite.
type rule struct {
	name, doc string
	slower    func(before, after [][]float64, family int) bool
}

var rules = []rule{
	{"lacuna", "the gate as it stands: interval beyond 2 %, one false alarm in a hundred suites",
		func(b, a [][]float64, family int) bool {
			return ask(b, a, family).Verdict == stat.Higher
		}},
	{"benchstat", "Mann-Whitney U on the runs' medians, p < 0.05 (golang.org/x/perf/benchmath)",
		func(b, a [][]float64, _ int) bool {
			x, y := benchmath.NewSample(mediansOf(b), &benchmath.DefaultThresholds),
				benchmath.NewSample(mediansOf(a), &benchmath.DefaultThresholds)
			c := benchmath.AssumeNothing.Compare(x, y)
			return c.P < c.Alpha && medianOf(mediansOf(a)) > medianOf(mediansOf(b))
		}},
	{"t-test", "Welch's t-test on the runs' medians, p < 0.05", func(b, a [][]float64, _ int) bool {
		t, df := welch(mediansOf(b), mediansOf(a))
		return t > distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975)
	}},
	{"5 %", "median of the new runs more than 5 % above that of the old", func(b, a [][]float64, _ int) bool {
		return medianOf(mediansOf(a)) > 1.05*medianOf(mediansOf(b))
	}},
	{"Otava", "a change point in the series old then new (window 50, p 0.001, no least magnitude: its defaults)",
		func(b, a [][]float64, _ int) bool {
			series := append(mediansOf(b), mediansOf(a)...)
			return len(changepoint.Otava(series, 50, 0.001, 0)) > 0 && medianOf(mediansOf(a)) > medianOf(mediansOf(b))
		}},
}

func ask(before, after [][]float64, family int) stat.Effect {
	return stat.Compare(stat.Question{Before: before, After: after, MinEffect: minEffect, Family: family})
}

func mediansOf(runs [][]float64) (out []float64) {
	for _, r := range runs {
		out = append(out, medianOf(r))
	}
	return slices.Clip(out)
}

// welch is Welch's t of b above a, and its degrees of freedom.
func welch(a, b []float64) (t, df float64) {
	va, vb := math.Pow(cv(a)*mean(a), 2)/float64(len(a)), math.Pow(cv(b)*mean(b), 2)/float64(len(b))
	return (mean(b) - mean(a)) / math.Sqrt(va+vb),
		(va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
