package doctor

import (
	"fmt"
	"path"
)

var ncu = Check{ID: "ncu", Title: "Nsight Compute", For: []Purpose{NCU}, Run: func(x *exam) []Result {
	onPath, others := x.tools("ncu")
	switch {
	case len(onPath) == 0 && len(others) == 0:
		return []Result{{State: Missing, Text: "ncu is not found",
			Cost:  "why a single kernel is slow cannot be measured here; timelines can be recorded",
			Fix:   "install it from NVIDIA (CUDA's repository has nsight-compute; the toolkit contains it)",
			Stops: []Purpose{NCU}}}
	case len(onPath) == 0:
		at := others[0].path
		return []Result{{State: OK, Text: toolWords(others) + "; none is on the PATH",
			Commands: []string{fmt.Sprintf("export PATH=%s:$PATH", path.Dir(at))}}}
	}
	return fine(toolWords(onPath))
}}
