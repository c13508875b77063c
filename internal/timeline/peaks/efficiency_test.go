package peaks

import (
	"math"
	"testing"

	"lacuna/internal/timeline/model"
)

func TestInterpolate(t *testing.T) {
	points := []point{{1, 0.1}, {4, 0.3}, {16, 0.4}}
	for x, want := range map[float64]float64{0: 0.1, 1: 0.1, 2: 0.2, 4: 0.3, 8: 0.35, 16: 0.4, 1e9: 0.4,
		math.NaN(): 0.1, -1: 0.1} {
		if got := interpolate(x, points); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %g: %g, want %g", x, got, want)
		}
	}
}

// Shares are shares, larger work reaches no less until power is the limit, and what was not measured is less sure.
func TestShares(t *testing.T) {
	for _, p := range All() {
		for _, s := range []Share{p.MatrixShare(4), p.MatrixShare(400), p.VectorShare(4), p.VectorShare(2e3),
			p.AttentionShare(64, false),
			p.AttentionShare(1024, true), p.AttentionShare(1e5, false), p.MemoryShare(), p.HostShare()} {
			if !(0 < s.Low && s.Low < s.Mid && s.Mid < s.High && s.High < 1) {
				t.Errorf("%s: %+v", p.Name, s)
			}
		}
	}
	h200, ok := Find("NVIDIA H200", model.Device{})
	h100, ok2 := Find("NVIDIA H100 80GB HBM3", model.Device{})
	if !ok || !ok2 {
		t.Fatal("no H200 or no H100")
	}
	if a, b := h200.MatrixShare(130), h100.MatrixShare(130); a.Mid != b.Mid || b.Low >= a.Low || b.High <= a.High {
		t.Errorf("H200 %+v, H100 %+v", a, b)
	}
}
