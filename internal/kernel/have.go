package kernel

import (
	"slices"
	"strings"
)

// A Gap is a part of the answer that a report lacks, and what collects it.
type Gap struct {
	Part     string   // in words
	Sections []string // of ncu, for --section
}

// Gaps is what the report does not let one say of this kernel; nil: all is there.
func (k *Kernel) Gaps() []Gap {
	var out []Gap
	need := func(known bool, part string, sections ...string) {
		if !known {
			out = append(out, Gap{Part: part, Sections: sections})
		}
	}
	_, timed := k.Microseconds()
	need(timed, "its duration", "SpeedOfLight")
	_, limited := k.Busiest()
	need(limited, "its speed of light (the unit that limits it)", "SpeedOfLight")
	r := k.Roofline()
	need(r != nil && len(r.Bandwidths) > 0 && (len(r.Peaks) > 0 || k.countedArithmetic()),
		"its position in the roofline", "SpeedOfLight_RooflineChart")
	need(k.Stalls() != nil, "its warp stall reasons", "WarpStateStats", "SchedulerStats")
	o := k.Occupancy()
	need(o != nil, "its theoretical occupancy", "LaunchStats", "Occupancy")
	need(o == nil || o.Achieved >= 0, "its achieved occupancy", "Occupancy")
	m := k.Memory()
	need(m != nil && len(m.Links) > 0, "its memory traffic", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Chart",
		"MemoryWorkloadAnalysis_Tables")
	_, _, sectors := k.GlobalSectors()
	need(sectors, "whether its accesses are coalesced, and its source lines", "SourceCounters")
	need(k.Opcodes() != nil, "its instruction mix", "InstructionStats")
	_, balanced := k.Imbalance()
	if _, means := k.number("sm__cycles_active.avg"); means {
		// the section is there, in an older version
		need(balanced, "the balance between its SMs, which ncu collects since 2024.1")
	} else {
		need(balanced, "the balance between its SMs", "SpeedOfLight")
	}
	return out
}

// countedArithmetic says that arithmetic was counted, if only to none.
func (k *Kernel) countedArithmetic() bool {
	_, ok := k.ThreadOps("ffma")
	return ok
}

// CollectWith is ncu's options for what is missing, each section once.
func CollectWith(gaps []Gap) string {
	var sections []string
	for _, g := range gaps {
		for _, s := range g.Sections {
			if !slices.Contains(sections, s) {
				sections = append(sections, s)
			}
		}
	}
	if sections == nil {
		return ""
	}
	return "--section " + strings.Join(sections, " --section ")
}
