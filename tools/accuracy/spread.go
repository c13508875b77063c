package main

import (
	"fmt"
	"math"
	"strings"
)

// A reach is how far a truth lies from its estimate as a share of the distance to the bound on its side: up to 1 it
// is within.
type reach struct {
	program string
	share   float64
}

func reachOf(program string, e Estimate, truth float64) reach {
	side := e.HighMs - e.Ms
	if truth < e.Ms {
		side = e.Ms - e.LowMs
	}
	if side <= 0 {
		return reach{program, math.Inf(1)}
	}
	return reach{program, math.Abs(truth-e.Ms) / side}
}

// wanted is the share of truths that bounds must hold.
const wanted = 0.9

// needed is by what the bounds would have to be multiplied to hold nine in ten truths of all programs but one.
func needed(all []reach, without string) float64 {
	var v []float64
	for _, r := range all {
		if r.program != without {
			v = append(v, r.share)
		}
	}
	return quantile(v, wanted)
}

// spread is a table of what was predicted over all folders: by what bounds would have to be multiplied so that they
// hold nine truths in ten, found without one program, and how many truths of the program left out they then hold.
func (p *Page) spread(b *strings.Builder) {
	kinds := []struct {
		what string
		of   func(*Set) []reach
	}{
		{"the step as it is, without a tool", (*Set).nowReach},
		{"changes of the schedule, without a tool",
			func(s *Set) []reach { return s.reaches("scheduling", (*Prediction).free) }},
		{"other kernels, without a tool", func(s *Set) []reach { return s.reaches("kernels", (*Prediction).free) }},
		{"the gain of a change, without a tool", (*Set).gainReach},
		{"changes of the schedule, under the same tool",
			func(s *Set) []reach { return s.reaches("scheduling", (*Prediction).under) }},
		{"other kernels, under the same tool", func(s *Set) []reach {
			return s.reaches("kernels",
				(*Prediction).under)
		}},
	}
	var rows [][]string
	for _, k := range kinds {
		var all []reach
		for _, s := range p.Sets {
			all = append(all, k.of(s)...)
		}
		programs := make(map[string]bool)
		inside, left, low, high := 0, 0, math.Inf(1), 0.0
		for _, r := range all {
			programs[r.program] = true
			q := needed(all, r.program)
			low, high = min(low, q), max(high, q)
			if r.share <= 1 {
				inside++
			}
			if r.share <= q {
				left++
			}
		}
		if len(programs) < 2 {
			continue
		}
		rows = append(rows, []string{k.what, fmt.Sprint(len(programs)), fmt.Sprintf("%d of %d", inside, len(all)),
			share(float64(inside) / float64(len(all))),
			fmt.Sprintf("%.2f", needed(all, "")), fmt.Sprintf("%.2f to %.2f", low, high),
			fmt.Sprintf("%d of %d", left, len(all))})
	}
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## Whether the ranges are wide enough\n\nAll folders together. *Wanted*: by what the bounds' " +
		"distances from the estimate would have to be multiplied to hold\nnine truths in ten; under 1, the ranges " +
		"are wide enough. *Leave one out*: the same from all programs but one, and\nhow many truths of the program " +
		"that was left out it holds.\n\n")
	table(b, []string{"what", "programs", "in range", "", "wanted", "leave one out", "holds"}, "lrrrrrr", rows)
}

func (p *Prediction) free() (Estimate, float64)  { return p.Free, p.FreeTruth() }
func (p *Prediction) under() (Estimate, float64) { return p.Under, p.UnderTruth() }

// reaches is of each prediction of a kind where the truth lies.
func (s *Set) reaches(kind string, of func(*Prediction) (Estimate, float64)) []reach {
	var out []reach
	for _, p := range s.Predictions {
		if p.WhyNot != "" || p.Kind() != kind {
			continue
		}
		if e, truth := of(p); truth > 0 {
			out = append(out, reachOf(p.Case, e, truth))
		}
	}
	return out
}

// nowReach is of each capture where the truth of its step without a tool lies.
func (s *Set) nowReach() []reach {
	var out []reach
	for _, c := range s.Captures {
		if truth := c.StepMs(); c.Why == "" && truth > 0 && !c.drained() {
			out = append(out, reachOf(c.Case, c.Now, truth))
		}
	}
	return out
}

// gainReach is of each fix that gains something where the truth of its gain lies.
func (s *Set) gainReach() []reach {
	var out []reach
	for _, p := range s.Predictions {
		if p.WhyNot == "" && p.FreeTruth() > 0 && p.Variant.StepMs() > 0 && p.GainTruth() > p.noiseMs() {
			out = append(out, reachOf(p.Case, p.FreeGain, p.GainTruth()))
		}
	}
	return out
}
