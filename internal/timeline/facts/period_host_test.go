package facts

import (
	"fmt"
	"strings"
	"testing"
)

// ops writes operators of 300 ns each, without a pause.
func (s *script) ops(ns int64, names ...string) {
	for i, name := range names {
		fmt.Fprintf(s, "op %d+300 %s\n", ns+int64(i)*300, name)
	}
}

// Loops of the host where nothing of the GPU was recorded, and what repeats and is no loop.
func TestHostPeriods(t *testing.T) {
	forward := names("aten::linear aten::relu aten::layer_norm")
	backward := names(backwardOp + ":_A " + backwardOp + ":_B " + backwardOp + ":_C")
	calls := func(s *script, at int64, names ...string) {
		for i, name := range names {
			fmt.Fprintf(s, "call %d+200 %s\n", at+int64(i)*300, name)
		}
	}
	for _, test := range []struct{ name, events, want string }{
		{"forward and backward in each turn", loop(10, func(s *script, _ int, at int64) {
			s.ops(at+4000, forward...)
			s.ops(at+6000, backward...)
		}), "periodicity 9x1.0"},
		{"the forward passes of layers alone", loop(10, func(s *script, _ int, at int64) { s.ops(at, forward...) }),
			"none"},
		{"the backward passes of layers alone", loop(10, func(s *script, _ int, at int64) { s.ops(at, backward...) }),
			"none"},
		{"one pass of each over layers", loop(20, func(s *script, i int, at int64) {
			if s.ops(at, forward...); i >= 10 {
				s.ops(at, backward...)
			}
		}), "none"},
		{"calls, and the host waits in each turn", loop(10, func(s *script, _ int, at int64) {
			calls(s, at, "cudaMalloc", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaFree")
		}), "periodicity 9x1.0"},
		{"calls, and the host never waits", loop(10, func(s *script, _ int, at int64) {
			calls(s, at, "cudaMalloc", "cudaLaunchKernel", "cudaLaunchKernel", "cudaFree")
		}), "none"},
		{"a short loop in much else", loop(40, func(s *script, i int, at int64) {
			if i < 30 {
				s.ops(at, fmt.Sprintf("aten::other_%c", 'a'+i), fmt.Sprintf("aten::more_%c", 'a'+i), "aten::copy_",
					"aten::copy_", "aten::copy_", "aten::copy_", "aten::copy_", "aten::copy_", "aten::copy_")
				return
			}
			s.ops(at, forward...)
			s.ops(at+2000, backward...)
		}), "none"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// Where a thread hardly pauses, a turn begins with what came first.
func TestHostTurnBegins(t *testing.T) {
	events := loop(10, func(s *script, _ int, at int64) {
		s.ops(at, "aten::randn")
		fmt.Fprintf(s, "op %d+9600 %s\nop %d+40 aten::square\ncall %d+10 cudaDeviceSynchronize\n", at+301,
			"aten::to", at+9950, at+9000)
	})
	f := of(t, events)
	if s, err := f.Steps(); err != nil || s.Device || len(s.All) != 9 || s.All[0].StartNs != 0 {
		t.Errorf("steps are %+v, %v, want 9 of the host from 0", s, err)
	}
}
