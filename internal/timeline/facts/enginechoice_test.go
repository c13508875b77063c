package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
)

// twoEngines is a process in which one thread serves two engines in turn, the first with the longer passes.
func twoEngines() string {
	var b strings.Builder
	at, c := 0, 0
	pass := func(mark string, us int) {
		c++
		fmt.Fprintf(&b, "range annotation %dus+30us %s\ncall c%d %dus+5us cudaGraphLaunch\ngraph s7 c%d %dus+%dus\n", at,
			mark, c, at+10, c, at+20, us)
		at += us + 40
	}
	for range 4 {
		pass("execute_context_0(0)_generation_8(8)", 300)
		pass("execute_context_0(0)_generation_8(8)", 300)
		pass("step[DECODE bs=2]", 50)
	}
	return b.String()
}

// choose is the steps of a capture with --engine.
func choose(t *testing.T, events, engine string) (*Steps, error) {
	t.Helper()
	trace, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	return With(trace, StepOptions{Engine: engine}).Steps()
}

// TestTwoEngines: of two engines that one thread works for, the one with most GPU time is reported and the other named;
// a step does not last over the other's passes.
func TestTwoEngines(t *testing.T) {
	s, err := choose(t, twoEngines(), "")
	if err != nil {
		t.Fatal(err)
	}
	const note = "marks of 2 engines: the report is on the 8 of vllm, which launches most GPU time, not on the other " +
		"4 of sglang (--engine sglang)"
	if s.Marker != "vllm" || !strings.Contains(s.Note, note) {
		t.Errorf("steps of %s, note %q", s.Marker, s.Note)
	}
	for i, x := range s.Engine.Each {
		if x.Requests != 8 || s.All[i].LenNs() > 340_000 || x.Open != (i%2 == 1) {
			t.Errorf("step %d: %d requests, %d ns, open %v", i, x.Requests, s.All[i].LenNs(), x.Open)
		}
	}
}

// TestEngineChosen: whose marks count can be said; that there are none is told with those that there are.
func TestEngineChosen(t *testing.T) {
	s, err := choose(t, twoEngines(), "sglang")
	if err != nil || s.Marker != "sglang" || s.Engine == nil || s.Engine.Each[0].Requests != 2 {
		t.Errorf("sglang: %+v, %v", s, err)
	}
	if s, err = choose(t, twoEngines(), NoEngine); err != nil || s.Engine != nil {
		t.Errorf("none: %+v, %v", s, err)
	}
	var missing *EngineError
	if _, err = choose(t, twoEngines(), "atom"); !errors.As(err, &missing) ||
		!slices.Equal(missing.Have, []string{"vllm", "sglang"}) {
		t.Errorf("atom: %v", err)
	}
	if _, err = choose(t, "kernel 0+5 a\n", "atom"); err == nil ||
		!strings.HasSuffix(err.Error(), "none of any other either") {
		t.Errorf("without marks: %v", err)
	}
}

// TestWrappedMarks: a form that patches write around an engine's marks, and around nothing here and there, is no engine
// of its own.
func TestWrappedMarks(t *testing.T) {
	s, err := choose(t, `
range annotation 0us+50us execute_context_0(0)_generation_4(4)
range annotation 1us+48us decode[bs=4/4 tok=4 d=4]
call c1 5us+5us cudaGraphLaunch
graph c1 20us+30us
range annotation 100us+50us execute_context_0(0)_generation_4(4)
call c2 105us+5us cudaGraphLaunch
graph c2 120us+30us
range annotation 200us+50us execute_context_0(0)_generation_4(4)
call c3 205us+5us cudaGraphLaunch
graph c3 220us+30us
`, "")
	if err != nil || len(s.All) != 2 || strings.Contains(s.Note, "engines") {
		t.Errorf("%d steps, note %q, %v", len(s.All), s.Note, err)
	}
}
