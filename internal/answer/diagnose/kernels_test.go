package diagnose

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/kernel/kernelreport"
	"lacuna/internal/timeline/facts"
)

// bound is a loop of n steps of 1 ms that the GPU bounds: a kernel of 600 µs, one of 390 µs in two sizes, one of 10 µs.
func bound(n int) string {
	var b strings.Builder
	b.WriteString("device 0 \"NVIDIA H200\"\n")
	c := 0
	for i := range n {
		at := i * 1_010_000
		fmt.Fprintf(&b, "step %d+1010000\n", at)
		for j, k := range []struct {
			at, ns int
			name   string
			grid   int
		}{{0, 600_000, "void big<(int)4>(float *)", 100}, {600_000, 300_000, "mid(float*, int)", 64},
			{900_000, 90_000, "mid(float*, int)", 8}, {990_000, 10_000, "tiny(int)", 1}} {
			c++ // the host waits for all of it below
			fmt.Fprintf(&b, "call c%d %d+1000 cudaLaunchKernel\nkernel c%d grid=%dx1x1 block=256x1x1 %d+%d %q\n", c,
				at+1000*j, c, k.grid, at+5_000+k.at, k.ns, k.name)
		}
		fmt.Fprintf(&b, "call %d+1000000 cudaDeviceSynchronize\n", at+6_000)
	}
	return b.String()
}

// reportOf is a kernel report as ncu's would be: times of its own, ratios that count.
func reportOf(device string, kernels ...kernelreport.Kernel) *kernelreport.Report {
	return &kernelreport.Report{Inputs: []kernelreport.Input{{Path: "k.ncu-rep"}},
		Device: kernelreport.Device{Name: device}, Kernels: kernels}
}

func measured(name string, grid uint32, us, predicted, low, high float64) kernelreport.Kernel {
	k := kernelreport.Kernel{Name: name, Base: name, Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{256, 1, 1},
		DurationUs: &us, Class: "memory:l1"}
	if predicted > 0 {
		k.Findings = []kernelreport.Finding{{Rule: "missing_tiling", Title: "it reads twice", Confidence: 0.9,
			PredictedUs: predicted, LowUs: low, HighUs: high}}
	}
	return k
}

func joined(t *testing.T, events string, k *kernelreport.Report) *report.Report {
	t.Helper()
	return reportOn(t, []*facts.Facts{of(t, events)}, 0, k)
}

// A kernel is worth what it takes of the step: the one that could be ten times as fast but takes a hundredth comes
// last.
func TestKernelsInAStep(t *testing.T) {
	r := joined(t, bound(8), reportOf("NVIDIA H200",
		measured("tiny(int)", 1, 10, 1, 1, 2),
		measured("big<4>(float*)", 100, 1200, 600, 400, 800), // another clock: its ratio counts
		measured("mid(float *, int)", 64, 300, 150, 150, 300),
		measured("elsewhere(int)", 1, 5, 0, 0, 0)))
	var order []string
	for _, k := range r.Kernels {
		order = append(order, k.Name)
	}
	if got := strings.Join(order, "; "); got != "void big<(int)4>(float *); mid(float*, int); tiny(int)" {
		t.Fatalf("order is %s", got)
	}
	for i, want := range []struct {
		gain, low, high float64 // ms of a step of 1
		sameSize        float64
	}{{0.300, 0.200, 0.400, 1}, {0.150, 0, 0.150, 300. / 390}, {0.009, 0.008, 0.009, 1}} {
		k := r.Kernels[i]
		f := k.Findings[0]
		if math.Abs(f.RecoverableMs-want.gain) > 0.01 || k.RecoverableMs != f.RecoverableMs ||
			math.Abs(k.SameSize-want.sameSize) > 0.001 {
			t.Errorf("%s: recovers %.4f ms, want about %.3f; same size %.3f", k.Name, f.RecoverableMs, want.gain,
				k.SameSize)
		}
		// The replay's own bounds, of work 5 % faster or 7 % slower, lie around those of the kernel.
		if f.GainLowMs > want.low+0.01 || f.GainHighMs < want.high-0.01 || f.GainHighMs > want.high*1.2+0.01 {
			t.Errorf("%s: between %.4f and %.4f ms, want about %.3f to %.3f", k.Name, f.GainLowMs, f.GainHighMs,
				want.low, want.high)
		}
	}
	if n := r.Kernels[0].Notes; len(n) != 1 || !strings.Contains(n[0], "in the report") {
		t.Errorf("that the times differ is not said: %q", n)
	}
	if n := r.Kernels[1].Notes; len(n) != 1 || !strings.HasPrefix(n[0], "only 77 % of its time") {
		t.Errorf("that another size runs is not said: %q", n)
	}
	j := r.KernelReports
	if j.MatchedShare != 1 || len(j.Unmatched) > 0 || len(j.NotInTrace) != 1 || len(j.Warnings) > 0 {
		t.Errorf("join is %+v", j)
	}
}

func TestAnotherGPU(t *testing.T) {
	r := joined(t, bound(4), reportOf("NVIDIA A100-SXM4-80GB", measured("big<4>(float*)", 100, 600, 300, 300, 300)))
	if w := r.KernelReports.Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "ANOTHER GPU: ") {
		t.Errorf("warnings are %q", w)
	}
	if u := r.KernelReports.Unmatched; len(u) != 2 || !strings.HasPrefix(u[0].Name, "mid") {
		t.Errorf("without a report: %+v", u)
	}
}

// What is written differently by another demangler is matched; another instance of the same template is not.
func TestMatching(t *testing.T) {
	trace := "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous " +
		"namespace)::silu(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda(float)#1}, " +
		"std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"
	for name, want := range map[string]string{
		"void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::silu(at::TensorIteratorBase " +
			"&)::[lambda() (instance 1)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, " +
			"(unsigned long)2>>(int, T2)": "name, grid and block",
		"void at::native::vectorized_elementwise_kernel<(int)8, at::native::<unnamed>::silu(at::TensorIteratorBase " +
			"&)::[lambda() (instance 1)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, " +
			"(unsigned long)2>>(int, T2)": "",
		"void at::native::vectorized_elementwise_kernel<(int)4, at::native::AddFunctor<float>, std::array<char *, " +
			"(unsigned long)3>>(int, T2)": "",
		"vectorized_elementwise_kernel": "function, grid and block",
	} {
		events := strings.ReplaceAll(bound(4), fmt.Sprintf("%q", "void big<(int)4>(float *)"), fmt.Sprintf("%q", trace))
		r := joined(t, events, reportOf("NVIDIA H200", measured(name, 100, 600, 300, 300, 300)))
		got := ""
		if len(r.Kernels) > 0 {
			got = r.Kernels[0].MatchedBy
		}
		if got != want {
			t.Errorf("%s: matched by %q, want %q", name, got, want)
		}
	}
}
