package replay

import (
	"math"
	"testing"
)

// pair is two kernels of 100 µs on two streams, launched at once, that fill a and b of 100 multiprocessors.
const pair = `device 0 sms=100 Some Card
step 0+300000
step 300000+300000
call c1 1000+0 cudaLaunchKernel
call c2 1000+0 cudaLaunchKernel
call c3 301000+0 cudaLaunchKernel
kernel c3 s7 grid=1x1x1 303100+1000 next
`

func TestContention(t *testing.T) {
	for _, test := range []struct {
		name, kernels string
		want          [2]float64 // when they end, in µs from 3.1 on, where they start
	}{
		{"they fit", "kernel c1 s7 grid=50x1x1 3100+100000 a\nkernel c2 s9 grid=50x1x1 3100+100000 b\n",
			[2]float64{100, 100}},
		{"recorded together they have slowed each other already",
			"kernel c1 s7 grid=100x1x1 3100+150000 a\nkernel c2 s9 grid=100x1x1 3100+150000 b\n", [2]float64{150, 150}},
		// Recorded one behind the other, they are put together below: each runs at 1/1.5.
		{"together for the first time", "kernel c1 s7 grid=100x1x1 3100+100000 a\nkernel c2 s9 grid=100x1x1 " +
			"103100+100000 b\n", [2]float64{150, 150}},
		// The second is half as long: both run at 2/3 until it ends at 75, then the first alone: 75 + 50.
		{"one is longer", "kernel c1 s7 grid=100x1x1 3100+100000 a\nkernel c2 s9 grid=100x1x1 103100+50000 b\n",
			[2]float64{125, 75}},
		// 1.5 devices are asked for: each runs at 1/1.25.
		{"one fills half", "kernel c1 s7 grid=100x1x1 3100+100000 a\nkernel c2 s9 grid=50x1x1 103100+100000 b\n",
			[2]float64{125, 125}},
	} {
		e := build(t, pair+test.kernels).Edit()
		e.Contend()
		r := e.Simulate(Options{})
		for i := range e.Works {
			for k, name := range []string{"a", "b"} {
				if got := float64(r.WorkEnd[i]-3100) / 1e3; e.WorkName(int32(i)) == name &&
					math.Abs(got-test.want[k]) > 0.5 {
					t.Errorf("%s: %s ends after %.2f µs, want %.0f", test.name, name, got, test.want[k])
				}
			}
		}
	}
}
