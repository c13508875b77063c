package kernel

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestMemoryOfTheCorpusIsSane(t *testing.T) {
	reports := corpusReports(t)
	with := 0
	share := func(where, what string, m Measure) {
		if m.Known && !(m.Value >= 0 && m.Value <= 1) {
			t.Errorf("%s: %s %g", where, what, m.Value)
		}
	}
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			m := k.Memory()
			if m == nil {
				continue
			}
			with++
			where := name + " " + k.Launch.Base
			for _, a := range m.Accesses {
				share(where, a.Space+" "+a.Op+" hit", a.Hit)
				// At most a sector a lane; passes differ by up to 5 %.
				if a.PerRequest <= 0 || a.PerRequest > 32*1.05 || a.Used.Value > SectorBytes {
					t.Errorf("%s: %+v", where, a)
				}
			}
			for _, l := range m.Links {
				share(where, l.To+" hit", l.Hit)
				if l.Read.Value < 0 || l.Write.Value < 0 {
					t.Errorf("%s: %+v", where, l)
				}
			}
			share(where, "excessive", m.Excessive)
			share(where, "local", m.Local)
			if s := m.Shared; s != nil && (s.Conflicts < 0 || s.Conflicts > 1 || s.Ways < 1 || s.Ways > 33) {
				t.Errorf("%s: %+v", where, s)
			}
		}
	}
	if with < 75 {
		t.Errorf("%d launches with memory", with)
	}
}

func TestMemoryOfPlantedFaults(t *testing.T) {
	reports := corpusReports(t)
	of := func(report string, at int) *Memory { return reports[report][at].Memory() }

	if s := of("bank_rowdot", 0).Shared; s.Conflicts < 0.9 || s.Ways < 16 || !s.Exact {
		t.Errorf("all lanes in one bank: %+v", s)
	}
	if s := of("bank_rowdot", 1).Shared; s.Conflicts > 0.05 {
		t.Errorf("padded: %+v", s)
	}
	for at, want := range []float64{32, 4} { // a column a warp, a row a warp
		accesses := of("transpose", at).Accesses
		i := slices.IndexFunc(accesses, func(a Access) bool { return a.Space == "global" && a.Op == "store" })
		if got := accesses[i].PerRequest; math.Abs(got/want-1) > 0.05 {
			t.Errorf("%g sectors a store, want %g", got, want)
		}
	}
	if m := of("spill_launch_bounds", 0); m.Local.Value < 0.5 || m.Spills.Value <= 0 ||
		!has(m.Notes(), "spilled registers") {
		t.Errorf("spills: %+v %+v %q", m.Local, m.Spills, m.Notes())
	}
	if m := of("coalesce_aos", 0); m.Excessive.Value < 0.5 {
		t.Errorf("array of structures: %+v", m.Excessive)
	}
	if m := of("memory_latency", 0); m.Reuse.Value < 1.5 {
		t.Errorf("64 bytes of DRAM for a sector: %+v", m.Reuse)
	}
	if m := of("reduction", 0); !has(m.Notes(), "global reductions: 1 sectors per request") {
		t.Errorf("%q", m.Notes())
	}
	// Two arrays of 2^27 floats are read once.
	link := of("dram_bound_at_peak", 0).Links
	i := slices.IndexFunc(link, func(l Link) bool { return l.To == "DRAM" })
	if i < 0 || math.Abs(link[i].Read.Value/(2*4<<27)-1) > 0.01 {
		t.Errorf("%+v", link)
	}
}

func has(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, part) })
}

// 2020.3 has no wavefronts by address: the counters stand in, and say so.
func TestMemoryOfOldReports(t *testing.T) {
	reports := corpusReports(t)
	m := reports["mistic-a100-2020.3-bigcross3"][0].Memory()
	if m.Shared == nil || m.Shared.Exact || !m.Excessive.Known {
		t.Errorf("%+v", m)
	}
	for _, name := range []string{"cs599k-gh200-2025.1-memset", "esmm-a10g-2023.1-allmetrics"} {
		if m := reports[name][0].Memory(); m != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
