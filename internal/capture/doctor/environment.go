package doctor

import (
	"fmt"
	"path"
	"strings"
)

// injectors is what loads itself into CUDA programs, by a part of its library's path.
var injectors = []struct{ part, tool string }{
	{"libToolsInjection", "Nsight Systems"},
	{"nsight-systems", "Nsight Systems"},
	{"nsight-compute", "Nsight Compute"},
	{"libcuda-injection", "Nsight Compute"},
	{"parcagpu", "Parca"},
	{"zymtrace", "zymtrace"},
	{"libsanitizer", "Compute Sanitizer"},
	{"liblacuna", "lacuna"},
}

// toolOf names what a library belongs to.
func toolOf(lib string) string {
	for _, i := range injectors {
		if strings.Contains(lib, i.part) {
			return i.tool
		}
	}
	return path.Base(lib)
}

var environment = Check{ID: "environment", Title: "Environment", For: []Purpose{Record, NCU},
	Run: func(x *exam) (out []Result) {
		for _, name := range []string{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"} {
			if lib := x.Env(name); lib != "" {
				r := Result{State: Limited, Text: fmt.Sprintf("%s is set to %s (%s)", name, lib, toolOf(lib)),
					Commands: []string{"unset " + name}, Limits: []Purpose{Record, NCU}}
				r.Cost = "lacuna record passes it on, but only one tool can use CUPTI: the second one records no " +
					"GPU work"
				if name[0] == 'N' {
					r.Cost = "another tool receives the programs' NVTX ranges first"
				}
				if !x.exists(lib) {
					r.State, r.Cost = Broken, "no such file: programs that load it may fail"
				}
				out = append(out, r)
			}
		}
		for lib := range strings.FieldsFuncSeq(x.Env("LD_PRELOAD"), func(c rune) bool { return c == ':' || c == ' ' }) {
			if tool := toolOf(lib); tool != path.Base(lib) {
				out = append(out, Result{State: Limited, Text: fmt.Sprintf("LD_PRELOAD has %s (%s)", lib, tool),
					Cost:     "that tool is loaded into every program and may already use CUPTI",
					Commands: []string{"unset LD_PRELOAD"}, Limits: []Purpose{Record, NCU}})
			}
		}
		if v := x.Env("CUDA_LAUNCH_BLOCKING"); v != "" && v != "0" {
			out = append(out, Result{State: Limited, Text: "CUDA_LAUNCH_BLOCKING=" + v,
				Cost: "every launch waits for its kernel: the timeline does not show how the program runs " +
					"without it",
				Commands: []string{"unset CUDA_LAUNCH_BLOCKING"}, Limits: []Purpose{Record}})
		}
		if v := x.Env("KINETO_USE_DAEMON"); v != "" && v != "0" {
			out = append(out, Result{State: Limited, Text: "KINETO_USE_DAEMON=" + v,
				Cost:     "dynolog may start PyTorch's profiler, which needs CUPTI too; only one of the two gets it",
				Fix:      "stop dynolog's traces while recording, or record with --yield",
				Commands: []string{"unset KINETO_USE_DAEMON"}, Limits: []Purpose{Record}})
		}
		if out == nil {
			return fine("no other tool is set to load itself into CUDA programs")
		}
		return out
	}}
