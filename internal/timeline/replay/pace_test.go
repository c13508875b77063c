package replay

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// launches is two steps of n launches each, of which every eighth takes fastNs and the others usualNs.
func launches(n, fastNs, usualNs int) string {
	var b strings.Builder
	for i := range 2 * n {
		if i%n == 0 {
			fmt.Fprintf(&b, "step %d+%d\n", i*max(50_000, usualNs), n*max(50_000, usualNs))
		}
		dur := usualNs
		if i%8 == 0 {
			dur = fastNs
		}
		at := i*max(50_000, usualNs) + 1000
		fmt.Fprintf(&b, "call c%d %d+%d cudaLaunchKernel\nkernel c%d %d+5000 a\n", i+1, at, dur, i+1, at+dur+2100)
	}
	return b.String()
}

func TestPace(t *testing.T) {
	for _, c := range []struct {
		what            string
		n, fast, usual  int
		cost, mid, best float64
	}{
		{"as usual", 40, usualFastNs, usualLaunchNs, 1, 1, 1},
		{"too few to say", 10, 9000, 9000, 1, 1, 1},
		{"a slow host", 40, 2 * usualFastNs, 2 * usualLaunchNs, math.Sqrt2, math.Pow(maxPace, -ownPace), 1 / maxPace},
		{"disturbed", 40, usualFastNs, 1.25 * usualLaunchNs, math.Pow(1.25, costPace), 1 / 1.25, 1 / 1.25},
	} {
		p := build(t, launches(c.n, c.fast, c.usual))
		if got := p.Pace; math.Abs(got.Cost-c.cost) > 1e-3 || math.Abs(got.Mid-c.mid) > 1e-3 ||
			math.Abs(got.Fast-c.best) > 1e-3 {
			t.Errorf("%s: %+v, want cost %.3f, middle %.3f, at best %.3f", c.what, got, c.cost, c.mid, c.best)
		}
	}
}

// TestCostSpread: the more the profiler's cost is in doubt, because launches took longer than usual, the wider the
// range of the step without it.
func TestCostSpread(t *testing.T) {
	const tool = "tool call=2000 other=700 node=200 spread=0.1 minshare=0.01 lacuna record\n"
	p := build(t, tool+launches(40, usualFastNs, usualLaunchNs))
	sure := NewPricer(p).Now()
	p.Pace.CostSpread = 2
	if now := NewPricer(p).Now(); now.Ns != sure.Ns || now.LowNs >= sure.LowNs || now.HighNs <= sure.HighNs {
		t.Errorf("twice or half the cost: %+v; as usual: %+v", now, sure)
	}
}

// A launch that takes milliseconds loads a module: it is no faster or slower than it was, whatever the pace of others.
func TestPaceOfLongLaunches(t *testing.T) {
	p := build(t, launches(40, 5_000_000, 5_000_000))
	if got := p.StepNs(p.Simulate(Options{Pace: 1.2})) / p.StepNs(p.Simulate(Options{})); got != 1 {
		t.Errorf("launches of 5 ms take %.2f times as long on a host that is slow at short ones", got)
	}
}
