package replay

import (
	"fmt"
	"strings"
	"testing"
)

// fullQueue is n launches of 5 µs, 1 µs apart, of kernels of 20 µs: from the 1,022nd on each returns when a kernel
// starts and makes room.
func fullQueue(n int) string {
	var b strings.Builder
	at := 1000
	for i := range n {
		end := at + 5000
		if i >= defaultQueueDepth {
			end = max(end, 8100+(i-defaultQueueDepth)*21_200)
		}
		fmt.Fprintf(&b, "call c%d %d+%d cudaLaunchKernel\nkernel c%d %d+20000 a\n", i+1, at, end-at, i+1, 8100+i*21_200)
		at = end + 1000
	}
	return b.String()
}

// TestRoomInTheQueue: launches that waited for room are no host work: with faster kernels they do not.
func TestRoomInTheQueue(t *testing.T) {
	p := build(t, fullQueue(4000)) // each kernel is a step; most launches wait
	if got := p.StepNs(p.Simulate(Options{})); got < 21_000 || got > 21_400 {
		t.Errorf("as recorded the step takes %.0f ns, want 21,200", got)
	}
	if got := p.StepNs(p.Simulate(Options{Work: 0.1})); got > 6_200 {
		t.Errorf("with kernels of a tenth the step takes %.0f ns, want the host's 6,000", got)
	}
}
