package facts_test

import (
	"maps"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// TestIdleInLongCalls: a call of a millisecond does not launch, whatever its kind is; it is told by name, as far as the
// device waits for it. A short launch, a synchronisation and an allocation are told by their kinds.
func TestIdleInLongCalls(t *testing.T) {
	const us = "000"
	for name, test := range map[string]struct {
		events string
		want   map[string]int64
	}{
		"stream creation": {`
			call c1 0+10` + us + ` cudaLaunchKernel
			kernel c1 12` + us + `+5` + us + ` a
			call 20` + us + `+2000` + us + ` cudaStreamCreateWithFlags
			call c2 2030` + us + `+10` + us + ` cudaLaunchKernel
			kernel c2 2042` + us + `+5` + us + ` a`, map[string]int64{"cudaStreamCreateWithFlags": 2_000_000}},
		"a first launch, whose device is busy for half of it": {`
			call c1 0+10` + us + ` cudaLaunchKernel
			kernel c1 12` + us + `+508` + us + ` a
			call c2 20` + us + `+1000` + us + ` cudaLaunchKernel_v7000
			kernel c2 1022` + us + `+5` + us + ` b`, map[string]int64{"cudaLaunchKernel": 500_000}},
		"kinds of their own": {`
			call c1 0+10` + us + ` cudaLaunchKernel
			kernel c1 12` + us + `+5` + us + ` a
			call 20` + us + `+2000` + us + ` cudaMalloc
			call 2030` + us + `+2000` + us + ` cudaDeviceSynchronize
			call c2 4040` + us + `+900` + us + ` cudaLaunchKernel
			kernel c2 4942` + us + `+5` + us + ` a`, map[string]int64{}},
	} {
		trace, err := evtext.Parse(test.events)
		if err != nil {
			t.Fatal(err)
		}
		f := facts.Of(trace)
		steps, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.IdleInLongCalls(f.Idleness(steps.Window())[0].Gaps); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
