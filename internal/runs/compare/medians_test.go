package compare

import "testing"

// A change between means that the medians beside it contradict is named; one that is only rounded is not.
func TestMedianPct(t *testing.T) {
	low, high, change := -3.0, 1.0, -1.0
	for _, test := range []struct {
		after float64
		apart bool
	}{{99, false}, {99.3, false}, {101.2, true}, {96, true}, {100.9, false}} {
		c := Change{Before: 100, After: test.after, ChangePct: &change, LowPct: &low, HighPct: &high, LimitPct: 2}
		if pct, apart := c.MedianPct(); apart != test.apart || pct-(test.after-100) > 1e-9 {
			t.Errorf("medians 100 and %v: %v, %v", test.after, pct, apart)
		}
	}
	if _, apart := (&Change{After: 3}).MedianPct(); apart {
		t.Error("a change from nothing has no percentage")
	}
}
