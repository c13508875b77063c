package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// The interval holds the true median 95 times in a hundred or more, whatever the number of runs.
func TestCentreCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 13))
	for _, n := range []int{2, 3, 5, 6, 10, 30} {
		covered, width := 0, 0.0
		const trials = 2000
		for range trials {
			var runs [][]float64
			for range n {
				runs = append(runs, []float64{100 * math.Exp(0.02*rng.NormFloat64())})
			}
			c := CentreOf(runs)
			if c.Low <= 100 && 100 <= c.High {
				covered++
			}
			width += (c.High - c.Low) / 200 / trials
		}
		if share := float64(covered) / trials; share < 0.94 {
			t.Errorf("%d runs: %.3f of the intervals hold the median, want 0.95", n, share)
		}
		if want := 0.02 * math.Sqrt(math.Pi/2/float64(n)) * quantileT(0.975,
			float64(n-1)); math.Abs(width/want-1) > 0.25 {
			t.Errorf("%d runs: half of the interval is %.4f, want about %.4f", n, width, want)
		}
	}
}

func TestCentre(t *testing.T) {
	if c := CentreOf(nil); c.Runs != 0 || !math.IsInf(c.High, 1) || c.Warnings == nil {
		t.Errorf("%+v", c)
	}
	if c := CentreOf([][]float64{{5}}); c.Median != 5 || !math.IsInf(c.Low, -1) || !c.OfSteps {
		t.Errorf("%+v", c)
	}
	if c := CentreOf([][]float64{{1, -1, 0, 2, 1}}); c.Median != 1 || c.Low >= 1 || c.High <= 1 {
		t.Errorf("%+v", c)
	}
	if c := CentreOf([][]float64{{0}, {0}, {0}}); c.Low != 0 || c.High != 0 {
		t.Errorf("%+v", c)
	}
	c := CentreOf([][]float64{{10}, {10.01}, {9.99}, {12}, {12.01}, {10}, {12}, {11.99}, {10.01}, {12.02}})
	if len(c.Modes) != 2 || !strings.Contains(strings.Join(c.Warnings, " "), "two modes among the runs, at 10 and 12") {
		t.Errorf("%+v", c)
	}
}
