package doctor

import (
	"fmt"
	"strings"
)

var dcgm = Check{ID: "dcgm", Title: "DCGM", For: []Purpose{NCU}, Run: func(x *exam) []Result {
	found := x.processes("nv-hostengine", "dcgm-exporter")
	if len(found) == 0 {
		return nil
	}
	var words []string
	for _, p := range found {
		words = append(words, fmt.Sprintf("%s (process %d)", p.name, p.pid))
	}
	return []Result{{State: Limited, Text: strings.Join(words, ", ") + " runs",
		Cost: "while it collects profiling metrics (DCGM_FI_PROF_...) it owns the GPU's counters, and ncu " +
			"fails; timelines are not affected",
		Fix:      "pause it while ncu runs, and resume it after",
		Commands: []string{"dcgmi profile --pause", "dcgmi profile --resume"}, Limits: []Purpose{NCU}}}
}}
