package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
)

// exchanging is a loop of n steps of 1 ms: a kernel of computeNs, and a collective that takes the rest, which the next
// step's kernel waits for on the same stream. The host takes 20 µs for a step, and is far ahead.
func exchanging(n, computeNs int) string {
	var b strings.Builder
	for i := range n {
		host, device, c := i*20_000, 8_100+i*1_000_000, 2*i
		fmt.Fprintf(&b, "step %d+20000\n", host)
		fmt.Fprintf(&b, "call c%d %d+5000 cudaLaunchKernel\nkernel c%d %d+%d gemm\n", c+1, host+1_000, c+1, device,
			computeNs)
		fmt.Fprintf(&b, "call c%d %d+5000 cudaLaunchKernel\nkernel c%d %d+%d ncclDevKernel_AllReduce_Sum_f32_RING_LL\n",
			c+2, host+7_000, c+2, device+computeNs+1_200, 1_000_000-computeNs-2_400)
	}
	return b.String()
}

func findingOf(r *report.Report, rule string) *report.Finding {
	i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Rule == rule })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// TestGainsNothing: nine tenths of the step are communication, which overlap can hide behind next to no computation.
// The finding stays, without a price, with what bounds the step.
func TestGainsNothing(t *testing.T) {
	r := reportOn(t, []*facts.Facts{of(t, exchanging(8, 1_500))}, 0, nil)
	f := findingOf(r, "comm_exposed")
	if f == nil {
		t.Fatalf("comm_exposed is not listed: %+v", r.Findings)
	}
	if n := f.NoGain; n == nil || n.Kind != report.GainsNothing || n.Change != "overlap-comm" || n.BoundBy != "comm" ||
		n.BoundMs < 0.9 || f.Change != "" || f.RecoverableMs != 0 || f.AtMostMs < 0.9 || f.Severity != "info" {
		t.Errorf("%s, at most %v ms, change %q, no gain %+v", f.Severity, f.AtMostMs, f.Change, f.NoGain)
	}
}

// TestOrder: what has no price stands among what has one by the time that it concerns.
func TestOrder(t *testing.T) {
	of := func(rule string, atMostMs, gainMs float64, no *report.NoGain) report.Finding {
		f := report.Finding{Rule: rule, AtMostMs: atMostMs, RecoverableMs: gainMs, GainHighMs: gainMs, NoGain: no}
		if no.Unknown() {
			f.GainHighMs = atMostMs
		}
		return f
	}
	refused, nothing := &report.NoGain{Kind: report.ChangeRefused}, &report.NoGain{Kind: report.GainsNothing}
	d := &desk{nowNs: 900e6, stepNs: 900e6, worth: []report.Finding{
		of("small", 15, 0, refused), of("refused", 562, 0, refused), of("nothing", 600, 0, nothing)}}
	for _, ms := range []float64{700, 80} {
		d.priced = append(d.priced, priced{gainNs: ms * 1e6, f: of(fmt.Sprint(ms), ms, ms, nil)})
	}
	var got []string
	for _, f := range d.out() {
		got = append(got, f.Rule)
	}
	if want := []string{"700", "refused", "80", "small", "nothing"}; !slices.Equal(got, want) {
		t.Errorf("order is %v, want %v", got, want)
	}
}

// TestCeiling: no gain is larger than the time that the fault concerns, nor is its range beyond what runs differ by.
func TestCeiling(t *testing.T) {
	g := atMost(replay.Range{Ns: 372, LowNs: 371, HighNs: 424}, 30)
	if g.Ns != 30 || g.LowNs >= 30 || g.HighNs > 33.1 {
		t.Errorf("capped to %+v", g)
	}
	if g := (replay.Range{Ns: 20, LowNs: 10, HighNs: 25}); atMost(g, 30) != g || atMost(g, 0) != g {
		t.Errorf("changed to %+v", atMost(g, 30))
	}
}

// TestNegligible: values are read, which costs 2.5 % of the step with the work to read them and gains under 2 %. The
// finding is kept apart, so that who asks for the rule is not told that it found nothing.
func TestNegligible(t *testing.T) {
	var b strings.Builder
	for i := range 16 {
		at, c := (i/4)*6_000_000+(i%4)*1_400_000, 2*i
		if i%4 == 0 {
			fmt.Fprintf(&b, "step %d+6000000\n", at)
		}
		fmt.Fprintf(&b, "call c%d %d+5000 cudaLaunchKernel\nkernel c%d %d+20000 gemm\n", c+1, at+5_000, c+1, at+12_000)
		fmt.Fprintf(&b, "call c%d %d+3000 cudaMemcpyAsync\ncopy DtoH device->pinned c%d bytes=4 %d+1000\n", c+2,
			at+40_000, c+2, at+44_000)
		fmt.Fprintf(&b, "call %d+2000 cudaStreamSynchronize\n", at+45_000)
	}
	r := reportOn(t, []*facts.Facts{of(t, b.String())}, 0, nil)
	if f := findingOf(r, "host_sync"); f != nil {
		t.Errorf("listed: %+v", f)
	}
	if len(r.Negligible) != 1 || r.Negligible[0].Rule != "host_sync" {
		t.Errorf("kept apart: %+v", r.Negligible)
	}
}
