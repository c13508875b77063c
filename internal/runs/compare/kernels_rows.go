package compare

import (
	"fmt"
	"math"
	"strings"

	"lacuna/internal/kernel/kernelreport"
)

// A sheetMetric is a number of a kernel and what its change means.
type sheetMetric struct {
	name, unit string
	of         func(k *kernelreport.Kernel) *float64 // nil: not measured
	means      func(b, a float64) string
}

const (
	// movedShare is a change of a count that is shown: multi-pass counters of one kernel disagree by less.
	movedShare = 0.05
	// movedPoints is a change of a percentage, in points.
	movedPoints = 2
	// waitMatters is the share of the time of warps from which a reason to wait has a row.
	waitMatters = 0.15
)

// sheetRows is the metrics that both have and that moved; the time always.
func sheetRows(b, a *kernelreport.Kernel) []SheetRow {
	out := []SheetRow{}
	for _, m := range append(sheetMetrics(), waitMetrics(b, a)...) {
		x, y := m.of(b), m.of(a)
		if x == nil || y == nil || m.name != "time" && !moved(*x, *y, m.unit) {
			continue
		}
		r := SheetRow{Metric: m.name, Unit: m.unit, Before: *x, After: *y, Meaning: m.means(*x, *y)}
		if *x != 0 {
			pct := 100 * (*y/(*x) - 1)
			r.ChangePct = &pct
		}
		out = append(out, r)
	}
	return out
}

func moved(b, a float64, unit string) bool {
	if unit == "%" {
		return math.Abs(a-b) >= movedPoints
	}
	return math.Abs(a-b) > movedShare*math.Max(math.Abs(a), math.Abs(b))
}

// waitMetrics is the reasons to wait that matter on either side, those of before first.
func waitMetrics(b, a *kernelreport.Kernel) (out []sheetMetric) {
	seen := make(map[string]bool)
	for _, k := range []*kernelreport.Kernel{b, a} {
		for _, p := range k.StallParts {
			if p.Share < waitMatters || seen[p.Name] || p.Name == "" {
				continue
			}
			seen[p.Name] = true
			name := p.Name
			means := wait
			if name == work {
				means = func(b, a float64) string { return either(a > b, "warps stall less", "warps stall more") }
			}
			out = append(out, sheetMetric{"warps: " + strings.TrimPrefix(name, "waiting for "), "%",
				func(k *kernelreport.Kernel) *float64 { return waitPct(k, name) }, means})
		}
	}
	return out
}

func waitPct(k *kernelreport.Kernel, name string) *float64 {
	if len(k.StallParts) == 0 {
		return nil
	}
	share := 0.0
	for _, p := range k.StallParts {
		if p.Name == name {
			share = 100 * p.Share
		}
	}
	return &share
}

func sheetMetrics() []sheetMetric {
	return []sheetMetric{
		{"time", "us", func(k *kernelreport.Kernel) *float64 { return k.DurationUs }, func(b, a float64) string {
			switch {
			case a <= 0 || b <= 0 || !moved(b, a, "us"):
				return "the same"
			case a < b:
				return few(b/a) + " times as fast"
			}
			return few(a/b) + " times as slow"
		}},
		{"DRAM bandwidth used", "%", usedPct("dram"), busy("memory")},
		{"memory (SOL)", "%", func(k *kernelreport.Kernel) *float64 {
			if k.SOL == nil {
				return nil
			}
			return k.SOL.MemoryPct
		}, busy("memory")},
		{"compute (SOL)", "%", func(k *kernelreport.Kernel) *float64 {
			if k.SOL == nil {
				return nil
			}
			return k.SOL.SMPct
		}, busy("arithmetic")},
		{"DRAM traffic", "bytes", linkBytes("L2", "DRAM"), less("DRAM traffic")},
		{"L1-L2 traffic", "bytes", linkBytes("L1", "L2"), less("L2 traffic")},
		{"L1 hit rate", "%", hitPct("L1"), hits("L1")},
		{"L2 hit rate", "%", hitPct("L2"), hits("L2")},
		{"sectors per global load", "", sectors("load"), coalesced},
		{"sectors per global store", "", sectors("store"), coalesced},
		{"shared memory: bank conflicts", "%", conflictsPct, fewer("shared memory replays")},
		{"instructions executed", "", func(k *kernelreport.Kernel) *float64 {
			if k.Mix == nil {
				return nil
			}
			return k.Mix.Instructions
		}, func(b, a float64) string {
			return strings.Replace(less("instructions")(b, a), " less ", " fewer ", 1)
		}},
		{"active lanes per warp, of 32", "", func(k *kernelreport.Kernel) *float64 {
			if k.Mix == nil {
				return nil
			}
			return k.Mix.Lanes
		}, func(b, a float64) string { return either(a > b, "warps are fuller", "more lanes are idle") }},
		{"achieved occupancy", "%", func(k *kernelreport.Kernel) *float64 {
			if k.Occupancy == nil {
				return nil
			}
			return k.Occupancy.AchievedPct
		}, func(b, a float64) string {
			return either(a > b, "more warps to hide latency", "no loss where latency is low")
		}},
		{"registers per thread", "", registers, func(b, a float64) string {
			return either(a > b, "fewer warps may fit", "more warps may fit")
		}},
	}
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// ratio is how much less, or more, a is than b, both over 0.
func ratio(b, a float64) string {
	if a < b {
		if b/a < 1.5 {
			return fmt.Sprintf("%.0f %% less", 100*(1-a/b))
		}
		return few(b/a) + " times less"
	}
	if a/b < 1.5 {
		return fmt.Sprintf("%.0f %% more", 100*(a/b-1))
	}
	return few(a/b) + " times as much"
}

// few is a ratio with two or three digits.
func few(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

func busy(what string) func(b, a float64) string {
	return func(b, a float64) string {
		switch {
		case a >= 60 && b >= 60:
			return "still limited by " + what
		case a >= 60:
			return "now near the limit of the device"
		case b >= 60:
			return what + " no longer limits it"
		}
		return either(a > b, "closer to a limit", "further from a limit")
	}
}

func less(what string) func(b, a float64) string {
	return func(b, a float64) string {
		if a <= 0 || b <= 0 {
			return either(a > b, "new "+what, "no more "+what)
		}
		return ratio(b, a) + " " + what
	}
}

func fewer(what string) func(b, a float64) string {
	return func(b, a float64) string { return either(a < b, "fewer ", "more ") + what }
}

func hits(level string) func(b, a float64) string {
	return func(b, a float64) string {
		return either(a > b, "more reuse out of "+level, "no loss where fewer bytes are requested")
	}
}

func coalesced(b, a float64) string {
	return either(a < b, "better coalesced", "worse coalesced, or wider loads")
}

// work is issuing: the part of the warps' time that is not waiting.
const work = "issuing or ready"

func wait(b, a float64) string {
	switch {
	case a < noStall:
		return "gone"
	case b < noStall:
		return "new: warps stall on this now"
	case a < b && a < fewStalls*b:
		return "nearly gone"
	case a < b:
		return fmt.Sprintf("%.0f points less of warp time", b-a)
	}
	return fmt.Sprintf("%.0f points more of warp time", a-b)
}

const (
	noStall   = 0.05 // percent of warp time that print as 0.0
	fewStalls = 0.1  // of what a stall took: below it a ratio says nothing, 35 % to 1.1 % is not "33 times less"
)

func usedPct(part string) func(k *kernelreport.Kernel) *float64 {
	return func(k *kernelreport.Kernel) *float64 {
		if k.SOL == nil {
			return nil
		}
		for i, p := range k.SOL.Parts {
			if p.Name == part {
				return &k.SOL.Parts[i].Pct
			}
		}
		return nil
	}
}

func link(k *kernelreport.Kernel, from, to string) *kernelreport.Link {
	if k.Memory == nil {
		return nil
	}
	for i, l := range k.Memory.Links {
		if strings.EqualFold(l.To, to) && (from == "" || strings.EqualFold(l.From, from)) {
			return &k.Memory.Links[i]
		}
	}
	return nil
}

func linkBytes(from, to string) func(k *kernelreport.Kernel) *float64 {
	return func(k *kernelreport.Kernel) *float64 {
		l := link(k, from, to)
		if l == nil || l.ReadBytes == nil || l.WriteBytes == nil {
			return nil
		}
		sum := *l.ReadBytes + *l.WriteBytes
		return &sum
	}
}

func hitPct(level string) func(k *kernelreport.Kernel) *float64 {
	return func(k *kernelreport.Kernel) *float64 {
		if l := link(k, "", level); l != nil {
			return l.HitPct
		}
		return nil
	}
}

func sectors(op string) func(k *kernelreport.Kernel) *float64 {
	return func(k *kernelreport.Kernel) *float64 {
		if k.Memory == nil {
			return nil
		}
		for i, x := range k.Memory.Accesses {
			if x.Space == "global" && x.Op == op && x.Requests > 0 {
				return &k.Memory.Accesses[i].SectorsPerRequest
			}
		}
		return nil
	}
}

func conflictsPct(k *kernelreport.Kernel) *float64 {
	if k.Memory == nil || k.Memory.Shared == nil {
		return nil
	}
	return &k.Memory.Shared.ConflictsPct
}

func registers(k *kernelreport.Kernel) *float64 {
	if k.Occupancy == nil || k.Occupancy.Registers == 0 {
		return nil
	}
	n := float64(k.Occupancy.Registers)
	return &n
}
