package facts

import (
	"fmt"
	"strings"
	"testing"
)

// A check in start-up holds most of the GPU work, as nothing else has run yet: the program goes on, and it is no step.
// Start-up before a loop says nothing against it.
func TestBriefLoops(t *testing.T) {
	turns := loop(30, func(s *script, _ int, at int64) {
		s.launch(at+200, 7, "fill", "compare", "reduce")
		s.wait(at + 2000)
	})
	later := func(ns int) string {
		return fmt.Sprintf("call c900 %d+20 cudaLaunchKernel\nkernel s7 c900 %d+60 solve\n", ns, ns+50)
	}
	const loopNs = 30 * turnNs
	for _, test := range []struct {
		name  string
		other int // when else something is launched
		want  string
	}{
		{"what follows is short", 2 * loopNs, "periodicity 29x1.0"},
		{"what follows takes 200 times as long", 200 * loopNs, "none"},
		{"what comes before took 200 times as long", -200 * loopNs, "periodicity 29x1.0"},
	} {
		if got := stepsIn(t, turns+later(test.other), StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
	s, err := With(of(t, turns+later(200*loopNs)).Trace, StepOptions{}).Steps()
	if want := "from their start to the last GPU work: the capture is taken as one step"; err != nil ||
		!strings.Contains(s.Note, want) {
		t.Errorf("the note is %q, want one with %q", s.Note, want)
	}
}
