package replay

import (
	"testing"

	"lacuna/internal/timeline/facts"
)

// launched is three steps of 100 µs: a kernel, and a synchronization that waits for it.
const launched = `
step 0us+100us
step 100us+100us
step 200us+100us
call c1 1us+5us cudaLaunchKernel
kernel c1 8us+50us a
call 10us+50us cudaStreamSynchronize
call c2 101us+5us cudaLaunchKernel
kernel c2 108us+50us a
call 110us+50us cudaStreamSynchronize
call c3 201us+5us cudaLaunchKernel
kernel c3 208us+50us a
call 210us+50us cudaStreamSynchronize
`

// TestReschedules: what work takes is measured, what waits for what is the replay's.
func TestReschedules(t *testing.T) {
	p := build(t, launched)
	for _, test := range []struct {
		name string
		edit func(e *Edit)
		want bool
	}{
		{"nothing", func(*Edit) {}, false},
		{"a duration", func(e *Edit) { e.ScaleDur(0, 0.5, 0.4, 0.6) }, false},
		{"a kernel with its launch", func(e *Edit) { e.DropCall(e.Works[0].Call) }, false},
		{"a wait", func(e *Edit) { e.Stub(1) }, true},
		{"host work", func(e *Edit) { e.DropGap(2, 0) }, true},
		{"another stream", func(e *Edit) { e.Works[0].Lane = e.NewLane(0) }, true},
		{"a floor", func(e *Edit) { e.Raise(Range{1, 1, 1}) }, true},
	} {
		e := p.Edit()
		test.edit(e)
		if got := e.Reschedules(p); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestGapsNs: with a kernel goes the pause before it.
func TestGapsNs(t *testing.T) {
	p := build(t, launched)
	e := p.Edit()
	e.DropCall(e.Works[1].Call)
	if got, want := e.GapsNs(p), float64(p.Rules.StreamGapNs)/float64(len(p.Steps.Steady())); got != want {
		t.Errorf("%v ns a step, want %v", got, want)
	}
}

// TestReachNs: what a change does to work is counted; of one that changes waits it says nothing.
func TestReachNs(t *testing.T) {
	p := build(t, launched)
	e := p.Edit()
	e.ScaleDur(1, 0.5, 0.5, 0.5)
	if ns, only := e.ReachNs(p); !only || ns != 50_000/float64(len(p.Steps.Steady())) {
		t.Errorf("half a kernel: %v ns a step, only work: %v", ns, only)
	}
	e.Stub(1)
	if _, only := e.ReachNs(p); only {
		t.Error("without a wait: only work")
	}
}

// TestWidened: what the rules do not explain of the step is added to the range of a gain: all of it where the change
// alters the schedule, in proportion where it does not; one step is widened further.
func TestWidened(t *testing.T) {
	k := &Pricer{SelfError: -0.1, Program: &Program{Steps: &facts.Steps{Source: facts.StepsNone}}}
	k.free[best] = 1000
	g := Range{Ns: 50, LowNs: 40, HighNs: 60}
	if got, want := k.widened(g, false), (Range{50, 35, 65}); got != want {
		t.Errorf("durations: %v, want %v", got, want)
	}
	if got, want := k.widened(g, true), (Range{50, -60, 160}); got != want {
		t.Errorf("schedule: %v, want %v", got, want)
	}
}

// TestGainHasRoom: no estimate lies at an end of its range, and a change that leaves a loop host-bound is less sure
// than one that does not.
func TestGainHasRoom(t *testing.T) {
	p := build(t, launched)
	k := NewPricer(p)
	e := p.Edit()
	for i := range e.Works {
		e.ScaleDur(int32(i), 0.5, 0.5, 0.5)
	}
	g := k.Unprofiled(e).Gain
	if g.Ns <= 0 || g.LowNs > 0.93*g.Ns || g.HighNs < 1.07*g.Ns {
		t.Errorf("half the kernels' time: %v", g)
	}
	e = p.Edit()
	for i := range e.Calls {
		if e.Calls[i].Wait != WaitNothing {
			e.Stub(int32(i))
		}
	}
	// the host's own 40 µs and 5 µs of launching are what is left
	if g := k.Unprofiled(e).Gain; g.Ns <= 0 || g.HighNs-g.LowNs < 2*changedShare*40_000 {
		t.Errorf("no waits: %v", g)
	}
}
