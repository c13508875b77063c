package kernel

import (
	"math"
	"testing"
)

// What the code says of waiting is what the counter measures, in optimised kernels from Volta to Blackwell; none of
// them waits as a debug build does.
func TestFixedWait(t *testing.T) {
	reports, both := corpusReports(t), 0
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			wait, ok := k.FixedWait()
			if !ok {
				continue
			}
			if wait > 4.5 {
				t.Errorf("%s %s: waits %.1f cycles", name, k.Launch.Base, wait)
			}
			code := Of(k.Launch)
			code.stalls.made = true // as if no stall reasons were collected
			if static, ok := code.FixedWait(); ok && code.Code().Counts("inst_executed") != nil {
				both++
				if math.Abs(static-wait) > 1.2 {
					t.Errorf("%s %s: %.2f cycles by the code, %.2f measured", name, k.Launch.Base, static, wait)
				}
			}
		}
	}
	if both < 30 {
		t.Errorf("%d kernels with both", both)
	}
}
