package facts

import (
	"fmt"
	"strings"
	"testing"
)

// copies writes blocking copies of a call each, 100 ns apart.
func (s *script) copies(ns int64, call, what string, bytes, n int) {
	for i := range int64(n) {
		s.calls++
		at := ns + i*100
		s.gpuNs = max(s.gpuNs, at+50) + 5
		fmt.Fprintf(s, "call c%d %d+20 %s\ncopy %s s7 c%d bytes=%d %d+30\n", s.calls, at, call, what, s.calls, bytes,
			s.gpuNs)
		s.gpuNs += 30
	}
}

// graph launches a graph of n kernels by one call.
func (s *script) graph(ns int64, id, n int) {
	s.calls++
	fmt.Fprintf(s, "call c%d %d+20 cudaGraphLaunch\n", s.calls, ns)
	for i := range n {
		s.gpuNs = max(s.gpuNs, ns+50) + 5
		fmt.Fprintf(s, "kernel s7 c%d graph=%d %d+60 node_%c%c\n", s.calls, id, s.gpuNs, 'a'+id, 'a'+i)
		s.gpuNs += 60
	}
}

// Loops without a single range, and what repeats and is no loop.
func TestPeriods(t *testing.T) {
	for _, test := range []struct{ name, events, want string }{
		{"four copies and a kernel in each turn", loop(50, func(s *script, _ int, at int64) {
			s.copies(at, "cudaMemcpy", "HtoD", 1000, 3)
			s.launch(at+1000, 7, "saxpy")
			s.copies(at+2000, "cudaMemcpy", "DtoH", 1000, 1)
		}), "periodicity 49x1.0"},
		{"one graph in each turn", loop(12, func(s *script, _ int, at int64) { s.graph(at, 3, 10) }),
			"periodicity 11x1.0"},
		{"a graph and the result of it", loop(12, func(s *script, _ int, at int64) {
			s.graph(at, 3, 3)
			s.copies(at+1000, "cudaMemcpy", "DtoH", 4, 1)
		}), "periodicity 11x1.0"},
		{"two graphs in turn", loop(12, func(s *script, _ int, at int64) {
			s.graph(at, 3, 10)
			s.graph(at+3000, 4, 10)
		}), "periodicity 11x1.0"},
		{"equal operators and nothing else", loop(5, func(s *script, _ int, at int64) {
			fmt.Fprintf(s, "op %d+900 aten::mm\n", at+100)
			s.launch(at+200, 7, "gemm")
		}), "periodicity 4x1.0"},
		{"equal operators within other work", loop(9, func(s *script, i int, at int64) {
			if i > 4 {
				s.launch(at+200, 7, fmt.Sprintf("other_%c", 'a'+i))
				return
			}
			s.launch(at+200, 7, "gemm")
		}), "none"},
		{"copies of one size", loop(12, func(s *script, _ int, at int64) {
			s.copies(at, "cudaMemcpy", "HtoD", 4096, 1)
			s.copies(at+1000, "cudaMemcpy", "DtoH", 4096, 1)
		}), "periodicity 11x1.0"},
		{"weights are loaded, then a model runs", loop(12, func(s *script, i int, at int64) {
			if i < 11 {
				s.copies(at, "cudaMemcpy", "HtoD", 4096, 3)
				return
			}
			s.launch(at+200, 7, "a", "b", "c", "d", "e", "f", "g")
		}), "none"},
		{"a short loop behind a long start", loop(30, func(s *script, i int, at int64) {
			if i > 19 {
				s.launch(at, 7, "saxpy")
				s.copies(at+1000, "cudaMemcpy", "DtoH", 1000, 2)
			} else if i == 0 {
				s.launch(at, 7, "init")
			}
		}), "periodicity 9x1.0"},
		{"a short loop between other work", loop(30, func(s *script, i int, at int64) {
			if i > 9 && i < 20 {
				s.launch(at, 7, "saxpy")
				s.copies(at+1000, "cudaMemcpy", "DtoH", 1000, 2)
				return
			}
			for k := range 40 {
				s.copies(at+int64(k)*200, "cudaMemcpy", "HtoD", 100*i+k, 1)
			}
		}), "none"},
		{"a reduction whose grid shrinks", strings.Join([]string{
			loop(1, func(s *script, _ int, _ int64) {
				for i := range 10 {
					s.calls++
					fmt.Fprintf(s, "call c%d %d+20 cudaLaunchKernel\nkernel s7 c%d grid=%dx1x1 %d+60 reduce\n", s.calls,
						i*100, s.calls, 1<<(10-i), i*100+50)
					s.wait(int64(i*100 + 30))
				}
			})}, ""), "none"},
		{"the blocks of a model, each with a number", loop(8, func(s *script, i int, at int64) {
			fmt.Fprintf(s, "range %d+300 FSDP::pre_forward (blocks.%d._wrapped), op_id = %d\n", at, i+3, 990+7*i)
			s.launch(at+400, 7, "norm", "gemm", "attention", "gemm", "mlp")
			s.copies(at+2000, "cudaMemcpyAsync", "HtoD", 8, 1)
		}), "none"},
		{"pairs of blocks of a model", loop(8, func(s *script, i int, at int64) {
			for k := range 2 {
				s.rangeAt(at+int64(k)*3000, 300, fmt.Sprintf("blocks.%d.attn", 2*i+k))
				s.launch(at+int64(k)*3000+400, 7, "norm", "gemm", []string{"local", "global"}[k], "gemm", "mlp")
			}
			s.copies(at+8000, "cudaMemcpyAsync", "HtoD", 8, 1)
		}), "none"},
		{"the blocks of a model come again in each turn", loop(6, func(s *script, _ int, at int64) {
			for k := range int64(3) {
				s.rangeAt(at+k*1000, 900, fmt.Sprintf("FSDP::pre_forward (blocks.%d._wrapped)", k))
				s.launch(at+k*1000+100, 7, "norm", "gemm", "attention", "gemm", "mlp")
			}
			s.launch(at+4000, 7, "head", "loss")
		}), "periodicity 5x1.0"},
		{"gradients of four batches are accumulated", loop(6, func(s *script, _ int, at int64) {
			for k := range int64(4) {
				s.copies(at+k*2000, "cudaMemcpy", "HtoD", 4096, 1)
				s.launch(at+k*2000+200, 7, "gemm", "relu", "gemm", "loss", "gemm", "relu", "gemm", "gemm", "gemm",
					"gemm", "gemm", "gemm")
			}
			s.launch(at+9000, 7, "multi_tensor_apply_kernel<Adam>")
		}), "periodicity 5x1.0"},
		{"ranges that were never closed hold no turns", loop(12, func(s *script, i int, at int64) {
			s.rangeAt(at, int64(12-i)*turnNs, "test")
			s.launch(at+200, 7, "fused")
		}), "periodicity 11x1.0"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}
