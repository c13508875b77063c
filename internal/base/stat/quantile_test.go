package stat

import "testing"

// The values are NumPy's.
func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		sorted []float64
		q      float64
		want   float64
	}{
		{nil, 0.5, 0},
		{[]float64{7}, 0.9, 7},
		{[]float64{1, 2, 3, 4}, 0.5, 2.5},
		{[]float64{1, 2, 3, 4}, 0.25, 1.75},
		{[]float64{1, 2, 3, 4, 10}, 0.9, 7.6},
		{[]float64{1, 2, 3}, 0, 1},
		{[]float64{1, 2, 3}, 1, 3},
	} {
		if got := Quantile(test.sorted, test.q); got < test.want-1e-12 || got > test.want+1e-12 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", test.sorted, test.q, got, test.want)
		}
	}
}
