package doctor

import "fmt"

var mps = Check{ID: "mps", Title: "MPS", For: []Purpose{Record, NCU}, Run: func(x *exam) []Result {
	found := x.processes("nvidia-cuda-mps") // -control and -server, as the kernel cuts their names
	if len(found) == 0 && x.Env("CUDA_MPS_PIPE_DIRECTORY") == "" {
		return nil
	}
	text := "CUDA_MPS_PIPE_DIRECTORY=" + x.Env("CUDA_MPS_PIPE_DIRECTORY")
	if len(found) > 0 {
		text = fmt.Sprintf("it runs (process %d)", found[0].pid)
	}
	return []Result{{State: Limited, Text: text, Cost: "programs share the GPU: a kernel's time includes time " +
		"taken by others, and a timeline shows only one program's kernels",
		Fix:      "measure without other programs where that matters",
		Commands: []string{"echo quit | nvidia-cuda-mps-control"}, Limits: []Purpose{Record, NCU}}}
}}
