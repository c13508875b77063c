package facts

import (
	"testing"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// TestNoWork: what a capture without GPU work has shows why it has none.
func TestNoWork(t *testing.T) {
	for _, c := range []struct {
		name, events string
		want         NoWork
	}{
		{"work", "call c1 1+1 cudaLaunchKernel\nkernel c1 5+5 k", HasWork},
		{"launches without kernels", "call c1 1+1 cudaLaunchKernel\nop 0+9 aten::mm", WorkLost},
		{"a long wait without kernels", "call c1 1us+2000us cudaDeviceSynchronize", WorkLost},
		{"copies without records", "call c1 1+1 cudaMemcpyAsync\nop 0+9 aten::copy_", WorkLost},
		{"calls that start nothing", "call c1 1+1 cudaGetDeviceCount\nop 0+9 aten::addmm", WorkOnHost},
		{"operators of the CPU", "op 0+9 aten::mkldnn_convolution", WorkOnHost},
		{"operators of both", "op 0+9 aten::mkldnn_convolution\nop 10+9 aten::cudnn_convolution", WorkUnasked},
		{"operators of cuDNN", "op 0+9 aten::cudnn_convolution", WorkUnasked},
		{"the allocator of a GPU", "op 0+9 aten::mul_\nalloc 1 d0 deltabytes=4096", WorkUnasked},
		{"operators of MPS", "op 0+9 aten::linear_backward", WorkElse},
		{"nested tensors", "op 0+9 aten::linear_backward\nop 10+5 aten::_nested_view_from_buffer", WorkNoReason},
		{"names that hold the letters", "op 0+9 aten::clamps\nop 10+5 aten::convert_indices", WorkNoReason},
		{"only calls", "call c1 1+1 cudaGetDeviceCount", WorkNone},
		{"operators that every device has", "op 0+9 aten::addmm", WorkNoReason},
	} {
		if got := of(t, c.events).NoWork(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	cut := of(t, "call c1 1+1 cudaLaunchKernel\nop 0+9 aten::mm")
	cut.Trace.Losses.Add(model.LossTruncated, 1, "byte 9")
	if got := cut.NoWork(); got != WorkCut {
		t.Errorf("a cut file: %q", got)
	}
}

// TestHostTimes: a name that is open twice at an instant counts once; what runs inside is in the whole, not in the self
// time.
func TestHostTimes(t *testing.T) {
	f := of(t, "range 0+100 outer\nop 10+50 aten::to\nop 20+30 aten::to\nop 70+10 aten::mm")
	times := f.HostTimes(interval.Span{EndNs: 1000})
	for name, want := range map[string]HostTime{
		"outer": {1, 40, 100}, "aten::to": {2, 50, 50}, "aten::mm": {1, 10, 10},
	} {
		for id, got := range times {
			if f.NameText(id) == name && got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
	if len(times) != 3 {
		t.Errorf("%d names", len(times))
	}
}

// TestStubMarker: a marker behind the only iteration is no step; one around it is.
func TestStubMarker(t *testing.T) {
	for events, want := range map[string]StepSource{
		"op 0+90 aten::mm\nop 100+90 aten::mm\nrange profiler 200+5 ProfilerStep#1":               StepsNone,
		"op 0+90 aten::mm\nop 100+90 aten::mm\nrange profiler 0+200 ProfilerStep#1":               StepsProfilerStep,
		"op 0+90 aten::mm\nop 100+90 aten::mm\nrange annotation 200+5 step_1":                     StepsAnnotation, // what is measured
		"range profiler 0+200 ProfilerStep#1":                                                     StepsProfilerStep,
		"range profiler 0+5 ProfilerStep#1\nrange profiler 5+5 ProfilerStep#2\nop 10+90 aten::mm": StepsProfilerStep,
	} {
		s, err := of(t, events).Steps()
		if err != nil || s.Source != want || len(s.All) != 1 {
			t.Errorf("%q: %s, %d steps, %v", events, s.Source, len(s.All), err)
		}
	}
}
