package stat

import (
	"math"
	"testing"
)

// TestFitPlane: a plane through points that lie on one is that plane, and what scatters around it widens its bounds.
func TestFitPlane(t *testing.T) {
	var x [][]float64
	var exact, noisy []float64
	for i := range 20 {
		a, b := float64(i), float64(i*i%7)
		x = append(x, []float64{a, b})
		exact = append(exact, 5+2*a-3*b)
		noisy = append(noisy, 5+2*a-3*b+float64(i%2*2-1))
	}
	p := FitPlane(x, exact)
	if got, want := p.At([]float64{30, 2}), 59.0; math.Abs(got-want) > 1e-9 || p.R2 < 1-1e-12 || p.Sigma > 1e-9 {
		t.Errorf("at (30, 2): %v, want %v; %+v", got, want, p)
	}
	p = FitPlane(x, noisy)
	near, far := p.Within([]float64{10, 3}), p.Within([]float64{40, 3})
	// 17 degrees of freedom: Student's t is 1.74 at 0.95, and the values lie 1 from the plane
	if near < 1.7 || near > 2.2 || far < 1.2*near {
		t.Errorf("bounds of %v near the points and %v far from them", near, far)
	}
	if p.R2 > 0.999 || p.R2 < 0.98 {
		t.Errorf("explains %v of the variance", p.R2)
	}
}

// TestNoPlane: points that do not tell the quantities apart have no plane.
func TestNoPlane(t *testing.T) {
	y := []float64{1, 2, 3, 4, 5}
	for name, x := range map[string][][]float64{
		"one value": {{2}, {2}, {2}, {2}, {2}},
		"together":  {{1, 500}, {2, 1000}, {3, 1500}, {4, 2000}, {5, 2500}},
	} {
		if p := FitPlane(x, y); p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if FitPlane([][]float64{{1}, {2}}, y[:2]) != nil || FitPlane(nil, nil) != nil {
		t.Error("too few points have a plane")
	}
}
