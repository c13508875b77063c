package report

import (
	"fmt"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// Conditions are of the GPUs that work, in the steps that are measured; what is not sampled is not there.
func TestConditions(t *testing.T) {
	trace, err := evtext.Parse(`
step 0us+100us
step 100us+100us
step 200us+100us
step 300us+100us
call c1 5us+5us cudaLaunchKernel
kernel c1 12us+80us gemm
call c2 105us+5us cudaLaunchKernel
kernel c2 112us+80us gemm
call c3 205us+5us cudaLaunchKernel
kernel c3 212us+80us gemm
call c4 305us+5us cudaLaunchKernel
kernel c4 312us+80us gemm
track 1 d0 unit=MHz SM clock
track 2 d0 unit=W power
track 3 d0 throttle: power cap
track 4 d0 throttle: heat
track 5 d1 unit=W power
track 6 d0 unit=W other power
counter track=1 20us value=1500
counter track=1 120us value=1700
counter track=1 220us value=1600
counter track=1 900us value=300
counter track=2 120us value=690
counter track=3 20us value=1
counter track=3 120us value=1
counter track=3 220us value=0
counter track=4 20us value=0
counter track=5 120us value=70
counter track=6 120us value=1
`)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Measures(facts.Of(trace))
	if err != nil {
		t.Fatal(err)
	}
	want := "[{power_w 690 690 690 } {sm_mhz 1500 1600 1700 } {throttle 0 0 0.6666666666666666 power cap in 67 % " +
		"of the samples}]"
	if got := fmt.Sprint(run.Conditions); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
