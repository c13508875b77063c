package stat

import (
	"math"
	"testing"
)

// The bounds are those of Garwood's table.
func TestRateBounds(t *testing.T) {
	for _, test := range []struct {
		n         int
		low, high float64
	}{{0, 0, 2.996}, {1, 0.051, 4.744}, {2, 0.355, 6.296}, {10, 5.425, 16.962}} {
		if low, high := RateBounds(test.n); math.Abs(low-test.low) > 0.001 || math.Abs(high-test.high) > 0.001 {
			t.Errorf("%d: %.3f to %.3f, want %.3f to %.3f", test.n, low, high, test.low, test.high)
		}
	}
}
