package peaks

import (
	"math"
	"testing"

	"lacuna/internal/timeline/model"
)

func TestFP64Share(t *testing.T) {
	for _, test := range []struct {
		name  string
		dev   model.Device
		share float64
		ok    bool
	}{
		{"NVIDIA A100-SXM4-40GB", model.Device{SMs: 108}, 0.497, true},
		{"NVIDIA GeForce RTX 4090", model.Device{}, 1. / 64, true},
		{"a laptop's", model.Device{ComputeMajor: 8, ComputeMinor: 9, SMs: 20}, 1. / 64, true},
		{"a laptop's", model.Device{ComputeMajor: 7, ComputeMinor: 5}, 1. / 32, true},
		{"a laptop's", model.Device{}, 0, false},
	} {
		share, source, ok := FP64Share(test.name, test.dev)
		if math.Abs(share-test.share) > 1e-3 || ok != test.ok || ok == (source == "") {
			t.Errorf("FP64Share(%q, %+v) = %.4f, %q, %v; want %.4f, %v", test.name, test.dev, share, source, ok, test.share,
				test.ok)
		}
	}
}
