package replay

import (
	"fmt"
	"strings"
	"testing"
)

// fills is n steps of 40 µs on the host, 52.2 µs of work and two pauses: the first begins with an empty queue.
func fills(n int) string {
	var b strings.Builder
	end := 0
	for s := range n {
		t := 40_000 * s
		fmt.Fprintf(&b, "step %d+40000\ncall c%d %d+5000 cudaLaunchKernel\ncall c%d %d+5000 cudaLaunchKernel\n", t,
			2*s+1, t+1000, 2*s+2, t+31_000)
		for k, w := range []struct {
			at, dur int
		}{{t + 8100, 1000}, {t + 38_100, 50_000}} {
			at := w.at
			if end > 0 {
				at = max(at, end+1200)
			}
			fmt.Fprintf(&b, "kernel c%d %d+%d k%d\n", 2*s+1+k, at, w.dur, k)
			end = at + w.dur
		}
	}
	return b.String()
}

// Steps: 81.2 µs while the queue fills, then 53.4 (1 + 50 and two pauses of 1.2).
func TestSteadyNs(t *testing.T) {
	p := build(t, fills(5))
	r := p.Simulate(Options{})
	if got := p.StepNs(r); got != (81_200+3*53_400)/4.0 {
		t.Errorf("mean step %.0f", got)
	}
	if got := p.SteadyNs(r); got != 53_400 {
		t.Errorf("steady step %.0f, want 53400", got)
	}
	if p := build(t, fills(3)); p.SteadyNs(p.Simulate(Options{})) != p.StepNs(p.Simulate(Options{})) {
		t.Error("two steps tell what is steady")
	}
}
