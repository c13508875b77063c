package doctor

import (
	"path"
	"slices"
	"strings"
)

var nsys = Check{ID: "nsys", Title: "Nsight Systems", Run: func(x *exam) []Result {
	onPath, others := x.tools("nsys")
	all := slices.Concat(onPath, others)
	if len(all) == 0 {
		return fine("none; lacuna record does not need it (record --with nsys does)")
	}
	r := Result{State: OK, Text: toolWords(all)}
	if len(onPath) == 0 {
		r.Text += "; none is on the PATH"
		r.Commands = []string{"export PATH=" + path.Dir(others[0].path) + ":$PATH"}
	}
	if slices.ContainsFunc(all, func(t tool) bool { return !older(t.version, "2026") }) {
		if gpu := x.hasGPU("GB200", "GB300"); gpu != "" {
			r.State, r.Cost = Limited, "the hardware tracing of nsys 2026 crashes programs on "+gpu+" (NeMo-RL#4090)"
			r.Fix = "trace with cuda-sw in place of cuda (nsys profile --trace=cuda-sw,nvtx)"
		}
	}
	return []Result{r}
}}

// hasGPU is the name of a GPU that has one of the words in it.
func (x *exam) hasGPU(words ...string) string {
	if x.library != nil {
		for _, d := range x.library.Devices() {
			if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(d.Name, w) }) {
				return d.Name
			}
		}
	}
	return ""
}
