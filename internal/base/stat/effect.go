package stat

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Question asks whether a measure moved between two sets of runs of a program.
type Question struct {
	Before, After [][]float64 // runs, each with its samples (steps, repeats) in order; empty runs are passed over
	MinEffect     float64     // the smallest change worth a verdict, as a share of before: 0.02 is 2 %
	MinAbsolute   float64     // and in the measure's unit; both must be exceeded
	Family        int         // how many such questions are asked together; 0 is 1
	// Noise is what is known of this measure's scatter between runs from elsewhere; the zero value says nothing.
	Noise Noise
}

// Noise is how much a measure scatters between runs of one program.
type Noise struct {
	SD   float64 // standard deviation of the logarithm, about the coefficient of variation: 0.01 is 1 %
	Runs float64 // how many runs it is worth (degrees of freedom)
}

// A Verdict on a question.
type Verdict uint8

// The verdicts. Higher and Lower are of at least the question's smallest effect.
const (
	Undecided Verdict = iota
	Same              // no change as large as the smallest effect
	Higher
	Lower
)

var verdictNames = [...]string{"undecided", "same", "higher", "lower"}

func (v Verdict) String() string { return verdictNames[v] }

// An Effect is the answer to a question. Changes are shares of before: 0.05 is 5 % more.
type Effect struct {
	Before, After float64 // medians over runs of each run's median
	Change        float64
	Low, High     float64 // 95 % interval on Change
	Limit         float64 // the smallest effect, with MinAbsolute in it
	SD            float64 // between runs of one side, as in Noise; 0 if only steps were seen
	RunsBefore    int
	RunsAfter     int
	OfSteps       bool // the interval is over the steps of single runs: modes between runs are not in it
	Verdict       Verdict
	// a side, for an inconclusive question to be decided nine times in ten; 0: more than maxRuns, or decided
	RunsNeeded  int
	ModesBefore []float64   // the two centres if the runs (or steps of one run) have two modes
	ModesAfter  []float64   //
	Warnings    []string    // what the reader of the verdict should know
	centres     [2]float64  // on the scale of the test
	spread      [2]estimate // of each centre
	positive    bool        // the test is on logarithms
}

// An estimate is the variance of a centre and how many degrees of freedom it has.
type estimate struct{ variance, df float64 }

// The confidence of a verdict.
const (
	// Of the interval printed, and on either side of the smallest effect.
	intervalTail = 0.025
	// falseAlarms is the share of whole families (suites) without any change that may have a verdict of
	// Higher: one in a hundred. It is shared among the questions of the family (Bonferroni), on top of the
	// interval, which alone would let noise of several times the smallest effect through.
	falseAlarms = 0.01
	// power is how often RunsNeeded runs decide.
	power = 0.9
	// maxRuns bounds the search for RunsNeeded: nobody makes more.
	maxRuns = 1000
)

// Compare answers a question. A run is one sample, its median; the test is Welch's on the logarithm
// of these medians (on the values themselves where one is not positive), with the variance of each
// side drawn towards Noise by as many runs as that is worth. With one run on a side and no Noise, the
// interval is over that run's steps, with their autocorrelation.
//
// Higher or Lower needs two things: the 95 % interval beyond the smallest effect, and zero excluded
// at a level that makes one false alarm in a hundred families. Same needs the interval within the
// smallest effect on both sides.
func Compare(q Question) Effect {
	given := len(q.Before) + len(q.After)
	q.Before, q.After = measured(q.Before), measured(q.After)
	q.Noise, q.MinEffect, q.MinAbsolute = q.Noise.sane(), notNegative(q.MinEffect), notNegative(q.MinAbsolute)
	before, after := medians(q.Before), medians(q.After)
	e := Effect{RunsBefore: len(before), RunsAfter: len(after)}
	if lost := given - len(before) - len(after); lost > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf(
			"%d of %d runs are passed over: without samples, or with one that is not a number", lost, given))
	}
	if len(before) == 0 || len(after) == 0 {
		e.Low, e.High = math.Inf(-1), math.Inf(1)
		e.Warnings = append(e.Warnings, "nothing was measured on one side")
		return e
	}
	e.Before, e.After = median(before), median(after)
	e.positive = positive(before, q.Before) && positive(after, q.After)
	e.ModesBefore, e.ModesAfter = modesOf(before, q.Before), modesOf(after, q.After)
	e.Limit = q.MinEffect
	if e.Before != 0 {
		e.Limit = max(e.Limit, q.MinAbsolute/math.Abs(e.Before))
	}
	e.estimate(q, before, after)
	e.decide(q, max(1, q.Family))
	e.warn()
	return e
}

// estimate finds the centres, their variances and the change.
func (e *Effect) estimate(q Question, before, after []float64) {
	for i, side := range []struct {
		runs   []float64
		sample [][]float64
	}{{before, q.Before}, {after, q.After}} {
		scaled := e.scale(side.runs)
		e.centres[i] = mean(scaled)
		noise := q.Noise
		if !e.positive {
			noise.SD *= math.Abs(e.Before)
		}
		n := float64(len(scaled))
		df := n - 1 + noise.Runs
		switch {
		case df > 0:
			ss := 0.0
			for _, x := range scaled {
				ss += (x - e.centres[i]) * (x - e.centres[i])
			}
			e.spread[i] = estimate{(ss + noise.Runs*noise.SD*noise.SD) / df / n, df}
			if n == 1 { // its median is known no better than its steps allow; of several runs that is in their scatter
				e.spread[i] = e.spread[i].plus(ofSteps(e.scale(side.sample[0])))
			}
		default:
			e.OfSteps = true
			e.spread[i] = ofSteps(e.scale(side.sample[0]))
		}
	}
	if sides := e.spread; !e.OfSteps {
		e.SD = math.Sqrt((sides[0].variance*float64(len(before)) + sides[1].variance*float64(len(after))) / 2)
		if !e.positive && e.Before != 0 {
			e.SD /= math.Abs(e.Before)
		}
	}
	e.Change = e.relative(e.centres[1] - e.centres[0])
}

// decide finds interval, verdict and the runs that an inconclusive question needs.
func (e *Effect) decide(q Question, family int) {
	diff := e.centres[1] - e.centres[0]
	se, df := welch(e.spread)
	half := quantileT(1-intervalTail, df) * se
	e.Low, e.High = e.relative(diff-half), e.relative(diff+half)
	shown := se == 0 && diff != 0 || se > 0 && math.Abs(diff)/se > quantileT(1-falseAlarms/float64(family), df)
	switch {
	case e.Before == 0 && e.After == 0:
		e.Verdict = Same
	case shown && e.Low > e.Limit && math.Abs(e.After-e.Before) > q.MinAbsolute:
		e.Verdict = Higher
	case shown && e.High < -e.Limit && math.Abs(e.After-e.Before) > q.MinAbsolute:
		e.Verdict = Lower
	case e.Low >= -e.Limit && e.High <= e.Limit:
		e.Verdict = Same
	default:
		e.RunsNeeded = e.runsNeeded(q, family)
	}
}

// runsNeeded is how many runs a side decide with the scatter seen, power of the time: for the change
// seen, where it is known well enough, else for none or twice the smallest effect.
func (e *Effect) runsNeeded(q Question, family int) int {
	if e.OfSteps || e.SD == 0 {
		return 0
	}
	distance := math.Abs(math.Log1p(e.Change)) // on the scale of SD
	limit := math.Log1p(e.Limit)
	margin := distance - limit
	if se, _ := welch(e.spread); math.Abs(margin) < se {
		distance, margin = 2*limit, limit
	}
	z := distuv.UnitNormal.Quantile(power)
	sd := e.SD * e.doubt()
	fewest := max(2, min(e.RunsBefore, e.RunsAfter)+1)
	n := fewest + sort.Search(maxRuns-fewest+1, func(i int) bool {
		n := float64(fewest + i)
		df := 2 * (n - 1 + q.Noise.Runs)
		se := sd * math.Sqrt(2/n)
		return math.Abs(margin)/se >= quantileT(1-intervalTail, df)+z &&
			(margin < 0 || distance/se >= quantileT(1-falseAlarms/float64(family), df)+z)
	})
	if n > maxRuns {
		return 0
	}
	return n
}

// doubt is by how much the scatter may well be larger than it looked in few runs: the upper quartile of
// what it can be.
func (e *Effect) doubt() float64 {
	df := e.spread[0].df + e.spread[1].df
	if !(df < 1e4) { // known as well as can be; or variances too small to have degrees of freedom
		return 1
	}
	return math.Sqrt(df / distuv.ChiSquared{K: df}.Quantile(0.25))
}

// warn says what the numbers do not.
func (e *Effect) warn() {
	if e.OfSteps {
		e.Warnings = append(e.Warnings, "one run a side: the interval is over its steps, and modes between runs "+
			"are not in it")
	}
	for _, side := range []struct {
		name  string
		modes []float64
		runs  int
	}{{"before", e.ModesBefore, e.RunsBefore}, {"after", e.ModesAfter, e.RunsAfter}} {
		if side.modes != nil {
			of := "runs"
			if side.runs == 1 {
				of = "steps"
			}
			e.Warnings = append(e.Warnings, fmt.Sprintf(
				"%s has two modes among its %s, at %.4g and %.4g: a median says little of either", side.name, of,
				side.modes[0], side.modes[1]))
		}
	}
}

// scale is values on the scale of the test.
func (e *Effect) scale(values []float64) []float64 {
	if !e.positive {
		return values
	}
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = math.Log(x)
	}
	return out
}

// relative turns a difference on the scale of the test into a share of before.
func (e *Effect) relative(diff float64) float64 {
	switch {
	case e.positive:
		return math.Expm1(diff)
	case e.Before != 0:
		return diff / math.Abs(e.Before)
	case diff == 0:
		return 0
	}
	return math.Inf(int(math.Copysign(1, diff)))
}

// plus is the variance of a sum of two, with Welch and Satterthwaite's degrees of freedom; a single step says nothing.
func (a estimate) plus(b estimate) estimate {
	switch {
	case math.IsInf(b.variance, 1) || b.variance == 0:
		return a
	case a.variance == 0:
		return b
	}
	sum, df := satterthwaite(a, b)
	return estimate{sum, df}
}

// welch is the standard error of the difference of two centres, and Welch and Satterthwaite's degrees of freedom.
func welch(s [2]estimate) (se, df float64) {
	switch sum := s[0].variance + s[1].variance; {
	case math.IsInf(sum, 1): // a single step says nothing
		return sum, 1
	case sum == 0:
		return 0, max(1, s[0].df+s[1].df)
	}
	sum, df := satterthwaite(s[0], s[1])
	return math.Sqrt(sum), df
}

// satterthwaite is the sum of two variances, of which one is above zero, and the degrees of freedom of it. Each
// counts by its share, since the square of a variance may not fit.
func satterthwaite(a, b estimate) (sum, df float64) {
	sum = a.variance + b.variance
	x, y := a.variance/sum, b.variance/sum
	return sum, 1 / (x*x/max(1e-9, a.df) + y*y/max(1e-9, b.df))
}

// ofSteps is the variance of the median of one run's steps, with their autocorrelation: the variance of a
// median is pi/2 of a mean's, and the steps count as fewer by (1-r)/(1+r) of the first-order autocorrelation r
// (Bartlett; negative r is not believed, since it would narrow the interval).
func ofSteps(steps []float64) estimate {
	n := float64(len(steps))
	if n < 2 {
		return estimate{math.Inf(1), 1}
	}
	m, ss, lag := mean(steps), 0.0, 0.0
	for i, x := range steps {
		ss += (x - m) * (x - m)
		if i > 0 {
			lag += (x - m) * (steps[i-1] - m)
		}
	}
	r := 0.0
	if ss > 0 {
		r = min(max(0, lag/ss), 0.9)
	}
	effective := max(2, n*(1-r)/(1+r))
	return estimate{math.Pi / 2 * ss / (n - 1) / effective, effective - 1}
}

func quantileT(p, df float64) float64 {
	if df > 1e6 || math.IsInf(df, 1) {
		return distuv.UnitNormal.Quantile(p)
	}
	return distuv.StudentsT{Sigma: 1, Nu: max(df, 0.5)}.Quantile(p)
}

// largest is beyond what any program measures, and what squares and sums can still hold.
const largest = 1e150

// measured is the runs that can be reckoned with: runs without samples, or with one that is no number or
// beyond largest, are passed over.
func measured(runs [][]float64) [][]float64 {
	var out [][]float64
	for _, r := range runs {
		if len(r) > 0 && !slices.ContainsFunc(r, func(x float64) bool { return !(math.Abs(x) <= largest) }) {
			out = append(out, r)
		}
	}
	return out
}

// sane is the noise, or none where it is not one.
func (n Noise) sane() Noise {
	if !(n.SD >= 0 && n.SD <= largest && n.Runs > 0 && n.Runs <= largest) {
		return Noise{}
	}
	return n
}

// notNegative is x, or 0 where it is below or no number.
func notNegative(x float64) float64 {
	if x > 0 {
		return x
	}
	return 0
}

// medians is each run's median.
func medians(runs [][]float64) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i] = median(r)
	}
	return out
}

// positive says whether the test of these runs can be on logarithms: of a single run the steps are looked at too.
func positive(medians []float64, runs [][]float64) bool {
	return slices.Min(medians) > 0 && (len(runs) > 1 || slices.Min(runs[0]) > 0)
}

func median(v []float64) float64 {
	sorted := slices.Clone(v)
	slices.Sort(sorted)
	return Quantile(sorted, 0.5)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
