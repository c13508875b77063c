package replay

import (
	"strings"
	"testing"
)

// What the tool says that it did itself on a launching thread is taken out, wherever on it that was; what the driver
// did, what another thread did, and what was done while the host waited anyway, is not.
func TestToolWork(t *testing.T) {
	const plain = `tool call=2300 other=700 node=200 spread=0.5 minshare=0.07 lacuna record
step 0+1000000
step 1000000+1000000
step 2000000+1000000
call c1 100000+10000 cudaLaunchKernel
call c2 700000+10000 cudaLaunchKernel
call 720000+200000 cudaDeviceSynchronize
call c3 1100000+10000 cudaLaunchKernel
call c4 1700000+10000 cudaLaunchKernel
call 1720000+200000 cudaDeviceSynchronize
call c5 2100000+10000 cudaLaunchKernel
call c6 2700000+10000 cudaLaunchKernel
call 2720000+200000 cudaDeviceSynchronize
kernel c1 115000+5000 a
kernel c2 715000+200000 b
kernel c3 1115000+5000 a
kernel c4 1715000+200000 b
kernel c5 2115000+5000 a
kernel c6 2715000+200000 b
`
	long := strings.Replace(plain, "call c3 1100000+10000", "call c3 1100000+410000", 1)
	long = strings.Replace(long, "kernel c3 1115000+5000", "kernel c3 1515000+5000", 1)
	for _, test := range []struct {
		name, events, row string
		lessNs            int64 // than without the row
	}{
		{"in a launch", long, "overhead 1105000+400000 activity buffer request\n", 400_000},
		{"two, one within the other", long, "overhead 1105000+400000 CUDA profiling data flush\noverhead " +
			"1110000+300000 TLS allocation\n", 400_000},
		{"between two calls", plain, "overhead 1200000+300000 CUPTI buffer flush\n", 300_000},
		{"the driver's own", long, "overhead 1105000+400000 command buffer full\n", 0},
		{"loading", long, "overhead 1105000+400000 Lazy Function Loading\n", 0},
		{"another thread's", long, "thread 2 tid=2\noverhead t2 1105000+400000 activity buffer request\n", 0},
		{"while the host waits", plain, "overhead 1730000+150000 CUPTI buffer flush\n", 0},
		{"outside of the steps", plain, "overhead 9000000+400000 activity buffer request\n", 0},
	} {
		if got := deflated(t, test.events) - deflated(t, test.events+test.row); got < test.lessNs-2000 ||
			got > test.lessNs+2000 {
			t.Errorf("%s: %d ns less in all, want %d", test.name, got, test.lessNs)
		}
	}
}

// deflated is when the last call of a capture ends without the profiler.
func deflated(t *testing.T, events string) int64 {
	t.Helper()
	p := build(t, events)
	return p.Simulate(Options{Deflate: 1}).CallEnd[len(p.Calls)-1]
}
