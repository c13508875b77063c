package commands

import (
	"strings"
	"testing"

	"lacuna/internal/kernel/kernelreport"
)

// The kernel whose measurement failed is profiled again before those that were measured; an empty launch of a kernel
// that was measured otherwise is not.
func TestUnmeasuredFirst(t *testing.T) {
	us := 29.3
	sol := &kernelreport.SOL{}
	r := &kernelreport.Report{Inputs: []kernelreport.Input{{Path: "a.ncu-rep"}}, Kernels: []kernelreport.Kernel{
		{Name: "build()", Base: "build", DurationUs: &us, SOL: sol}, {Name: "build()", Base: "build"},
		{Name: "trace()", Base: "trace"}}}
	if got := kernelNext(r)[0].Command; !strings.Contains(got, "'regex:^trace$'") {
		t.Errorf("first: %s", got)
	}
	r.Kernels = r.Kernels[:2]
	if got := kernelNext(r)[0].Command; strings.Contains(got, "ncu ") {
		t.Errorf("nothing is left to measure, and first is %s", got)
	}
}
