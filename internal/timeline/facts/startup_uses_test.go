package facts

import (
	"fmt"
	"strings"
	"testing"
)

// First steps that are slow for what no call says.
func TestFirstSteps(t *testing.T) {
	// Steps of a millisecond, or of what ms says, in which one call launches a kernel.
	steps := func(n int, ms []float64, each func(s *script, i int, at int64)) string {
		var s script
		at := int64(0)
		for i := range n {
			s.rangeAt(at, 900_000, fmt.Sprintf("step_%d", i))
			each(&s, i, at+100)
			ns := 1e6
			if i < len(ms) {
				ns *= ms[i]
			}
			at += int64(ns)
		}
		return s.String()
	}
	launch := func(s *script, at, callNs int64, name string) {
		s.calls++
		fmt.Fprintf(s, "call c%d %d+%d cudaLaunchKernel\nkernel s7 c%d %d+1000 %s\n", s.calls, at, callNs, s.calls,
			at+callNs, name)
	}
	plain := func(s *script, _ int, at int64) { launch(s, at, 5000, "gemm") }
	for _, test := range []struct{ name, events, why string }{
		{"far longer than seven others", steps(8, []float64{3}, plain), "takes much longer than any later one"},
		{"a later one is as long", steps(8, []float64{3, 1, 1, 2.5}, plain), ""},
		{"two that are longer, one after another", steps(9, []float64{9, 3}, plain),
			"takes much longer than any later one | takes much longer than any later one"},
		{"too few to tell", steps(5, []float64{3}, plain), ""},
		{"a kernel's code is loaded", steps(4, []float64{2}, func(s *script, i int, at int64) {
			plain(s, i, at)
			launch(s, at+10_000, []int64{600_000, 5000}[min(i, 1)], "add")
			plain(s, i, at+800_000)
		}), "loads code at its first use"},
		{"a launch waits for the queue", steps(4, []float64{2}, func(s *script, i int, at int64) {
			plain(s, i, at)
			launch(s, at+10_000, []int64{600_000, 5000}[min(i, 1)], "gemm")
		}), ""},
		{"managed memory moves", steps(4, []float64{2}, func(s *script, i int, at int64) {
			plain(s, i, at)
			if i == 0 {
				fmt.Fprintf(s, "copy UM-HtoD bytes=65536 %d+300\n", at+8000)
			}
		}), "moves managed memory"},
		{"managed memory moves in each", steps(4, []float64{2}, func(s *script, i int, at int64) {
			plain(s, i, at)
			fmt.Fprintf(s, "copy UM-HtoD bytes=65536 %d+300\n", at+8000)
		}), ""},
	} {
		s, err := With(of(t, test.events).Trace, StepOptions{}).Steps()
		if err != nil {
			t.Fatal(err)
		}
		var why []string
		for _, st := range s.Startup {
			why = append(why, st.Why)
		}
		if got := strings.Join(why, " | "); got != test.why || s.First != len(s.Startup) {
			t.Errorf("%s: the first step is %d because one %q, want %q", test.name, s.First, got, test.why)
		}
	}
}
