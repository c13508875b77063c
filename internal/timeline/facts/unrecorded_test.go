package facts

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnrecorded ends captures as a killed program does: calls are there up to the end, kernels are not.
func TestUnrecorded(t *testing.T) {
	// Eight steps of four launches, two by each of two threads, whose kernels are there before step first and step
	// second.
	capture := func(first, second int) string {
		var b strings.Builder
		corr := 0
		launch := func(thread int, at int64, recorded bool) {
			corr++
			fmt.Fprintf(&b, "call t%d c%d %d+5 cudaLaunchKernel\n", thread, corr, at)
			if recorded {
				fmt.Fprintf(&b, "kernel s7 c%d %d+10 k\n", corr, at+10)
			}
		}
		for i := range 8 {
			at := int64(i) * 100
			fmt.Fprintf(&b, "range t1 %d+100 step_%d\n", at, i)
			launch(1, at+1, i < first)
			launch(1, at+20, i < first)
			launch(2, at+40, i < second)
			launch(2, at+60, i < second)
		}
		return b.String()
	}
	for _, c := range []struct {
		name          string
		first, second int
		last          int
		note          string
	}{
		{"whole", 8, 8, 7, ""},
		{"one thread's kernels end earlier", 8, 5, 5, "last 2 of 7 steps left out"},
		{"of both the same", 6, 6, 5, ""}, // the sixth has no end: the first kernel of a seventh is not there
		{"no step whole", 8, 0, 7, ""},    // not known to be the end: of the second thread nothing was ever recorded
	} {
		s, err := of(t, capture(c.first, c.second)).Steps()
		if err != nil {
			t.Fatal(err)
		}
		if s.Last != c.last || !strings.Contains(s.Note, c.note) || (c.note == "") != (s.Note == "") {
			t.Errorf("%s: steps %d to %d of %d; %q", c.name, s.First, s.Last, len(s.All), s.Note)
		}
	}
	// The second thread's only kernel is before the first step: then no step is whole, and all are kept.
	early := of(t, "call t2 c90 -50+5 cudaLaunchKernel\nkernel s7 c90 -40+10 k\n"+capture(8, 0))
	s, err := early.Steps()
	if err != nil || s.Last != 7 || !strings.Contains(s.Note, "every step") {
		t.Errorf("none whole: steps %d to %d of %d; %q, %v", s.First, s.Last, len(s.All), s.Note, err)
	}
	// Of two windows the one that is looked at is not changed for what is missing at its end.
	last := of(t, "windows -300 end=-50\nwindows 0 end=900\nrange t1 -300+100 step_90\ncall t1 c91 -299+5 "+
		"cudaLaunchKernel\nkernel s7 c91 -290+10 k\n"+
		"range t1 -200+100 step_91\ncall t1 c92 -199+5 cudaLaunchKernel\nkernel s7 c92 -190+10 k\ncall t2 c90 "+
		"-180+5 cudaLaunchKernel\nkernel s7 c90 -170+10 k\n"+capture(8, 0))
	if s, err = With(last.Trace, StepOptions{Latest: true}).Steps(); err != nil || s.Steady()[0].StartNs < 0 ||
		!strings.Contains(s.Note, "every step") {
		t.Errorf("of the last window none whole: steps %d to %d of %d; %q, %v", s.First, s.Last, len(s.All), s.Note,
			err)
	}
	if s, err = With(of(t, capture(8, 5)).Trace, StepOptions{Pin: true, First: 4, Last: 7}).Steps(); err != nil ||
		s.Last != 7 {
		t.Errorf("asked for steps 4 to 6: %+v, %v", s, err)
	}
}
