package facts

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
)

// TestEngineSteps: what the marks of serving engines make of a capture.
func TestEngineSteps(t *testing.T) {
	golden.Cases(t, "testdata/enginesteps.txtar", func(t *testing.T, events string) string {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		f := Of(trace)
		s, err := f.Steps()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s, steps %d:%d\n", s.Source, s.Marker, s.First, s.Last)
		if s.Note != "" {
			fmt.Fprintf(&b, "note: %s\n", s.Note)
		}
		e := s.Engine
		if e == nil {
			return b.String()
		}
		for i, x := range e.Each {
			open := ""
			if x.Open {
				open = ", open"
			}
			fmt.Fprintf(&b, "%d+%d %s %d+%d tokens %d+%d, works to %d%s\n", s.All[i].StartNs, s.All[i].LenNs(), x.Kind,
				x.Prefill, x.Decode, x.PrefillTokens, x.DecodeTokens, x.LastNs, open)
		}
		for _, g := range e.InOrder() {
			fmt.Fprintf(&b, "%s %s %d: %v\n", g.Kind, g.Size(), g.Bucket, g.Steps)
		}
		o := f.Outside(s)
		fmt.Fprintf(&b, "outside %d, busy %d; empty %d, cut %d, pauses %d\n", o.Ns, o.BusyNs, e.Empty, e.Cut, e.Pauses)
		return b.String()
	})
}

// The copy of the next step's inputs, which runs before that step's first kernel, ends no step.
func TestEngineStepEndsBeforeNextInputs(t *testing.T) {
	trace, err := evtext.Parse(`
range annotation 0us+50us step[DECODE bs=4]
call c1 5us+5us cudaGraphLaunch
graph c1 20us+30us
range annotation 200us+50us step[DECODE bs=4]
call c2 205us+5us cudaMemcpyAsync
copy HtoD pinned->device c2 bytes=64 212us+2us
call c3 215us+5us cudaGraphLaunch
graph c3 230us+30us
range annotation 400us+50us step[DECODE bs=4]
call c4 405us+5us cudaGraphLaunch
graph c4 430us+30us
`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Of(trace).Steps()
	if err != nil || s.Engine == nil || len(s.Engine.Each) < 2 {
		t.Fatalf("no engine steps: %v", err)
	}
	if got := s.Engine.Each[0].LastNs; got != 50_000 {
		t.Errorf("the first step's work ends at %d ns, want 50000", got)
	}
}
