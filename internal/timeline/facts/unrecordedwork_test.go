package facts

import "testing"

func TestUnrecordedWork(t *testing.T) {
	for _, test := range []struct {
		name, events string
		want         Unrecorded
	}{
		{"kernels were recorded", "call c1 0+10 cudaLaunchKernel\nkernel c1 20+10 gemm\ncall c2 40+10 cudaLaunchKernel\n",
			Unrecorded{}},
		{"none were", "call 0+10 cudaLaunchKernel\ncall 20+10 cudaGraphLaunch\ncall 40+10 cudaMalloc\n",
			Unrecorded{Launches: 2}},
		{"launches that failed run nothing", "call return=98 0+10 cudaLaunchKernel\n", Unrecorded{}},
		{"launches into a graph run nothing", "call 0+1 cudaStreamBeginCapture\ncall 2+1 cudaLaunchKernel\n" +
			"call 4+1 cudaStreamEndCapture\n", Unrecorded{}},
		{"a copy was staged", "call 0us+2500us cudaMemcpyAsync\ncall 3000us+5us cudaMemcpyAsync\n",
			Unrecorded{WaitNs: 2_500_000}},
		{"the host waited", "call 0us+2500us cudaDeviceSynchronize\n", Unrecorded{WaitNs: 2_500_000}},
		{"the host did not have to wait", "call 0us+25us cudaDeviceSynchronize\n", Unrecorded{}},
	} {
		if got := of(t, test.events).Unrecorded(); got != test.want || got.Any() != (test.want != Unrecorded{}) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
