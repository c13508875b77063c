package report

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// ncu is asked to skip what runs before the first steady step and to stop when each hot kernel was launched once;
// communication, which hangs under ncu, is not asked for, and names are patterns only as far as they say.
func TestInside(t *testing.T) {
	var b strings.Builder
	c := 0
	launch := func(at, ns int, name string) {
		c++
		fmt.Fprintf(&b, "call c%d %d+500 cudaLaunchKernel\nkernel c%d grid=8x1x1 block=32x1x1 %d+%d %q\n", c, at, c,
			at+1000, ns, name)
	}
	for i := range 5 { // before the first marker
		launch(-1_000_000+i*100_000, 50_000, "void ns::gemm<(int)4>(float*)")
	}
	for i := range 3 {
		at := i * 1_000_000
		fmt.Fprintf(&b, "step %d+1000000\n", at)
		launch(at, 300_000, "void ns::gemm<(int)4>(float*)")
		launch(at+305_000, 5_000, "tiny(int)")
		launch(at+320_000, 200_000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
		launch(at+530_000, 100_000, "void ns::gemm<(int)4>(float*)")
		launch(at+640_000, 200_000, "softmax(float*, int)")
		launch(at+845_000, 150_000, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NTN") // a library's
	}
	trace, err := evtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{}, unjudged)
	if err != nil {
		t.Fatal(err)
	}
	x := r.Inside
	if x == nil {
		t.Fatal("nothing is hot")
	}
	if strings.Join(x.Kernels, " ") != "gemm softmax" || x.Skip != 5 || x.Count != 3 {
		t.Errorf("kernels %v, skip %d, count %d; want gemm softmax, 5, 3", x.Kernels, x.Skip, x.Count)
	}
	if want := "ncu --set full --import-source yes --kernel-name 'regex:^(gemm|softmax)$' --launch-skip 5 " +
		"--launch-count 3 -o kernels"; x.Command != want {
		t.Errorf("command is %s\nwant       %s", x.Command, want)
	}
}
