package replay

import (
	"strings"
	"testing"
)

// TestWaitsEndWithTheWork: a wait of the host ends when the work does that it waits for, however it is known which
// one that is. As host work it would last as long as recorded: a faster GPU would gain nothing.
func TestWaitsEndWithTheWork(t *testing.T) {
	const loop = `stream 7
stream 9
thread 1 p1 tid=1 main
thread 2 p1 tid=2 other
thread 3 p1 tid=3 third
step 0+100000
step 100000+100000
call t1 c1 1000+5000 cudaLaunchKernel
call t1 c2 7000+1000 cudaEventRecord
call t2 c5 1000+5000 cudaLaunchKernel
call t1 c4 101000+5000 cudaLaunchKernel
kernel s7 c1 8100+50000 a
kernel s9 c5 8100+52000 b
kernel s7 c4 108100+50000 a
`
	told := map[string]string{
		"an event whose record is told": "call t1 c3 9000+52100 cudaEventSynchronize\nevent s7 c2 syncid=1 7000\n" +
			"sync event c3 syncid=1 9000+52100\n",
		"an event that is told": "call t1 c3 9000+52100 cudaEventSynchronize\nevent s7 c2 event=5 7000\n" +
			"sync event c3 event=5 9000+52100\n",
		"an event of which nothing is told": "call t1 c3 9000+52100 cudaEventSynchronize\n",
		"a stream of which nothing is told": "call t3 c3 9000+52100 cudaStreamSynchronize\n",
	}
	for name, wait := range told {
		p := build(t, loop+wait)
		want := 75_000.0
		if strings.HasSuffix(name, "nothing is told") {
			want = 76_000 // the kernel that ended last before the call returned, of 52,000 ns
		}
		if got := p.StepNs(p.Simulate(Options{Work: 0.5})); got != want {
			t.Errorf("%s: kernels of half of the 50,000 ns make a step of %.0f ns, want %.0f", name, got, want)
		}
	}
}

// TestWaitsForWorkThatEndedLongBefore: a call that returns long after all work had ended did not wait for it.
func TestWaitsForWorkThatEndedLongBefore(t *testing.T) {
	p := build(t, `step 0+100000
step 100000+100000
call c1 1000+5000 cudaLaunchKernel
call c3 9000+80000 cudaEventSynchronize
call c4 101000+5000 cudaLaunchKernel
kernel c1 8100+20000 a
kernel c4 108100+20000 a
`)
	if got := p.StepNs(p.Simulate(Options{Work: 0.5})); got != 100_000 {
		t.Errorf("the step takes %.0f ns with faster kernels, want 100,000", got)
	}
}
