package facts

import (
	"fmt"
	"strings"
	"testing"
)

// names splits words.
var names = strings.Fields

// Loops that are interrupted, that follow each other, that change streams or have no kernel of their own.
func TestRuns(t *testing.T) {
	layer := func(s *script, at int64) { s.launch(at, 7, "norm", "gemm", "attention", "gemm", "mlp") }
	record := func(s *script, at int64) { fmt.Fprintf(s, "call %d+5 cudaEventRecord\n", at) }
	passes := func(each func(s *script, at int64)) string {
		return loop(2, func(s *script, _ int, at int64) {
			s.launch(at*20, 7, "embedding")
			for k := range int64(12) {
				layer(s, at*20+k*turnNs+200)
				each(s, at*20+k*turnNs+5000)
			}
			s.launch(at*20+13*turnNs, 7, "head", "loss")
		})
	}
	benchmark := func(each func(s *script, at int64)) string {
		return loop(42, func(s *script, i int, at int64) {
			if i%14 == 13 {
				s.launch(at, 7, "compile")
				return
			}
			s.launch(at, 7, names([]string{"flush one_a one_b", "flush two_a two_b two_c", "flush three"}[i/14])...)
			each(s, at+50)
		})
	}
	for _, test := range []struct{ name, events, want string }{
		{"a decoder is made anew in the middle", loop(20, func(s *script, i int, at int64) {
			if i == 10 {
				s.launch(at, 7, names("clear clear clear clear clear")...)
			}
			s.launch(at+1000, 7, names("decode convert resize round")...)
			s.wait(at + 5000)
		}), "periodicity 19x1.0"},
		{"set-up that resembles the first turn", "call c900 10+20 cudaMemcpy\ncopy HtoD s7 c900 bytes=16 40+10\n" +
			"call c901 60+20 cudaLaunchKernel\nkernel s7 c901 90+5 fill\n" +
			loop(30, func(s *script, i int, at int64) {
				if i == 0 {
					for k := range 14 {
						s.copies(at+100+int64(k)*300, "cudaMemcpy", "HtoD", 8+k, 1)
					}
					return
				}
				s.copies(at+5000, "cudaMemcpy", "HtoD", 2000, 1)
				s.launch(at+5500, 7, "fill")
			}), "periodicity 28x1.0"},
		{"three loops one after another, with their time taken", benchmark(record), "periodicity 12x1.0"},
		{"the same, events that streams wait for", benchmark(func(s *script, at int64) {
			record(s, at)
			fmt.Fprintf(s, "call %d+5 cudaStreamWaitEvent\n", at+10)
		}), "none"},
		{"two passes of a model", passes(func(*script, int64) {}), "none"},
		{"two contexts by turns", loop(20, func(s *script, i int, at int64) {
			s.launch(at, 7+i%2*4, names("pad conv relu conv slice")...)
			s.wait(at + 3000)
		}), "periodicity 19x1.0"},
		{"no kernel comes once in a turn", loop(12, func(s *script, _ int, at int64) {
			s.launch(at, 7, names("gemm add norm gemm gemm add relu gemm add norm norm add relu relu gemm")...)
		}), "periodicity 11x1.0"},
		{"layers, and the head of the model once in each turn", loop(6, func(s *script, _ int, at int64) {
			for k := range int64(4) {
				s.launch(at+k*2000, 7, names("norm q k v rope attention out add norm gate up silu mul down add cast")...)
			}
			s.launch(at+8000, 7, "head")
		}), "periodicity 5x1.0"},
		{"the host waits in each, and a kernel comes with every fourth", loop(6, func(s *script, _ int, at int64) {
			for k := range int64(4) {
				s.launch(at+k*2500, 7, names("norm q k v rope attention out add norm gate up silu mul down add cast")...)
				s.wait(at + k*2500 + 1900)
			}
			s.launch(at+9600, 7, "head")
		}), "periodicity 23x0.2"},
		{"no kernel comes once in a turn, and there are few", loop(6, func(s *script, _ int, at int64) {
			s.launch(at, 7, names("gemm add norm gemm gemm add relu gemm add norm norm add relu relu gemm")...)
		}), "none"},
		{"chunks on streams that overlap", loop(12, func(s *script, _ int, at int64) {
			for k, startNs := range []int64{100, 700, 1300, 1000} { // the fourth stream's kernel before the third's
				s.calls++
				fmt.Fprintf(s, "call c%d %d+20 cudaMemcpyAsync\ncopy HtoD s%d c%d bytes=500 %d+80\n", 2*s.calls,
					at+int64(k)*100, 11+k, 2*s.calls, at+startNs)
				fmt.Fprintf(s, "call c%d %d+20 cudaLaunchKernel\nkernel s%d c%d %d+200 add\n", 2*s.calls+1,
					at+int64(k)*100+50, 11+k, 2*s.calls+1, at+startNs+100)
			}
		}), "periodicity 11x1.0"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
	s, err := With(of(t, benchmark(record)).Trace, StepOptions{}).Steps()
	if want := "2 other loops follow or precede it, of 24 turns in all"; err != nil || !strings.Contains(s.Note, want) {
		t.Errorf("the note is %q, want one with %q", s.Note, want)
	}
}
