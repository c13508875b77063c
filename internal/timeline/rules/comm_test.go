package rules

import (
	"slices"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// TestCommBytes takes the size that a communication library gives, else that of the framework's elements.
func TestCommBytes(t *testing.T) {
	trace, err := evtext.Parse(`
collective 1 inbytes=4096 outbytes=32768 groupsize=8 all_gather
collective 2 inelems=1000 dtype=BFloat16 allreduce
collective 3 group=0xff allreduce
call c1 0us+2us cudaLaunchKernel
call c2 3us+2us cudaLaunchKernel
call c3 6us+2us cudaLaunchKernel
call c4 9us+2us cudaLaunchKernel
kernel s20 c1 collective=1 10us+5us ncclDevKernel_AllGather_RING_LL
kernel s20 c2 collective=2 20us+5us ncclDevKernel_AllReduce_Sum_bf16_RING_LL
kernel s20 c3 collective=3 30us+5us ncclDevKernel_AllReduce_Sum_f32_RING_LL
kernel s20 c4 40us+5us ncclDevKernel_AllReduce_Sum_f32_RING_LL
`)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Of(trace)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	c := NewCase(f, steps)
	var got []int64
	for row := range c.work().Len() {
		got = append(got, c.commBytes(int32(row)))
	}
	if want := []int64{4096, 2000, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("bytes %v, want %v", got, want)
	}
}
