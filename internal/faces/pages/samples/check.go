// Package samples has answers for tests to print: every verdict, and names of strangers.
package samples

import (
	"fmt"
	"testing"

	"lacuna/internal/runs/gate"
	"lacuna/internal/runs/measure"
)

// Check has a row of every verdict, and names of strangers.
func Check(t testing.TB) *gate.Result {
	t.Helper()
	side := func(f float64, mhz float64) (out []*measure.Run) {
		for i := range 6 {
			d := []float64{0, 1, -1, 2, -2, 0.5}[i]
			x := func(name, unit string, better measure.Better, v float64) measure.Measure {
				return measure.Measure{Name: name, Unit: unit, Better: better, Samples: []float64{v}}
			}
			r := &measure.Run{Name: fmt.Sprintf("run%d", i), Machine: measure.Machine{GPU: "NVIDIA H200"},
				Conditions: []measure.Condition{{Name: "sm_mhz", Median: mhz}}, Measures: []measure.Measure{
					x("step", "ms", measure.Lower, 10*f+0.01*d), x("noise", "ms", measure.Lower, 10*f+1*d),
					x("gain", "s",
						measure.Lower, 5/f+0.01*d),
					x("tokens_per_s", "tokens/s", measure.Higher, 1000+d), x("kernel:void f<int*>(a|b)\n`x`", "ms",
						measure.Lower, f*f*f*f), x("peak_memory", "bytes", measure.Lower, 4e9)}}
			r.Sort()
			out = append(out, r)
		}
		return out
	}
	twelve, err := gate.ParseBudget("step<=12ms")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gate.Check(side(1, 1980), side(1.1, 1980), gate.Options{Config: "ci/lacuna.yaml",
		Inputs: []string{"new runs/a.json"}, Baseline: "base.json", Rules: []gate.Rule{
			{Pattern: "step", From: "ci/lacuna.yaml line 4", Line: 4}, {Pattern: "noise", From: "ci/lacuna.yaml line 5",
				Line: 5}, {Pattern: "gain", From: "ci/lacuna.yaml line 6", Line: 6},
			{Pattern: "noise:p90", From: "ci/lacuna.yaml line 7", Line: 7, Inconclusive: "pass"}, {Pattern: "*",
				From: "ci/lacuna.yaml line 8", Line: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := gate.Check(nil, side(1.1, 1980), gate.Options{Rules: []gate.Rule{twelve}})
	if err != nil {
		t.Fatal(err)
	}
	r.Measures = append(r.Measures, b.Measures...)
	missing := r.Measures[0]
	missing.Name, missing.Verdict, missing.Before, missing.Why = "lost", gate.NotComparable, nil,
		"it was not measured before"
	r.Measures = append(r.Measures, missing)
	r.Warnings = append(r.Warnings, "other processes used the GPU in 1 of 6 new runs, before in 0 of 6: python "+
		"(pid 7)")
	r.Location.File = "ci/lacuna.yaml"
	return r
}
