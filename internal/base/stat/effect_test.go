package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A noise draws one run's factor about 1, with a coefficient of variation of about cv.
type noise func(r *rand.Rand, cv float64) float64

func normal(r *rand.Rand, cv float64) float64 { return math.Exp(cv * r.NormFloat64()) }

func clockStates(r *rand.Rand, cv float64) float64 {
	return math.Exp(0.1*cv*r.NormFloat64() + 2*cv*float64(r.IntN(2)))
}

func outliers(r *rand.Rand, cv float64) float64 {
	x := normal(r, cv)
	if r.IntN(12) == 0 {
		x *= 1 + 0.1*r.Float64()
	}
	return x
}

func side(r *rand.Rand, n int, center, cv float64, draw noise) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = []float64{center * draw(r, cv)}
	}
	return out
}

// A suite of 20 measures, 6 runs a side: false alarms are rare at any noise, and what can be shown is.
func TestCompareOperating(t *testing.T) {
	const trials, runs, family = 600, 6, 20
	for _, test := range []struct {
		name       string
		draw       noise
		cv, effect float64
		want       Verdict
		least      float64 // share of trials with that verdict
	}{
		{"quiet, nothing", normal, 0.002, 0, Same, 0.99},
		{"quiet, a change", normal, 0.002, 0.05, Higher, 0.99},
		{"quiet, a gain", normal, 0.002, -0.05, Lower, 0.99},
		{"1 %, nothing", normal, 0.01, 0, Same, 0.5},
		{"1 %, a change", normal, 0.01, 0.05, Higher, 0.95},
		{"2 %, nothing", normal, 0.02, 0, Undecided, 0.5},
		{"10 %, nothing", normal, 0.1, 0, Undecided, 0.95},
		{"two clock states, nothing", clockStates, 0.05, 0, Undecided, 0.9},
		{"outliers, nothing", outliers, 0.01, 0, Undecided, 0.3},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			var count [4]int
			for range trials {
				e := Compare(Question{Before: side(r, runs, 100, test.cv, test.draw),
					After: side(r, runs, 100*(1+test.effect), test.cv, test.draw), MinEffect: 0.02, Family: family})
				count[e.Verdict]++
			}
			if got := float64(count[test.want]) / trials; got < test.least {
				t.Errorf("%v in %.1f %% of trials, want %.0f", test.want, 100*got, 100*test.least)
			}
			// One in a hundred suites is 0.05 % of questions: 0.3 are expected, 4 are excluded at p < 0.001.
			if test.effect == 0 && count[Higher] > 3 {
				t.Errorf("%d false alarms in %d questions", count[Higher], trials)
			}
		})
	}
}

// As many runs as an inconclusive question asks for decide it.
func TestRunsNeeded(t *testing.T) {
	for _, test := range []struct{ cv, effect float64 }{{0.02, 0.05}, {0.02, 0}, {0.05, 0.1}, {0.05, 0}, {0.03, 0}} {
		r := rand.New(rand.NewPCG(7, 8))
		asked, decided := 0, 0
		for range 150 {
			q := Question{Before: side(r, 6, 100, test.cv, normal),
				After: side(r, 6, 100*(1+test.effect), test.cv, normal), MinEffect: 0.02, Family: 20}
			e := Compare(q)
			if e.Verdict != Undecided {
				continue
			}
			asked++
			q.Before, q.After = side(r, e.RunsNeeded, 100, test.cv, normal),
				side(r, e.RunsNeeded, 100*(1+test.effect), test.cv, normal)
			if e.RunsNeeded > 6 && Compare(q).Verdict != Undecided {
				decided++
			}
		}
		if asked < 30 || float64(decided) < 0.8*float64(asked) {
			t.Errorf("cv %v, effect %v: %d of %d are decided with the runs that they asked for", test.cv, test.effect,
				decided, asked)
		}
	}
}

func TestCompare(t *testing.T) {
	runs := func(values ...float64) (out [][]float64) {
		for _, v := range values {
			out = append(out, []float64{v})
		}
		return out
	}
	for _, test := range []struct {
		name   string
		q      Question
		want   Verdict
		change float64
		warns  string
	}{
		{"a count that never varies", Question{Before: runs(812, 812), After: runs(812, 812)}, Same, 0, ""},
		{"a count that moved", Question{Before: runs(812, 812), After: runs(912, 912), MinEffect: 0.02}, Higher,
			100.0 / 812, ""},
		{"nothing from nothing", Question{Before: runs(0, 0), After: runs(0, 0)}, Same, 0, ""},
		{"something from nothing", Question{Before: runs(0, 0), After: runs(3, 3), MinAbsolute: 1}, Higher,
			math.Inf(1), ""},
		{"under the floor in the unit", Question{Before: runs(0.002, 0.002), After: runs(0.003, 0.003),
			MinAbsolute: 0.01}, Same, 0.5, ""},
		{"no run on a side", Question{Before: runs(1), After: nil}, Undecided, 0, "nothing was measured"},
		{"not a number", Question{Before: [][]float64{{1, math.NaN()}}, After: runs(1)}, Undecided, 0,
			"nothing was measured"},
		{"one step each", Question{Before: runs(10), After: runs(20)}, Undecided, 1, "one run a side"},
		{"single runs, quiet steps", Question{Before: [][]float64{{10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.1}},
			After: [][]float64{{20, 20.1, 19.9, 20, 20.1, 19.9, 20, 20.1}}, MinEffect: 0.02}, Higher, 1,
			"modes between runs"},
		{"single runs, known to scatter", Question{Before: [][]float64{{10, 10.1, 9.9, 10}},
			After: [][]float64{{11, 11.1, 10.9, 11}}, MinEffect: 0.02, Noise: Noise{SD: 0.1, Runs: 20}}, Undecided,
			0.1, ""},
		{"single runs, known not to", Question{Before: [][]float64{{10, 10.1, 9.9, 10}},
			After: [][]float64{{11, 11.1, 10.9, 11}}, MinEffect: 0.02, Noise: Noise{SD: 0.005, Runs: 20}}, Higher, 0.1,
			""},
		{"negative values", Question{Before: runs(-2, -2.01, -1.99), After: runs(-1, -1.01, -0.99), MinEffect: 0.02},
			Higher, 0.5, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := Compare(test.q)
			if e.Verdict != test.want {
				t.Errorf("verdict %v, want %v: %+v", e.Verdict, test.want, e)
			}
			if math.Abs(e.Change-test.change) > 0.005 && e.Change != test.change {
				t.Errorf("change %v, want %v", e.Change, test.change)
			}
			if text := strings.Join(e.Warnings, "; "); !strings.Contains(text, test.warns) || test.warns == "" &&
				text != "" {
				t.Errorf("warnings %q, want %q", text, test.warns)
			}
			if e.Low > e.Change || e.High < e.Change {
				t.Errorf("%v is outside [%v, %v]", e.Change, e.Low, e.High)
			}
		})
	}
}
