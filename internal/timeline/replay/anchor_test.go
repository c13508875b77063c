package replay

import (
	"fmt"
	"math"
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
	if got := total(p.CriticalPath(r)); math.Abs(got-53_400) > 1 {
		t.Errorf("%.0f ns of the steady step of 53,400 are on its path", got)
	}
	if p := build(t, fills(3)); p.SteadyNs(p.Simulate(Options{})) != p.StepNs(p.Simulate(Options{})) {
		t.Error("two steps tell what is steady")
	}
}

// drains is n steps of 40 µs on the host and 30 µs of work, with a queue of 400 µs when they begin.
func drains(n int) string {
	var b strings.Builder
	for s := range n {
		t := 40_000 * s
		fmt.Fprintf(&b, "step %d+40000\ncall c%d %d+5000 cudaLaunchKernel\nkernel c%d %d+30000 a\n", t, s+1, t+1000, s+1,
			400_000+31_200*s)
	}
	return b.String()
}

// A queue that is worked off while the capture lasts hides that the host is the limit in the long run.
func TestSteadyNsOfADrainingQueue(t *testing.T) {
	p := build(t, drains(8))
	r := p.Simulate(Options{Residuals: p.Residuals()})
	if got := p.StepNs(r); got != 31_200 {
		t.Errorf("mean step %.0f, want 31,200", got)
	}
	if got := p.SteadyNs(r); got != 40_000 {
		t.Errorf("steady step %.0f, want the host's 40,000", got)
	}
	path := p.CriticalPath(r)
	if got := total(path); math.Abs(got-40_000) > 1 || path["compute"] > 0 {
		t.Errorf("%.0f ns of the step of 40,000 are on its path, %v, want the host's all", got, path)
	}
}

func total(path map[string]float64) (ns float64) {
	for _, v := range path {
		ns += v
	}
	return ns
}
