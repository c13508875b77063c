package replay

import (
	"fmt"
	"strings"
	"testing"
)

// TestWorkWithoutACallGoesWithItsDevice: pages migrate beside a kernel, whenever the host comes to launch it. At the
// time that was recorded, they would end a step that begins earlier, and make it longer.
func TestWorkWithoutACallGoesWithItsDevice(t *testing.T) {
	p := build(t, `call 1000+1000 cudaMalloc
call c1 500000+5000 cudaLaunchKernel
kernel c1 s7 508100+90000 a
copy HtoD managed->device s9 550000+50000 bytes=4096
`)
	if got := p.StepNs(p.Simulate(Options{Host: 0.5})); got != 91_900 {
		t.Errorf("with a host twice as fast the step takes %.0f ns, want 91,900 as before", got)
	}
}

// TestAThreadBeginsBehindTheOthers: a thread that begins in the middle of the program does so when that has come there,
// not at the clock's time.
func TestAThreadBeginsBehindTheOthers(t *testing.T) {
	p := build(t, `thread 1 p1 tid=1 main
thread 2 p1 tid=2 other
call t1 1000+1000 cudaMalloc
call t1 c1 404000+5000 cudaLaunchKernel
call t2 c2 402000+5000 cudaLaunchKernel
kernel c1 s7 461300+90000 a
kernel c2 s7 410100+50000 a
`)
	r := p.Simulate(Options{Host: 0.5})
	if got := r.CallEnd[1]; got != 1000+500+200_000+2500 {
		t.Errorf("the other thread's launch returns at %d, want 204,000", got)
	}
}

// TestQueuesOfDevices: how much may be issued ahead is of a device. A host thread that is far behind on another device
// holds up nobody.
func TestQueuesOfDevices(t *testing.T) {
	var b strings.Builder
	b.WriteString("device 0 sms=132 NVIDIA H200\ndevice 1 sms=132 NVIDIA H200\nthread 1 p1 tid=1 main\n" +
		"thread 2 p1 tid=2 other\n")
	for i := range 2000 { // device 1's kernels take 1 ms each, device 0's 5 µs
		at := 1000 + i*20_000
		fmt.Fprintf(&b, "call t1 c%d %d+5000 cudaLaunchKernel\nkernel d0 c%d %d+5000 a\n", 2*i+1, at, 2*i+1, at+7100)
		if i < 900 {
			fmt.Fprintf(&b, "call t2 c%d %d+5000 cudaLaunchKernel\nkernel d1 c%d %d+1000000 b\n", 2*i+2, at+8000, 2*i+2,
				at+15_100+i*1_000_000)
		}
	}
	p := build(t, b.String())
	r := p.Simulate(Options{})
	for i, ns := range r.blocked {
		if ns > 0 {
			t.Fatalf("%s at %d waits %d ns for room", p.CallName(int32(i)), p.Calls[i].StartNs, ns)
		}
	}
}

// TestAnchorThatMayGo: where the kernel that begins a step goes at best, the step still begins where it would have.
func TestAnchorThatMayGo(t *testing.T) {
	p := build(t, `step 1000000+100000
step 1100000+100000
call c1 1001000+5000 cudaLaunchKernel
call c2 1101000+5000 cudaLaunchKernel
kernel c1 1008100+50000 a
kernel c2 1108100+50000 a
`)
	e := p.Edit()
	e.Calls[0].Unsure = true
	if got := e.StepNs(e.Simulate(Options{Corner: -1})); got < 90_000 || got > 110_000 {
		t.Errorf("at best the step takes %.0f ns, want about 100,000", got)
	}
}
