package replay

import "testing"

// A replay that explains nothing makes a range wide, and no estimate shorter than no time at all.
func TestRangeIsNotBelowZero(t *testing.T) {
	k := &Pricer{SelfError: 5}
	if r := k.rangeOf([corners]float64{best: 10, well: 9, badly: 12}, 0.1); r.LowNs < 0 || r.HighNs < 20 {
		t.Errorf("%.0f to %.0f, want 0 to 20 or more", r.LowNs, r.HighNs)
	}
}
