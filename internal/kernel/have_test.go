package kernel

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

func TestGaps(t *testing.T) {
	reports := corpusReports(t)
	if g := reports["gemm"][0].Gaps(); g != nil {
		t.Errorf("a full report lacks %+v", g)
	}
	parts := func(gaps []Gap) (out []string) {
		for _, g := range gaps {
			out = append(out, g.Part)
		}
		return out
	}
	basic := parts(reports["cs599k-gh200-2025.1-triton-basic"][0].Gaps())
	if slices.Contains(basic, "its duration") || !slices.Contains(basic, "its warp stall reasons") ||
		slices.Contains(basic, "its achieved occupancy") {
		t.Errorf("basic set: %q", basic)
	}
	nothing := reports["cs599k-gh200-2025.1-memset"][0].Gaps()
	with := CollectWith(nothing)
	if len(nothing) < 8 || strings.Count(with, "SpeedOfLight ") != 1 ||
		!strings.HasPrefix(with, "--section SpeedOfLight") {
		t.Errorf("nothing collected: %q", with)
	}
	if CollectWith(nil) != "" {
		t.Error("options for nothing")
	}
}

func TestClocks(t *testing.T) {
	reports := corpusReports(t)
	// Held at 1.10 of 1.755 GHz; DRAM, at 89 % of its peak, does not get faster with the SMs.
	c := reports["cs599k-h100-2025.1-silu"][0].Clocks()
	if !c.Locked || !c.Slowed() || c.AtBoostUs > 0.97*c.Us || c.AtBoostUs < 0.94*c.Us || c.LowUs > c.AtBoostUs ||
		c.HighUs < c.Us {
		t.Errorf("%+v", c)
	}
	// Bound by its instructions: time falls with the clock.
	c = reports["cudacode-gtx1660s-2024.1-gemm"][0].Clocks()
	if ratio := c.AtBoostUs / c.Us; ratio > 0.86 || ratio < 0.83 || !strings.Contains(c.Words(), "1.53 of 1.81 GHz") {
		t.Errorf("%+v %s", c, c.Words())
	}
	// 11 us: the clock is measured wrong, and nothing is made of it.
	if c := reports["ncar-v100-2022.2-baseline"][0].Clocks(); c.SMHz.Known || c.AtBoostUs != c.Us || c.Words() != "" {
		t.Errorf("%+v", c)
	}
	if c := reports["compute_bound_at_peak"][0].Clocks(); c.Slowed() || c.AtBoostUs != c.Us {
		t.Errorf("%+v", c)
	}
}

func TestSummarise(t *testing.T) {
	report := &profile.Report{}
	ns := report.Names.ID("gpu__time_duration.sum")
	add := func(name string, grid uint32, us float64) *Kernel {
		l := &profile.Launch{Report: report, Name: name, Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{32, 1, 1}}
		if us > 0 {
			l.Metrics = []profile.Metric{profile.NewMetric(ns, profile.Value{Kind: profile.Double, Float: us * 1000},
				false, nil)}
		}
		report.Launches = append(report.Launches, l)
		return Of(l)
	}
	all := []*Kernel{add("a", 1, 30), add("b", 1, 5), add("a", 1, 10), add("a", 2, 7), add("a", 1, 20), add("c", 1, 0)}
	got := Summarise(all)
	if len(got) != 4 {
		t.Fatalf("%d kernels", len(got))
	}
	a := got[0]
	if len(a.Launches) != 3 || a.MedianUs != 20 || a.Middle != all[4] || a.MinUs != 10 || a.MaxUs != 30 ||
		a.TotalUs != 60 || a.Spread != 0.5 {
		t.Errorf("%+v", a)
	}
	if c := got[3]; c.Timed != 0 || c.Middle != all[5] || c.MedianUs != 0 {
		t.Errorf("not timed: %+v", c)
	}
}

// Nothing of a launch with hostile or missing numbers may panic, or be what JSON cannot hold.
func TestHostileNumbers(t *testing.T) {
	var names []string
	for _, m := range corpusReports(t)["gemm"][0].Launch.Metrics {
		names = append(names, corpusReports(t)["gemm"][0].Launch.Report.Names.Text(m.Name))
	}
	all := func(v ...float64) map[string]float64 {
		out := make(map[string]float64)
		for i, name := range names {
			out[name] = v[i%len(v)]
		}
		return out
	}
	for _, metrics := range []map[string]float64{
		nil, all(1e308), all(0), all(-1e18), all(5e-324), all(math.NaN()), all(math.Inf(1)), all(1, 1e23, 1e-23),
		all(1e23, 0, 1, 1e-23, 3),
	} {
		k := launch(metrics)
		k.Launch.Block = [3]uint32{1 << 31, 1 << 31, 1 << 31}
		k.Launch.Grid = [3]uint32{1 << 31, 1 << 31, 1 << 31}
		for _, part := range []any{k.SpeedOfLight(), k.Roofline(), k.Stalls(), k.Occupancy(), k.Memory(), k.Mix(),
			k.Clocks(), k.Gaps(), k.Loads()} {
			if _, err := json.Marshal(part); err != nil {
				t.Errorf("%T: %v", part, err)
			}
		}
		k.WhatIf(WhatIf{Registers: 1 << 30, SharedBytes: 1 << 30, Threads: 1 << 30})
		k.WhatIf(WhatIf{Registers: 32, SharedBytes: 0, Threads: 128})
	}
}

// Whatever part of the metrics was collected, what is said stays within bounds, and what takes a metric
// that is not there is not said.
func TestAnySubsetOfMetrics(t *testing.T) {
	reports := corpusReports(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"gemm", "reduction", "spill_launch_bounds", "cs599k-a100-2025.1-silu",
		"ncar-v100-2022.2-baseline", "mistic-a100-2020.3-bigcross3", "cudacode-gtx1660s-2024.1-gemm"} {
		for range 40 {
			whole := reports[name][0].Launch
			part := *whole
			part.Metrics = slices.DeleteFunc(slices.Clone(whole.Metrics),
				func(profile.Metric) bool { return random.IntN(3) == 0 })
			k := Of(&part)
			checkBounds(t, name, k)
		}
	}
}

func checkBounds(t *testing.T, name string, k *Kernel) {
	t.Helper()
	if s := k.SpeedOfLight(); s != nil && s.Class != Unclassified && s.Why == "" {
		t.Errorf("%s: %s for no reason", name, s.Class)
	}
	if s := k.Stalls(); s != nil {
		total := 0.0
		for _, r := range s.Reasons {
			total += r.Share
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("%s: stalls sum to %g", name, total)
		}
	}
	if r := k.Roofline(); r != nil {
		for _, p := range r.Points {
			if p.Reached > 1.05 || p.Reached <= 0 {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	if o := k.Occupancy(); o != nil && (o.Theoretical <= 0 || o.Theoretical > 1 || o.TailShare < 0 ||
		o.TailShare >= 1) {
		t.Errorf("%s: %+v", name, o)
	}
	if m := k.Memory(); m != nil {
		for _, v := range []Measure{m.Excessive, m.Local, m.AtomicBusiest, m.AtomicMean} {
			if v.Value < 0 || v.Value > 1.05 {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}
	if m := k.Mix(); m != nil && (m.Lanes.Value > 32 || m.Replayed.Value > 1 || m.Divergent.Value > 1) {
		t.Errorf("%s: %+v", name, m)
	}
	if c := k.Clocks(); c != nil && !(c.LowUs <= c.AtBoostUs && c.AtBoostUs <= c.HighUs) {
		t.Errorf("%s: %+v", name, c)
	}
	k.Gaps()
}

// A printed page says what the report says, as far as it goes: it has rounded numbers and no opcodes.
func TestPagesSayTheSame(t *testing.T) {
	reports := corpusReports(t)
	pages, err := readAll("raw_base.csv*")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range names(pages) {
		if len(pages[name]) != len(reports[name]) {
			t.Errorf("%s: %d launches on the page, %d in the report", name, len(pages[name]), len(reports[name]))
			continue
		}
		for i, page := range pages[name] {
			compared++
			a, b := page.SpeedOfLight(), reports[name][i].SpeedOfLight()
			if (a == nil) != (b == nil) || a != nil && a.Class != b.Class {
				t.Errorf("%s %s: %+v on the page, %+v in the report", name, page.Launch.Base, a, b)
			}
			x, y := page.Occupancy(), reports[name][i].Occupancy()
			if (x == nil) != (y == nil) || x != nil &&
				(x.Theoretical != y.Theoretical || x.Limiter() != y.Limiter() || x.Waves != y.Waves) {
				t.Errorf("%s %s: %+v on the page, %+v in the report", name, page.Launch.Base, x, y)
			}
		}
	}
	if compared < 125 {
		t.Errorf("%d launches", compared)
	}
}
