package writers

import (
	"lacuna/internal/base/unit"
	"testing"
)

// TestTableDigits: rows far shorter than the step are still told apart, and others get no more decimals than the step.
func TestTableDigits(t *testing.T) {
	for _, tt := range []struct {
		stepMs, largestMs float64
		want              string // the largest row
	}{
		{105, 0.258, "0.26"},
		{105, 98.1, "98.1"},
		{10.1, 2.1, "2.10"},
		{5.4, 0.211, "0.211"},
		{2000, 0.0042, "0.0042"},
		{2000, 0, "0"},
	} {
		if got := unit.Fixed(tt.largestMs, unit.TableDigits(tt.stepMs, tt.largestMs)); got != tt.want {
			t.Errorf("%v ms in a step of %v ms: %s, want %s", tt.largestMs, tt.stepMs, got, tt.want)
		}
	}
}
