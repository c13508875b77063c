package facts

import (
	"fmt"
	"strings"
	"testing"
)

// What repeats within one pass over a model, one update of the weights or one capture of a graph is no step.
func TestPartsOfOnePass(t *testing.T) {
	layers := func(each func(s *script, i int, at int64)) string {
		return loop(10, func(s *script, i int, at int64) {
			s.launch(at+200, 7, names("norm gemm attention gemm mlp")...)
			s.copies(at+2000, "cudaMemcpyAsync", "DtoH", 8, 1) // a check of each layer's result
			each(s, i, at)
		})
	}
	nothing := func(*script, int, int64) {}
	for _, test := range []struct{ name, events, want string }{
		{"a loop", layers(nothing), "periodicity 9x1.0"},
		{"within one module", "py 0+100000 nn.Module: SwitchTransformer_0\n" + layers(nothing), "none"},
		{"within a Python function", "py 0+100000 train.py(20): main\n" + layers(nothing), "periodicity 9x1.0"},
		{"each within a module", layers(func(s *script, _ int, at int64) {
			fmt.Fprintf(s, "py %d+9000 nn.Module: GPT_0\n", at+100)
		}), "periodicity 9x1.0"},
		{"within an update of the weights", "range annotation 0+100000 Optimizer.step#Adam.step\n" + layers(nothing), "none"},
		{"pieces of a graph that is captured", layers(func(s *script, _ int, at int64) {
			fmt.Fprintf(s, "call %d+20 cudaStreamBeginCapture\ncall %d+20 cudaStreamEndCapture\n", at+4000, at+6000)
		}), "none"},
		{"a graph captured and launched in each turn", layers(func(s *script, _ int, at int64) {
			fmt.Fprintf(s, "call %d+20 cudaStreamBeginCapture\ncall %d+20 cudaStreamEndCapture\n", at+4000, at+6000)
			s.graph(at+7000, 3, 2)
		}), "periodicity 9x1.0"},
		{"a range in each layer, which has a number", layers(func(s *script, i int, at int64) {
			s.rangeAt(at, 9000, fmt.Sprintf("layer_moe_%d", i))
			s.rangeAt(at+100, 8000, "group_einsum")
		}), "none"},
		{"a range in each turn", layers(func(s *script, _ int, at int64) { s.rangeAt(at+100, 8000, "group_einsum") }),
			"nvtx 9x1.0"},
		{"modules in modules", layers(func(s *script, i int, at int64) {
			for k := range int64(2) {
				s.rangeAt(at+100*k, 90, fmt.Sprintf("FSDP::pre_forward (encoder.block.%d.layer.%d)", i, k))
			}
		}), "none"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// The note says what the launches that repeat lie in.
func TestNoteOfOnePass(t *testing.T) {
	events := "range annotation 0+100000 Optimizer.step#Adam.step\n" + loop(10, func(s *script, _ int, at int64) {
		s.launch(at+200, 7, names("mul add sqrt div")...)
	})
	s, err := With(of(t, events).Trace, StepOptions{}).Steps()
	want := "no step markers; the launches that repeat lie within one pass over a model or its weights, " +
		"Optimizer.step#Adam.step: the capture is taken as one step"
	if err != nil || s.Note != want {
		t.Errorf("the note is %q, want %q", s.Note, want)
	}
}

// A marker that was opened when all was done is no step.
func TestStubOfProfiler(t *testing.T) {
	iteration := "op 0+4000 aten::copy_\nop 4000+5000 aten::mm\n"
	for marker, want := range map[string]string{
		"range profiler 9100+14 ProfilerStep#1\n": "ProfilerStep#1, holds next to nothing of what was recorded: the capture",
		"range profiler 0+9100 ProfilerStep#1\n":  "",
	} {
		s, err := With(of(t, iteration+marker).Trace, StepOptions{}).Steps()
		if err != nil || len(s.All) != 1 || s.All[0].LenNs() < 9000 || !strings.Contains(s.Note, want) {
			t.Errorf("%s: steps %v with the note %q, want one of 9000 ns or more with %q", marker, s.All, s.Note, want)
		}
	}
}

// Ranges without a number or a known name, and such as say that they warm up.
func TestPassesAsSteps(t *testing.T) {
	model := func(n, parts int, behind ...string) string {
		return loop(n, func(s *script, i int, at int64) {
			s.rangeAt(at, 8000, "MobileNetV3")
			for k := range int64(parts) {
				s.rangeAt(at+k*800, 700, fmt.Sprintf("%d: BatchNorm2d", k))
				s.launch(at+k*800+100, 7, names("stats scale shift add")[k%3:]...)
			}
			if i == n-1 {
				s.launch(at+9000, 7, behind...)
			}
		})
	}
	for _, test := range []struct{ name, events, want string }{
		{"passes over a model, one after another", model(5, 10), "nvtx 4x1.0"},
		{"backward follows", model(5, 10, work...), "none"},
		{"blocks of few parts", model(5, 3), "periodicity 4x1.0"},
		{"steps that say that they warm up, and nothing else", marked(6, "Warm-up Step %d"), "nvtx 5x1.0"},
		{"steps that warm up, and most work behind them", loop(20, func(s *script, i int, at int64) {
			if i < 4 {
				s.rangeAt(at, 9000, fmt.Sprintf("Warm-up Step %d", i))
			}
			s.launch(at+200, 7, work...)
		}), "periodicity 19x1.0"},
	} {
		if got := stepsIn(t, test.events, StepOptions{}); got != test.want {
			t.Errorf("%s: steps are %s, want %s", test.name, got, test.want)
		}
	}
}

// One range that is called a step, around all that is launched, is one; a method of that name and a phase are not.
func TestLoneStep(t *testing.T) {
	var s script
	s.launch(200, 7, names("embedding norm gemm head loss norm_backward gemm_backward")...)
	work := s.String()
	for name, want := range map[string]string{"moe_train_step": "nvtx 1x0.2", "Training iteration 3": "nvtx 1x0.2",
		"CustomAdam.step": "none", "optimizer_step": "none", "training": "none"} {
		if got := stepsIn(t, "range 100+2000 "+name+"\n"+work, StepOptions{}); got != want {
			t.Errorf("%s: steps are %s, want %s", name, got, want)
		}
	}
	if got := stepsIn(t, "range 400+2000 train_step\n"+work, StepOptions{}); got != "none" {
		t.Errorf("a range around a part of the work: steps are %s, want none", got)
	}
}

// Steps that are a small part of the time of the GPU are said to be.
func TestNoteOfCover(t *testing.T) {
	steps := marked(6, "train_step %d")
	for events, want := range map[string]string{
		steps: "steps are the ranges train_step *",
		marked(6, "Warm-up Step %d"): "steps are the ranges Warm-up Step *; they say that they warm up, and there are no " +
			"others of that name",
		steps + "call c900 900000+20 cudaLaunchKernel\nkernel s7 c900 950000+60 evaluate\n": "steps are the ranges " +
			"train_step *; the steps last 0.050 of the 0.950 ms from the first GPU work to the last",
	} {
		s, err := With(of(t, events).Trace, StepOptions{}).Steps()
		if err != nil || s.Note != want {
			t.Errorf("the note is %q, want %q", s.Note, want)
		}
	}
}

// A benchmark of several programs: Steps around the steps of each, half of them on the CPU.
func TestStepsOfSeveralLoops(t *testing.T) {
	blocks := func(kernels ...string) string {
		return loop(12*len(kernels), func(s *script, i int, at int64) {
			if i%12 == 0 {
				s.rangeAt(at, 12*turnNs-200, "Steps")
			}
			s.rangeAt(at, turnNs-400, "step")
			if names := strings.Fields(kernels[i/12]); len(names) > 0 {
				s.launch(at+200, 7, names...)
			}
		})
	}
	for _, test := range []struct {
		name, events, want string
		first, last        int
	}{
		{"one loop", blocks("a b c", "a b c"), "nvtx 23x1.0", 0, 23},
		{"two loops", blocks("a b c", "d e f g"), "nvtx 23x1.0", 12, 23},
		{"half of them on the CPU", blocks("a b c", "", "d e f g", "", "h"), "nvtx 35x1.0", 12, 23},
		{"turns that vary", loop(24, func(s *script, i int, at int64) {
			s.rangeAt(at, turnNs-400, "step")
			s.launch(at+200, 7, [][]string{{"a", "b", "c"}, {"d", "e", "f", "g"}}[i/3%2]...)
		}), "nvtx 23x1.0", 0, 23},
	} {
		s, err := With(of(t, test.events).Trace, StepOptions{}).Steps()
		if err != nil {
			t.Fatal(err)
		}
		got := stepsIn(t, test.events, StepOptions{})
		if got != test.want || s.First != test.first || s.Last != test.last {
			t.Errorf("%s: steps are %s, %d to %d, want %s, %d to %d", test.name, got, s.First, s.Last, test.want,
				test.first, test.last)
		}
	}
}
