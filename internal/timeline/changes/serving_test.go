package changes

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
	"lacuna/internal/timeline/servesim"
)

// ramp is a load whose batch grows and shrinks, so that decode steps have many sizes.
func ramp(engine string) servesim.Load {
	l := servesim.Load{Engine: engine, Outputs: 40, Arrive: 2, Chunk: 4096, Graphs: true, Layers: 8,
		ScheduleNs: 60_000, PrepareNs: 40_000}
	for i := range 24 {
		l.Prompts = append(l.Prompts, 100+40*(i%7))
	}
	return l
}

// steady is the same with n requests from the first step to the last.
func steady(l servesim.Load, n int) servesim.Load {
	l.Arrive, l.Prompts = 0, slices.Repeat([]int{100}, n)
	return l
}

// serve is a program of a load's steps of a kind, with its facts' steps.
func serve(t *testing.T, l servesim.Load, opt facts.StepOptions) *replay.Program {
	t.Helper()
	events, _ := l.Run()
	trace, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.With(trace, opt)
	steps, err := f.Steps()
	if err != nil {
		t.Fatal(err)
	}
	return replay.Build(f, steps)
}

// predict is a mean step with a change, and its bounds.
func predict(t *testing.T, p *replay.Program, text string) (ns, low, high float64) {
	t.Helper()
	c, arg, err := Find(text)
	if err != nil {
		t.Fatal(err)
	}
	e := p.Edit()
	if _, err := c.Apply(e, arg); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	price := replay.NewPricer(p).Price(e).Profiled
	return price.Ns, price.LowNs, price.HighNs
}

// TestBatchIsTrue: decode steps of a batch, predicted from a capture of other batches, take as long as they do; with a
// scheduler that waits for each step's tokens and with one that works ahead.
func TestBatchIsTrue(t *testing.T) {
	for _, engine := range []string{"vllm", "vllm-detailed", "sglang", "trtllm", "atom"} {
		for _, ahead := range []bool{false, true} {
			l := ramp(engine)
			l.Ahead = ahead
			p := serve(t, l, facts.StepOptions{Kind: facts.KindDecode})
			for _, n := range []int{4, 12, 20} {
				got, low, high := predict(t, p, fmt.Sprintf("batch:%d", n))
				q := serve(t, steady(l, n), facts.StepOptions{Kind: facts.KindDecode})
				want := q.Steps.MeanNs()
				if math.Abs(got-want) > 0.02*want || want < low || want > high {
					t.Errorf("%s, ahead %v: batch of %d is predicted to take %.0f ns (%.0f to %.0f), takes %.0f",
						engine, ahead, n, got, low, high, want)
				}
			}
		}
	}
}

// TestChunkIsTrue: steps that read pieces of prompts of a size, predicted from a capture of other sizes.
func TestChunkIsTrue(t *testing.T) {
	l := servesim.Load{Engine: "vllm", Outputs: 60, Arrive: 3, Chunk: 2048, Mixed: true, Graphs: true, Layers: 8,
		ScheduleNs: 60_000, PrepareNs: 40_000}
	for i := range 24 {
		l.Prompts = append(l.Prompts, 150+83*i)
	}
	same := l
	same.Prompts, same.Arrive = []int{100, 100, 100, 100, 100, 100, 100, 100, 600 * 12}, 0
	same.Chunk = 600
	p := serve(t, l, facts.StepOptions{Kind: facts.KindMixed})
	got, low, high := predict(t, p, "chunk:600")
	q := serve(t, same, facts.StepOptions{Kind: facts.KindMixed})
	want := q.Steps.MeanNs()
	if math.Abs(got-want) > 0.05*want || want < low || want > high {
		t.Errorf("pieces of 600 tokens are predicted to take %.0f ns (%.0f to %.0f), take %.0f", got, low, high, want)
	}
}

// TestOverlapScheduleIsTrue: a scheduler that waits, predicted to work ahead, takes as long as one that does, however
// much the host has to do.
func TestOverlapScheduleIsTrue(t *testing.T) {
	for _, hostNs := range []int64{20_000, 100_000, 300_000, 900_000} {
		l := steady(ramp("sglang"), 8)
		l.ScheduleNs = hostNs
		ahead := l
		ahead.Ahead = true
		p := serve(t, l, facts.StepOptions{Kind: facts.KindDecode})
		got, low, high := predict(t, p, "overlap-schedule")
		q := serve(t, ahead, facts.StepOptions{Kind: facts.KindDecode})
		want := q.Steps.MeanNs()
		if math.Abs(got-want) > 0.03*want || want < low || want > high {
			t.Errorf("host work of %d ns: predicted %.0f ns (%.0f to %.0f), takes %.0f", hostNs, got, low, high, want)
		}
		c, arg, _ := Find("overlap-schedule")
		if _, err := c.Apply(q.Edit(), arg); err == nil || !strings.Contains(err.Error(), "ahead already") {
			t.Errorf("of a scheduler that works ahead: %v", err)
		}
	}
}

// TestSizesRefused: what the capture does not show is refused, with the reason.
func TestSizesRefused(t *testing.T) {
	decode, few := facts.StepOptions{Kind: facts.KindDecode}, ramp("vllm")
	few.Prompts = few.Prompts[:3]
	for _, x := range []struct {
		p           *replay.Program
		change, why string
	}{
		{serve(t, ramp("vllm"), decode), "batch:40", "no decode step of that size; it has 1 to"},
		{serve(t, few, decode), "batch:2", "8 distinct sizes of decode steps are needed, there are 3"},
		{serve(t, ramp("vllm"), decode), "chunk:512", "are decode steps; --kind mixed"},
		{serve(t, ramp("vllm"), facts.StepOptions{Kind: facts.KindPrefill}), "batch:4",
			"are prefill steps; --kind decode"},
		{build(t, "step 0+100000\nstep 100000+100000\ncall c1 1000+5000 cudaLaunchKernel\ncall c2 101000+5000 "+
			"cudaLaunchKernel\nkernel c1 8100+5000 a\nkernel c2 108100+5000 a\n"), "batch:4", "no marks of a serving engine"},
	} {
		c, arg, err := Find(x.change)
		if err != nil {
			t.Fatal(err)
		}
		var no *NotAllowedError
		if _, err := c.Apply(x.p.Edit(), arg); !errors.As(err, &no) || !strings.Contains(err.Error(), x.why) {
			t.Errorf("%s: %v, want %q", x.change, err, x.why)
		}
	}
}

// TestBatchByContext: where marks say how many tokens requests attend to, both count; and a batch whose requests
// would attend to more than any step of the capture is refused.
func TestBatchByContext(t *testing.T) {
	var b strings.Builder
	at, sum := int64(0), 0.0
	const steps = 14
	gpu := func(n, context int64) int64 { return 50_000 + 3_000*n + 2*context }
	for i := range int64(steps) {
		n, context := 9+i%8, (9+i%8)*500+i*i%5*700
		sum += float64(gpu(10, context*10/n)) / (steps - 1)
		if i == steps-1 {
			sum -= float64(gpu(10, context*10/n)) / (steps - 1) // its mark only ends the step before
		}
		fmt.Fprintf(&b, "range annotation %d+15000 execute_%d_context_0(sq0sk0sqsq0sqsk0)_generation_%d"+
			"(sq%dsk%dsqsq%dsqsk%d)\n", at, n, n, n, context, n, context)
		fmt.Fprintf(&b, "call c%d %d+5000 cudaGraphLaunch\ngraph s7 c%d %d+%d\n", i+1, at+5_000, i+1, at+12_100,
			gpu(n, context))
		at += gpu(n, context) + 14_000
		fmt.Fprintf(&b, "call c%d %d+%d cudaStreamSynchronize\n", 100+i, at-gpu(n, context), gpu(n, context))
	}
	p := build(t, b.String())
	c, _, err := Find("batch:10")
	if err != nil {
		t.Fatal(err)
	}
	e := p.Edit()
	if _, err := c.Apply(e, "10"); err != nil {
		t.Fatal(err)
	}
	var got float64
	for i := range e.Works {
		if w := &e.Works[i]; w.Call >= 0 && e.InWindow(w.Call) {
			got += float64(w.DurNs) / (steps - 1)
		}
	}
	if math.Abs(got-sum) > 0.001*sum || !strings.Contains(strings.Join(e.Notes, " "), "tokens to attend to") {
		t.Errorf("steps of 10 take %.0f ns of GPU time, want %.0f; %v", got, sum, e.Notes)
	}
	far := p.Edit()
	for i := range far.Steps.Engine.Each {
		far.Steps.Engine.Each[i].Context += 90_000 // whatever the batch: 16 requests would attend to more
	}
	if _, err := c.Apply(far, "16"); err == nil || !strings.Contains(err.Error(), "would attend to") {
		t.Errorf("a batch beyond what the capture's steps attend to: %v", err)
	}
}
