package changepoint

import (
	"math"
	"math/rand"
	"reflect"
	"testing"

	"lacuna/internal/base/golden"
)

// noise draws a series of n values of standard deviation about 1.
type noise func(r *rand.Rand, n int) []float64

func normalNoise(r *rand.Rand, n int) []float64 { return autocorrelated(0)(r, n) }

// heavyNoise is Student's t with four degrees of freedom.
func heavyNoise(r *rand.Rand, n int) []float64 {
	z := make([]float64, n)
	for i := range z {
		z[i] = r.NormFloat64() / math.Sqrt(r.ExpFloat64()+r.ExpFloat64())
	}
	return z
}

func autocorrelated(by float64) noise {
	return func(r *rand.Rand, n int) []float64 {
		z := make([]float64, n)
		before := 0.0
		for i := range z {
			before = by*before + math.Sqrt(1-by*by)*r.NormFloat64()
			z[i] = before
		}
		return z
	}
}

// share is in how many of the trials a claim about a series of its own holds.
func share(trials int, claim func(r *rand.Rand) bool) float64 {
	held := 0
	for k := range trials {
		if claim(rand.New(rand.NewSource(int64(k)))) {
			held++
		}
	}
	return float64(held) / float64(trials)
}

// Of series of noise alone, hardly any has a change. The bounds are what was simulated and a little more; the aim is
// one in a hundred, which normal noise keeps. Autocorrelation cannot be seen in twenty points, and costs there.
func TestFalseAlarms(t *testing.T) {
	for _, test := range []struct {
		name  string
		draw  noise
		n     int
		bound float64
	}{
		{"normal", normalNoise, 10, 0.015}, {"normal", normalNoise, 100, 0.015}, {"normal", normalNoise, 1000, 0.02},
		{"heavy tails", heavyNoise, 10, 0.015}, {"heavy tails", heavyNoise, 100, 0.025},
		{"heavy tails", heavyNoise, 400, 0.06},
		{"autocorrelation 0.5", autocorrelated(0.5), 20, 0.08}, {"autocorrelation 0.5", autocorrelated(0.5), 400, 0.03},
	} {
		trials := 100
		if golden.IsLong() {
			trials = 600
		}
		got := share(trials, func(r *rand.Rand) bool { return len(Find(test.draw(r, test.n), Options{}).Changes) > 0 })
		if slack := 2 * math.Sqrt(test.bound/float64(trials)); got > test.bound+slack {
			t.Errorf("%s, %d points: %.1f %% have a change, want %.1f %%", test.name, test.n, 100*got, 100*test.bound)
		}
	}
}

// A shift of three standard deviations is found, once, and where it is said to be.
func TestShift(t *testing.T) {
	for _, test := range []struct {
		name  string
		draw  noise
		n, at int
	}{
		{"in the middle", normalNoise, 100, 50}, {"near the end", normalNoise, 100, 92},
		{"of a short series", normalNoise, 24, 12},
		{"of a long one", normalNoise, 3000, 1700}, {"heavy tails", heavyNoise, 200, 90},
		{"autocorrelated", autocorrelated(0.4), 200, 90},
	} {
		found, inside, alone := 0, 0, 0
		const trials = 100
		for k := range trials {
			z := test.draw(rand.New(rand.NewSource(int64(k))), test.n)
			for i := range z {
				z[i] += 100
				if i >= test.at {
					z[i] += 3
				}
			}
			changes := Find(z, Options{}).Changes
			for _, c := range changes {
				if c.Kind == Shift && c.First <= test.at+3 && c.Last >= test.at-3 && c.After > c.Before {
					found++
					if c.First <= test.at && test.at <= c.Last {
						inside++
					}
					break
				}
			}
			if len(changes) == 1 {
				alone++
			}
		}
		if found < 93 || float64(inside) < 0.9*float64(found) || alone < 85 {
			t.Errorf("%s: of %d found %d, within its range %d, alone %d", test.name, trials, found, inside, alone)
		}
	}
}

// A small shift between long levels is beyond a window of thirty, and is found at a coarser scale.
func TestSmallShiftOfLongLevels(t *testing.T) {
	got := share(50, func(r *rand.Rand) bool {
		z := normalNoise(r, 2000)
		for i := 1000; i < len(z); i++ {
			z[i] += 0.5
		}
		c := Find(z, Options{}).Changes
		return len(c) == 1 && c[0].First <= 1000 && 1000 <= c[0].Last
	})
	if got < 0.85 {
		t.Errorf("found in %.0f %%", 100*got)
	}
}

func TestDrift(t *testing.T) {
	for _, noisy := range []float64{0.05, 0.3, 1} {
		got := share(50, func(r *rand.Rand) bool {
			z := normalNoise(r, 120)
			for i := range z {
				z[i] = 100 + noisy*z[i] + 5*float64(min(max(i-20, 0), 80))/80
			}
			for _, c := range Find(z, Options{}).Changes {
				if c.Kind == Drift && c.After > c.Before && c.Last-c.First > 30 {
					return true
				}
			}
			return false
		})
		if got < 0.9 {
			t.Errorf("noise %g: a drift is told in %.0f %%", noisy, 100*got)
		}
	}
}

func TestOutlierIsNoShift(t *testing.T) {
	for _, at := range []int{0, 1, 7, 20, 38, 39} {
		z := normalNoise(rand.New(rand.NewSource(3)), 40)
		for i := range z {
			z[i] += 100
		}
		z[at] += 30
		got := Find(z, Options{})
		if len(got.Changes) > 0 || !reflect.DeepEqual(got.Outliers, []int{at}) {
			t.Errorf("at %d: %+v", at, got)
		}
	}
}

func TestFind(t *testing.T) {
	nan := math.NaN()
	repeat := func(n int, values ...float64) (out []float64) {
		for _, v := range values {
			for range n {
				out = append(out, v)
			}
		}
		return out
	}
	for _, test := range []struct {
		name   string
		z      []float64
		effect float64
		want   []int
	}{
		{"nothing", nil, 0, nil},
		{"too few", []float64{1, 9, 9}, 0, nil},
		{"all equal", repeat(50, 32), 0, nil},
		{"a count that changed", repeat(6, 32, 48), 0, []int{6}},
		{"back again", repeat(6, 32, 48, 32), 0, []int{6, 12}},
		{"one at the end is no change yet", append(repeat(10, 32), 48), 0, nil},
		{"two are", append(repeat(10, 32), 48, 48), 0, []int{10}},
		{"under the effect", repeat(6, 100, 101), 0.02, nil},
		{"over it", repeat(6, 100, 103), 0.02, []int{6}},
		{"from nought", repeat(6, 0, 5), 0.02, []int{6}},
		{"holes", []float64{1, nan, 1, 1, 1, math.Inf(1), 1, 5, 5, nan, 5, 5, 5}, 0, []int{7}},
		{"huge numbers", repeat(6, 1e15, 1.1e15), 0, []int{6}},
	} {
		var got []int
		for _, c := range Find(test.z, Options{MinEffect: test.effect}).Changes {
			got = append(got, c.Index)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte{1, 1, 1, 9, 9, 9, 0, 255}, 0.01)
	f.Fuzz(func(t *testing.T, raw []byte, effect float64) {
		z := make([]float64, len(raw))
		for i, b := range raw {
			z[i] = float64(b)
			if b == 255 {
				z[i] = math.MaxFloat64
			}
		}
		before := -1
		for _, c := range Find(z, Options{MinEffect: effect}).Changes {
			if c.First < 0 || c.Last >= len(z) || c.First > c.Last || c.Index < 0 || c.Index >= len(z) ||
				c.Index < before {
				t.Fatalf("%v: %+v", z, c)
			}
			before = c.Index
		}
	})
}
