package facts

import (
	"strings"
	"testing"
)

// Turns of an outer loop that each go through batches, with host work and copies of another size between them.
func TestOuterTurns(t *testing.T) {
	turns := func(outer, batches int, kernels ...string) string {
		return loop(outer, func(s *script, _ int, at int64) {
			for k := range batches {
				s.copies(at+int64(k)*500, "cudaMemcpy", "HtoD", 4096, 1)
				s.launch(at+int64(k)*500+150, 7, kernels...)
			}
			for k := range 3 * batches {
				s.copies(at+7000+int64(k)*60, "cudaMemcpy", "DtoH", 100+k, 1)
			}
		})
	}
	for _, test := range []struct{ name, events, want, note string }{
		{"batches of an outer loop", turns(14, 10, "search", "norms"), "periodicity 13x1.0",
			"each holds about 9 turns"},
		{"batches that update the weights", turns(14, 10, "gemm", "adam_step"), "periodicity 9x0.1", "13 other loops"},
		{"a few long runs", turns(6, 10, "search", "norms"), "periodicity 9x0.1", "5 other loops"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
		s, err := With(of(t, test.events).Trace, StepOptions{}).Steps()
		if err != nil || !strings.Contains(s.Note, test.note) {
			t.Errorf("%s: the note is %q, want one with %q", test.name, s.Note, test.note)
		}
	}
}
