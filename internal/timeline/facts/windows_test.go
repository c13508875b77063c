package facts

import (
	"fmt"
	"strings"
	"testing"
)

// TestWindows looks at the steps of one window of a capture that was switched off and on again, not at the time
// between.
func TestWindows(t *testing.T) {
	var b strings.Builder
	b.WriteString("windows 0 end=350\nwindows 10000 end=10950\n")
	corr := 0
	step := func(n int, at int64) {
		corr++
		fmt.Fprintf(&b, "range t1 %d+100 step_%d\ncall t1 c%d %d+5 cudaLaunchKernel\nkernel s7 c%d %d+80 k\n", at, n,
			corr, at+1, corr, at+10)
	}
	for i := range 3 {
		step(i, int64(i)*100)
	}
	for i := range 9 {
		step(500+i, 10_000+int64(i)*100)
	}
	f := of(t, b.String())
	s, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.All) != 11 || s.First != 3 || s.Last != 11 || !strings.Contains(s.Note, "2 windows") {
		t.Errorf("%d steps, of which %d to %d; %q", len(s.All), s.First, s.Last, s.Note)
	}
	for _, x := range s.Steady() {
		if x.LenNs() != 100 {
			t.Errorf("a step of %d", x.LenNs())
		}
	}
	fewer := of(t, b.String()+"range t1 20000+100 step_600\ncall t1 c90 20001+5 cudaLaunchKernel\nkernel s7 c90 "+
		"20010+80 k\n"+
		"range t1 20100+100 step_601\ncall t1 c91 20101+5 cudaLaunchKernel\nkernel s7 c91 20110+80 k\nwindows "+
		"20000 end=20300\n")
	if s, err = With(fewer.Trace, StepOptions{Latest: true}).Steps(); err != nil || s.Last-s.First != 1 ||
		s.Steady()[0].StartNs != 20_010 || !strings.Contains(s.Note,
		fmt.Sprintf("the last, which is --steps %d:%d", s.First, s.Last)) {
		t.Errorf("the latest: %+v, %v", s, err)
	}
	if s, err = fewer.Steps(); err != nil || s.Last-s.First != 8 {
		t.Errorf("the longest of three: %+v, %v", s, err)
	}
	if s, err = With(f.Trace, StepOptions{Pin: true, First: 0, Last: 2}).Steps(); err != nil || s.Last != 2 {
		t.Errorf("asked for steps 0 to 2: %v", err)
	}
	none := of(t, "windows 0 end=100\nwindows 1000 end=1300\nkernel s7 c1 10+50 a\nkernel s7 c2 1010+200 b\n")
	if s, err = none.Steps(); err != nil || len(s.All) != 1 || s.All[0].StartNs < 1000 {
		t.Errorf("without steps: %+v, %v", s, err)
	}
}
