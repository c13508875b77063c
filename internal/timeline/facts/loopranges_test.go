package facts

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A script is a capture in the making: a host that launches kernels within ranges.
type script struct {
	strings.Builder
	calls int
	gpuNs int64 // when the last kernel ends
}

const turnNs = 10_000

// launch makes calls from an instant on, 100 ns apart, and their kernels on a stream.
func (s *script) launch(ns int64, stream int, kernels ...string) {
	for i, name := range kernels {
		s.calls++
		at := ns + int64(i)*100
		s.gpuNs = max(s.gpuNs, at+50) + 5
		fmt.Fprintf(s, "call c%d %d+20 cudaLaunchKernel\nkernel s%d c%d %d+60 %s\n", s.calls, at, stream, s.calls,
			s.gpuNs, name)
		s.gpuNs += 60
	}
}

func (s *script) wait(ns int64) { fmt.Fprintf(s, "call %d+20 cudaDeviceSynchronize\n", ns) }

func (s *script) rangeAt(ns, durNs int64, name string) {
	fmt.Fprintf(s, "range %d+%d %s\n", ns, durNs, name)
}

func (s *script) annotate(ns, durNs int64, name string) {
	fmt.Fprintf(s, "range annotation %d+%d %s\n", ns, durNs, name)
}

// work is what a turn launches unless a test says otherwise.
var work = []string{"gemm", "relu", "gemm", "softmax", "adam"}

// loop writes n turns, each turnNs long.
func loop(n int, turn func(s *script, i int, at int64)) string {
	var s script
	for i := range n {
		turn(&s, i, int64(i)*turnNs)
	}
	return s.String()
}

// marked is a loop whose turns have a range of this name around them, with the number of the turn where it has a %d.
func marked(n int, name string) string {
	return loop(n, func(s *script, i int, at int64) {
		if strings.Contains(name, "%") {
			s.rangeAt(at, turnNs-100, fmt.Sprintf(name, i+5))
		} else {
			s.rangeAt(at, turnNs-100, name)
		}
		s.launch(at+200, 7, work...)
	})
}

// found tells the source of a capture's steps, how many there are and how long one is in turns.
func stepsIn(t *testing.T, events string, opt StepOptions) string {
	t.Helper()
	s, err := With(of(t, events).Trace, opt).Steps()
	if err != nil {
		return err.Error()
	}
	if s.Source == StepsNone {
		return "none"
	}
	return fmt.Sprintf("%s %dx%.1f", s.Source, len(s.All), float64(s.Window().LenNs())/float64(len(s.Steady()))/turnNs)
}

// Names that people give to turns: the number may be anywhere, or there may be none.
func TestTurnNames(t *testing.T) {
	for _, name := range []string{"train_step_%d", "epoch_0/step_%d", "Step %d/100", "train_step", "training_step",
		"iteration %d of 50", "token_%d_processing", "request %d", "frame %d", "[pl][profile]run_training_batch",
		"[pl][profile][Strategy]DDPStrategy.training_step", "TrainStep", "minibatch %d", "generate token %d (bs=4)"} {
		if got := stepsIn(t, marked(6, name), StepOptions{}); got != "nvtx 5x1.0" {
			t.Errorf("%s: steps are %s, want nvtx 5x1.0", name, got)
		}
	}
	// Parts of turns, and what holds many, are none, however often they come; nor is what nothing is known of
	// where the host does nothing that loops do. The launches may still repeat.
	for _, name := range []string{"layer_%d", "blocks.%d", "FSDP::pre_forward (blocks.%d._wrapped)", "h.%d",
		"TransformerLayer", "micro_batch_%d", "stage %d", "epoch %d", "run_training_epoch", "something",
		"something %d"} {
		if got := stepsIn(t, marked(6, name), StepOptions{}); strings.HasPrefix(got, "nvtx") {
			t.Errorf("%s: steps are %s, want none by ranges", name, got)
		}
	}
}

// Loops as programs and frameworks mark them, and what must not be taken for one.
func TestLoopRanges(t *testing.T) {
	for _, test := range []struct{ name, events, want string }{
		{"layers within steps", loop(4, func(s *script, i int, at int64) {
			s.rangeAt(at, turnNs-100, fmt.Sprintf("train_step_%d", i))
			for k := range int64(4) {
				s.rangeAt(at+200+k*1000, 900, fmt.Sprintf("layer_%d", k))
				s.launch(at+200+k*1000, 7, work...)
			}
		}), "nvtx 3x1.0"},
		{"tokens within one request, layers within tokens", "range 0+60000 request 1\n" +
			loop(6, func(s *script, i int, at int64) {
				s.rangeAt(at, turnNs-100, fmt.Sprintf("token_%d_processing", i))
				for k := range int64(4) {
					s.rangeAt(at+200+k*1000, 900, fmt.Sprintf("layer_%d_token_%d", k, i))
					s.launch(at+200+k*1000, 7, work...)
				}
			}), "nvtx 5x1.0"},
		{"steps within epochs count from 0 again", loop(12, func(s *script, i int, at int64) {
			if i%4 == 0 {
				s.rangeAt(at, 4*turnNs-50, fmt.Sprintf("epoch %d", i/4))
			}
			s.rangeAt(at, turnNs-100, fmt.Sprintf("train_step %d", i%4))
			s.launch(at+200, 7, work...)
		}), "nvtx 11x1.0"},
		{"a region without a number, whose end the host waits for", loop(5, func(s *script, _ int, at int64) {
			s.rangeAt(at, turnNs-100, "timed region")
			s.launch(at+200, 7, work...)
			s.wait(at + 5000)
		}), "nvtx 4x1.0"},
		{"different work under one name", loop(5, func(s *script, i int, at int64) {
			s.rangeAt(at, turnNs-100, "timed region")
			for k := range 4 {
				s.launch(at+200+int64(k)*200, 7, fmt.Sprintf("kernel_%c", 'a'+i))
			}
			s.wait(at + 5000)
		}), "none"},
		{"phases have the period of the step", loop(5, func(s *script, _ int, at int64) {
			s.rangeAt(at, 2000, "forward")
			s.launch(at+100, 7, "gemm", "relu", "gemm")
			s.rangeAt(at+3000, 3000, "backward")
			s.launch(at+3100, 7, "gemm_b", "relu_b", "gemm_b")
			s.rangeAt(at+7000, 1000, "optimizer")
			s.launch(at+7100, 7, "adam")
			s.wait(at + 8500)
		}), "nvtx 4x1.0"},
		{"a log now and then is no step", loop(12, func(s *script, i int, at int64) {
			if i%4 == 0 {
				s.rangeAt(at+9000, 500, "write metrics")
			}
			s.rangeAt(at, 8000, "do one")
			s.launch(at+200, 7, work...)
			s.wait(at + 5000)
		}), "nvtx 11x1.0"},
		{"warm-up turns are left out", "range 0+9900 bench|warmup|forward\n" + loop(4,
			func(s *script, i int, at int64) {
				if i > 0 {
					s.rangeAt(at, turnNs-100, "bench|measure|forward")
				}
				s.launch(at+200, 7, work...)
				s.wait(at + 5000)
			}), "nvtx 2x1.0"},
		{"one turn behind a warm-up like it", loop(2, func(s *script, i int, at int64) {
			s.rangeAt(at, turnNs-100, []string{"bench|warmup|forward", "bench|measure|forward"}[i])
			s.launch(at+200, 7, work...)
		}), "nvtx 1x1.0"},
		{"a warm-up and a measurement of many turns are no steps", loop(12, func(s *script, i int, at int64) {
			switch i {
			case 0:
				s.rangeAt(at, 2*turnNs-100, "warmup forward")
			case 2:
				s.rangeAt(at, 10*turnNs-100, "benchmark forward")
			}
			s.launch(at+200, 7, fmt.Sprintf("kernel_%c", 'a'+i))
		}), "none"},
		{"ranges alone, several in each turn", loop(6, func(s *script, _ int, at int64) {
			s.rangeAt(at, 2000, "reader")
			s.rangeAt(at+2100, 5000, "3D_backbone")
			s.rangeAt(at+7200, 1000, "post_processing")
		}), "nvtx 5x1.0"},
		{"ranges alone that are parts of one turn", "range 0+900 stem\n" + loop(6, func(s *script, _ int, at int64) {
			s.rangeAt(at+1000, 8500, "Bottleneck")
		}) + "range 70000+900 fc\n", "none"},
		{"operators alone, in ranges", loop(6, func(s *script, _ int, at int64) {
			s.rangeAt(at, 9000, "run it")
			fmt.Fprintf(s, "op %d+4000 aten::mm\nop %d+3000 aten::relu\n", at+100, at+4500)
		}), "nvtx 5x1.0"},
		{"work on changing streams", loop(6, func(s *script, i int, at int64) {
			s.rangeAt(at, turnNs-100, fmt.Sprintf("train_step_%d", i))
			s.launch(at+200, 7+i%3, work...)
		}), "nvtx 5x1.0"},
		{"a step on each of two threads at once", loop(6, func(s *script, i int, at int64) {
			s.rangeAt(at, turnNs-100, fmt.Sprintf("train_step_%d", i))
			s.launch(at+200, 7, work...)
			fmt.Fprintf(s, "range t5 %d+%d train_step_%d\n", at+5000, turnNs-100, i)
		}), "nvtx 5x1.0"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// What PyTorch marks by itself in each turn of a loop.
func TestLoopBeats(t *testing.T) {
	for _, test := range []struct{ name, events, want string }{
		{"the optimizer ends a turn, one optimizer wraps another", loop(5, func(s *script, _ int, at int64) {
			s.launch(at+200, 7, work...)
			s.annotate(at+3000, 900, "Optimizer.step#Accelerated.step")
			s.annotate(at+3100, 700, "Optimizer.step#AdamW.step")
			s.launch(at+3200, 7, "multi_tensor_apply_kernel")
		}), "annotation 4x1.0"},
		{"two optimizers in a turn", loop(5, func(s *script, _ int, at int64) {
			s.launch(at+200, 7, "generate", "judge", "generate", "judge")
			s.annotate(at+3000, 900, "Optimizer.step#Adam.step")
			s.launch(at+3200, 7, "adam")
			s.launch(at+5200, 7, "real", "made", "loss")
			s.annotate(at+7000, 900, "Optimizer.step#Adam.step")
			s.launch(at+7200, 7, "adam")
		}), "annotation 4x1.0"},
		{"gradients of four batches are accumulated", loop(5, func(s *script, _ int, at int64) {
			for k := range int64(4) {
				s.rangeAt(at+k*2000, 1800, "forward_step")
				s.annotate(at+k*2000, 10, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
				s.launch(at+100+k*2000, 7, "gemm", "relu", "gemm")
			}
			s.annotate(at+9000, 900, "Optimizer.step#AdamW.step")
			s.launch(at+9200, 7, "adam")
		}), "annotation 4x1.0"},
		{"evaluation has the loader alone", loop(5, func(s *script, i int, at int64) {
			s.annotate(at, 1000, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
			s.launch(at+1200, 7, work[i%2:]...)
		}), "annotation 4x1.0"},
		{"a profiler's step around all batches", "range profiler 0+60000 ProfilerStep#3\n" +
			loop(5, func(s *script, _ int, at int64) {
				s.annotate(at+10, 1000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
				s.launch(at+1200, 7, work...)
			}) + "range annotation 50100+20 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n",
			"annotation 4x1.0"},
		{"a profiler's step that accumulates gradients", "range profiler 0+60000 ProfilerStep#3\n" +
			loop(5, func(s *script, _ int, at int64) {
				s.annotate(at+10, 1000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
				s.launch(at+1200, 7, work...)
			}) + "range annotation 48000+900 Optimizer.step#AdamW.step\n", "profiler_step 1x4.0"},
		{"a profiler's step around a loop that never told it", "range profiler 0+60000 ProfilerStep#0\n" +
			marked(6, "train_step %d"), "nvtx 5x1.0"},
		{"a profiler's step around other work too", "range profiler 0+60000 ProfilerStep#3\n" +
			loop(6, func(s *script, i int, at int64) {
				if i == 0 {
					s.launch(at+200, 7, "p", "q", "r", "s", "t", "u", "v")
					return
				}
				s.annotate(at+10, 1000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
				s.launch(at+1200, 7, "a")
			}), "profiler_step 1x5.1"},
		{"two updates are no loop", loop(2, func(s *script, i int, at int64) {
			s.launch(at+200, 7, fmt.Sprintf("kernel_%c", 'a'+i))
			s.annotate(at+3000, 900, "Optimizer.step#AdamW.step")
		}), "none"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// Ranges that were asked for are markers whatever differs in their names, but for those within others.
func TestAskedRanges(t *testing.T) {
	engine := loop(6, func(s *script, i int, at int64) {
		kind := []string{"step[EXTEND bs=%d toks=%d]", "step[DECODE bs=%d]"}[min(i%3, 1)]
		name := strings.TrimSuffix(fmt.Sprintf(kind, i+1, 4096*i), fmt.Sprintf("%%!(EXTRA int=%d)", 4096*i))
		s.rangeAt(at, turnNs-100, name)
		s.rangeAt(at+100, turnNs-300, fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", i, i*7, i%2, i%5))
		s.launch(at+200, 7, work...)
	})
	for _, test := range []struct{ name, events, ask, want string }{
		{"64 tokens", marked(64, "token_%d_processing"), "token_", "nvtx 63x1.0"},
		{"numbers in several places", engine, "execute_context", "nvtx 5x1.0"},
		{"kinds of steps", engine, `step\[`, "nvtx 5x1.0"},
		{"the outer of both", engine, `step|execute`, "nvtx 5x1.0"},
		{"none", engine, "turn", "--step-range turn: the capture has no such steps; lacuna info shows which ranges " +
			"it has"},
	} {
		opt := StepOptions{Range: regexp.MustCompile(test.ask), Asked: test.ask}
		if got := stepsIn(t, test.events, opt); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// What marks the steps is nobody's work, whatever it is called.
func TestMarkersAreNoUserRanges(t *testing.T) {
	f := of(t, marked(6, "token_%d_processing"))
	for i, class := range f.RangeClasses() {
		if class != RangeMarker {
			t.Errorf("range %d is of class %d, want a step marker", i, class)
		}
	}
}
