package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/runs/measure"
)

// Suites of 20 measures, 6 runs a side, of which one in a hundred may raise a false alarm; and how often a measure that
// got 5 % worse is found. The noise is that of bench/gpu/gate: quiet programs, programs of 1 % and of 6 %, two clock
// states between runs, outliers, drift over all runs that both sides meet in turn.
func TestSuitesOperating(t *testing.T) {
	const measures, runs = 20, 6
	suites, most := 30, 3 // 0.3 are expected at one in a hundred; 4 or more has a chance of less than one in a thousand
	if golden.IsLong() {
		suites, most = 200, 8 // 2 are expected; 9 or more has a chance of less than one in a thousand
	}
	normal := func(cv float64) func(*rand.Rand, int) float64 {
		return func(r *rand.Rand, _ int) float64 { return math.Exp(cv * r.NormFloat64()) }
	}
	for _, test := range []struct {
		name  string
		draw  func(r *rand.Rand, turn int) float64
		found float64 // least share of changes of 5 % that are found
	}{
		{"0.2 %", normal(0.002), 0.99},
		{"1 %", normal(0.01), 0.9},
		{"6 %", normal(0.06), 0},
		{"two states", func(r *rand.Rand, _ int) float64 {
			return math.Exp(0.001*r.NormFloat64() +
				0.08*float64(r.IntN(2)))
		}, 0},
		{"outliers", func(r *rand.Rand, _ int) float64 {
			x := math.Exp(0.003 * r.NormFloat64())
			if r.IntN(12) == 0 {
				x *= 1.1
			}
			return x
		}, 0},
		{"drift", func(r *rand.Rand, turn int) float64 {
			return math.Exp(0.003*r.NormFloat64() + 0.002*float64(turn))
		}, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			side := func(worse float64) []*measure.Run {
				var out []*measure.Run
				for turn := range runs {
					run := &measure.Run{Name: fmt.Sprint(turn)}
					for m := range measures {
						x := 10 * test.draw(r, turn)
						if m == 0 {
							x *= worse
						}
						run.Measures = append(run.Measures,
							measure.Measure{Name: fmt.Sprintf("m%02d", m), Unit: "ms", Samples: []float64{x}})
					}
					out = append(out, run)
				}
				return out
			}
			alarms, found := 0, 0
			for range suites {
				same, err := Check(side(1), side(1), Options{Rules: []Rule{{Pattern: "*"}}})
				if err != nil {
					t.Fatal(err)
				}
				if same.Verdict == Regression {
					alarms++
				}
				worse, _ := Check(side(1), side(1.05), Options{Rules: []Rule{{Pattern: "*"}}})
				if worse.Measures[0].Verdict == Regression {
					found++
				}
			}
			t.Logf("%d of %d suites raise a false alarm; %d of %d changes of 5 %% are found", alarms, suites, found,
				suites)
			if alarms > most {
				t.Errorf("%d of %d suites without any change raise an alarm", alarms, suites)
			}
			if float64(found) < test.found*float64(suites) {
				t.Errorf("%d of %d changes of 5 %% are found, want %.0f %%", found, suites, 100*test.found)
			}
		})
	}
}
