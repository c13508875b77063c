package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// One mode is called two at most once in a hundred, for bells, long tails and flat tops; two that
// are ten standard deviations apart are found from a dozen values on.
func TestModes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	square := func() float64 { x := random.NormFloat64(); return x * x }
	one := map[string]func() float64{
		"normal":    random.NormFloat64,
		"t3":        func() float64 { return random.NormFloat64() / math.Sqrt((square()+square()+square())/3) },
		"lognormal": func() float64 { return math.Exp(0.5 * random.NormFloat64()) },
	}
	const trials = 2000
	share := func(n int, draw func() float64) float64 {
		two := 0
		for range trials {
			v := make([]float64, n)
			for i := range v {
				v[i] = 100 + draw()
			}
			if _, _, yes := Modes(v); yes {
				two++
			}
		}
		return float64(two) / trials
	}
	for _, n := range []int{6, 8, 12, 20, 50, 200} {
		for name, draw := range one {
			if got := share(n, draw); got > 0.015 {
				t.Errorf("%d values of one %s: %.2f %% are called two modes, want at most 1", n, name, 100*got)
			}
		}
		apart := share(n, func() float64 { return random.NormFloat64() + 10*float64(random.IntN(2)) })
		if n >= 12 && apart < 0.9 {
			t.Errorf("%d values of two modes: %.0f %% are found, want 90", n, 100*apart)
		}
	}
}

func TestModesOfNothing(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {1, 1, 1, 1, 1, 1, 1}, {1, 2, 3, 4, 5}, {1, 1, 1, 1, 1, 9}} {
		if low, high, two := Modes(values); two {
			t.Errorf("Modes(%v) = %v and %v", values, low, high)
		}
	}
	if low, high, two := Modes([]float64{22.5, 25.5, 22.55, 25.45, 22.5, 25.5, 22.45}); !two || low > 22.6 ||
		high < 25.4 {
		t.Errorf("newton#2534's modes: %v %v %v", low, high, two)
	}
}
