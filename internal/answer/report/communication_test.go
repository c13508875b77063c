package report

import (
	"math"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// TestCommunication: groups sum to the exposed communication of the budget, and carry sizes, rates and waits.
func TestCommunication(t *testing.T) {
	trace, err := evtext.Parse(`
collective 1 group=3 groupdesc=TP ranks=[0,1] groupsize=2 inelems=1000000 outelems=1000000 dtype=BFloat16 allreduce
collective 2 group=7 ranks=[0,8,16,24] groupsize=4 inelems=400 outelems=100 dtype=Float reduce_scatter
step 0us+1000us
call c1 1us+1us cudaLaunchKernel
call c2 3us+1us cudaLaunchKernel
call c3 5us+1us cudaLaunchKernel
kernel s7 c1 100us+200us gemm
kernel s20 c2 collective=1 250us+150us ncclDevKernel_AllReduce_Sum_bf16_RING_LL
kernel s21 c3 collective=2 380us+60us ncclDevKernel_ReduceScatter_Sum_f32_RING_LL
`)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Of(trace)
	waits := func() (Judged, error) { return Judged{CommWaitNs: map[int32]int64{1: 40_000}}, nil }
	r, err := Build([]*facts.Facts{f}, Options{}, waits)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Communication) != 2 {
		t.Fatalf("%d groups", len(r.Communication))
	}
	tp, dp := r.Communication[0], r.Communication[1]
	if sum := tp.ExposedMs + dp.ExposedMs; math.Abs(sum-r.Budget.CommExposed) > 1e-9 {
		t.Errorf("groups expose %g ms, the budget says %g", sum, r.Budget.CommExposed)
	}
	if tp.Group != "TP" || dp.Group != "7" || tp.WaitMs == nil || math.Abs(*tp.WaitMs-0.04) > 1e-9 || *dp.WaitMs != 0 {
		t.Errorf("groups %+v %+v", tp, dp)
	}
	// 2 MB in the 110 of 150 µs in which nobody is waited for, among two ranks: 2 * 1/2 * 18.2 GB/s
	if op := tp.Operations[0]; op.Name != "all-reduce" || op.MBPerCall != 2 || math.Abs(op.BusGBs-18.18) > 0.01 {
		t.Errorf("operation %+v", op)
	}
	r, err = Build([]*facts.Facts{f}, Options{}, unjudged)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Communication[0]; c.WaitMs != nil || math.Abs(c.Operations[0].BusGBs-13.33) > 0.01 {
		t.Errorf("without other ranks: %+v", c)
	}
}
