package facts

import (
	"fmt"
	"testing"
)

// Time steps between two read-backs, and the layers of a model that look like them.
func TestInnerTurns(t *testing.T) {
	turns := func(inner, ownNs int) string {
		return loop(12, func(s *script, _ int, at int64) {
			for k := range inner {
				s.launch(at+int64(k)*800, 7, names("velocity move thickness flow")...)
			}
			s.calls++
			s.gpuNs = max(s.gpuNs, at+8000) + 5
			fmt.Fprintf(s, "call c%d %d+20 cudaLaunchKernel\nkernel s7 c%d %d+%d read\n", s.calls, at+8000, s.calls,
				s.gpuNs, ownNs)
			s.gpuNs += int64(ownNs)
			s.copies(at+8100, "cudaMemcpy", "DtoH", 4096, 1)
		})
	}
	for _, test := range []struct{ name, events, want string }{
		{"state is read back after every ten", turns(10, 2), "periodicity 119x0.1"},
		{"a head takes part of the time", turns(10, 30), "periodicity 11x1.0"},
		{"four equal blocks", turns(4, 1), "periodicity 11x1.0"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// What a later turn does once is start-up as well, if it takes longer than all that follows; where most follows, it is
// one of them.
func TestStartupReaches(t *testing.T) {
	turns := func(slow int, pauseNs int64) string {
		return loop(40, func(s *script, i int, at int64) {
			if i > slow {
				at += pauseNs
			}
			s.launch(at+200, 7, "velocity", "move", "thickness")
			s.wait(at + 2000)
		})
	}
	for _, test := range []struct {
		slow    int
		pauseNs int64
		first   int
	}{
		{4, 50 * turnNs, 5},
		{4, 20 * turnNs, 0},
		{30, 50 * turnNs, 0},
	} {
		if s, err := of(t, turns(test.slow, test.pauseNs)).Steps(); err != nil || s.First != test.first {
			t.Errorf("%+v: the first step looked at is %d, %v", test, s.First, err)
		}
	}
}
