package changes

import "testing"

// TestOrderIsKeptOfWhatWasWaitedFor: without a host's wait for one stream, what the thread issues behind it to another
// waits for that stream, and not for what other threads have issued meanwhile.
func TestOrderIsKeptOfWhatWasWaitedFor(t *testing.T) {
	for name, wait := range map[string]string{
		"a stream": "call t1 c2 9000+42100 cudaStreamSynchronize\nsync stream s9 c2 9000+42100\n",
		"an event": "call t1 c3 7000+1000 cudaEventRecord\nevent s9 c3 syncid=1 7000\n" +
			"call t1 c2 9000+42100 cudaEventSynchronize\nsync event c2 syncid=1 9000+42100\n",
		"a copy": "call t1 c2 9000+54100 cudaMemcpy\ncopy DtoH device->pageable s9 c2 bytes=8 50000+1000\n",
	} {
		p := build(t, `stream 7
stream 9
stream 10
thread 1 p1 tid=1 main
thread 2 p1 tid=2 other
step 0+200000
step 200000+200000
call t1 c1 1000+5000 cudaLaunchKernel
call t2 c5 2000+5000 cudaLaunchKernel
call t1 c4 70000+5000 cudaLaunchKernel
call t1 c6 201000+5000 cudaLaunchKernel
kernel s9 c1 8100+40000 awaited
kernel s7 c5 9100+90000 of_another_thread
kernel s10 c4 77100+5000 behind
kernel s9 c6 208100+5000 awaited
`+wait)
		e := p.Edit()
		if n, err := dropSyncs.Apply(e, ""); n != 1 {
			t.Fatalf("%s: %d waits dropped, %v, want 1", name, n, err)
		}
		for i := range e.Works {
			if e.WorkName(int32(i)) != "behind" {
				continue
			}
			if k := e.Works[i].Needs; k < 0 || e.WorkName(k) != "awaited" {
				t.Errorf("%s: what is issued behind waits for work %d, want the kernel that the host waited for", name, k)
			}
		}
	}
}
