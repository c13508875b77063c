package measure

import "testing"

func TestKnownNoise(t *testing.T) {
	watched := func(busy float64) []*Run {
		return []*Run{{Tool: "nsys", Measures: []Measure{{Name: "gpu_busy", Samples: []float64{busy}}}}}
	}
	for _, test := range []struct {
		name string
		runs []*Run
		low  float64
		high float64
		runN float64
	}{
		{"step", watched(1), 0.005, 0.02, 50},
		{"step", watched(0.2), 0.05, 0.1, 50}, // waits for its host
		{"idle", watched(1), 0.05, 0.1, 50},
		{"kernel:x", watched(0.2), 0.005, 0.02, 50},
		{"launches", watched(0.2), 0, 0, 1},
		{"kernel:x:registers", []*Run{{Tool: "ncu"}}, 0, 0, 1},
		{"step", []*Run{{}}, 0, 0, 0}, // a program's own clock: nothing is known of it
		{"step", nil, 0, 0, 0},
	} {
		if n := KnownNoise(test.name, test.runs); n.SD < test.low || n.SD > test.high || n.Runs != test.runN {
			t.Errorf("%s: %+v, want %v to %v of %v runs", test.name, n, test.low, test.high, test.runN)
		}
	}
}
