package bench

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

const (
	// clockShare is by how much clocks must differ to be spoken of. They move in steps of 15 MHz, under 1 %.
	clockShare = 0.02
	// driftShare is how much of the median a drift must be over all runs to be spoken of, and driftLevel how
	// sure it must be: it is asked of every session, so one in a hundred without any is warned of one.
	driftShare = 0.01
	driftLevel = 0.01
	// fewestForDrift is below how many runs nothing is said of drift.
	fewestForDrift = 8
)

// warn says what the numbers do not.
func (r *Result) warn(s *Session) {
	names := []string{""}
	if len(s.Runs) == 2 {
		names = []string{"before: ", "after: "}
	}
	for i, p := range r.Programs {
		for _, m := range p.Measures {
			if m.Modes != nil && m.Name == r.Main {
				r.Warnings = append(r.Warnings, fmt.Sprintf(
					"%stwo modes among the runs in %s, at %.4g and %.4g %s: a median describes neither", names[i],
					m.Name, m.Modes[0], m.Modes[1], m.Unit))
			}
		}
		r.warnOfClocks(names[i], s.Runs[i])
	}
	r.warnOfSides(s)
	r.warnOfDrift(s)
	if s.NoGPU != "" {
		r.Warnings = append(r.Warnings, s.NoGPU+": clocks, power and other processes were not recorded")
	}
}

// warnOfClocks warns of runs at lower clocks than the others of the same program, and of what held clocks down.
func (r *Result) warnOfClocks(name string, runs []*measure.Run) {
	var clocks []float64
	throttled, others := 0, ""
	for _, run := range runs {
		for _, c := range run.Conditions {
			switch c.Name {
			case "sm_mhz":
				clocks = append(clocks, c.Median)
			case "throttle":
				throttled++
			case "others":
				others = c.Text
			}
		}
	}
	if len(clocks) > 1 {
		top := slices.Max(clocks)
		low := 0
		for _, c := range clocks {
			if c < top*(1-clockShare) {
				low++
			}
		}
		if low > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf(
				"%s%d of %d runs ran at lower clocks than the fastest (down to %.0f MHz, %.0f)", name, low,
				len(clocks), slices.Min(clocks), top))
		}
	}
	if throttled > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"%sthe GPU's clocks were throttled in %d of %d runs (see throttle)", name, throttled, len(runs)))
	}
	if others != "" {
		r.Warnings = append(r.Warnings, name+"other processes computed on the GPU: "+others)
	}
}

// warnOfSides warns of clocks that differ between two programs.
func (r *Result) warnOfSides(s *Session) {
	if len(r.Programs) < 2 {
		return
	}
	var clocks [2]float64
	for i, p := range r.Programs {
		for _, c := range p.Conditions {
			if c.Name == "sm_mhz" {
				clocks[i] = c.Median
			}
		}
	}
	if b, a := clocks[0], clocks[1]; b > 0 && a > 0 && math.Abs(a/b-1) > clockShare {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"the clocks differ: %.0f MHz before, %.0f after: they may explain part of the change, or be part of it "+
				"(a heavier program draws more power)", b, a))
	}
}

// warnOfDrift fits a line through the main measure of all runs in the order in which they ran, each side about its
// own centre.
func (r *Result) warnOfDrift(s *Session) {
	if total, sure := drift(s, r.Main); sure {
		pct := 100 * math.Expm1(total)
		r.DriftPct = &pct
		text := fmt.Sprintf("%s drifted by %+.1f %% from the first run to the last", r.Main, pct)
		if len(s.Runs) == 2 {
			text += "; the two ran in turn, so it affects both alike"
		} else {
			text += ": the result depends on when it was measured; more --warmup, or a pause before, may help"
		}
		r.Warnings = append(r.Warnings, text)
	}
}

// drift is the change of the logarithm of a measure from the first run to the last, and whether it is worth a word:
// the least-squares slope with Student's test.
func drift(s *Session, name string) (total float64, sure bool) {
	var x, y []float64
	next := make([]int, len(s.Runs))
	centres := make([]float64, len(s.Runs))
	for i, runs := range s.Runs {
		centres[i] = stat.CentreOf(measure.Samples(runs, name)).Median
	}
	for at, p := range s.Order {
		m := s.Runs[p][next[p]].Find(name)
		next[p]++
		if m == nil {
			continue
		}
		v := stat.CentreOf([][]float64{m.Samples}).Median
		if v <= 0 || centres[p] <= 0 {
			return 0, false
		}
		x, y = append(x, float64(at)), append(y, math.Log(v/centres[p]))
	}
	n := float64(len(x))
	if len(x) < fewestForDrift {
		return 0, false
	}
	mx, my := sum(x)/n, sum(y)/n
	sxx, sxy, syy := 0.0, 0.0, 0.0
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
		syy += (y[i] - my) * (y[i] - my)
	}
	slope := sxy / sxx
	total = slope * (x[len(x)-1] - x[0])
	rest := max(0, syy-slope*sxy)
	se := math.Sqrt(rest / (n - 2) / sxx)
	return total, math.Abs(total) > driftShare && math.Abs(slope) > se*distuv.StudentsT{Sigma: 1,
		Nu: n - 2}.Quantile(1-driftLevel/2)
}

func sum(v []float64) (out float64) {
	for _, x := range v {
		out += x
	}
	return out
}
