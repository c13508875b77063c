package doctor

import "strings"

var toolkit = Check{ID: "toolkit", Title: "CUDA toolkit", Run: func(x *exam) []Result {
	if at := x.lookPath("nvcc"); at != "" {
		said, _ := x.ask(at, "--version")
		if _, v, ok := strings.Cut(said, ", V"); ok {
			v, _, _ = strings.Cut(v, "\n")
			return fine(strings.TrimSpace(v) + " " + at)
		}
		return fine(at)
	}
	if found := x.glob("/usr/local/cuda*/bin/nvcc"); len(found) > 0 {
		return fine(strings.Join(found, ", ") + "; not on the PATH")
	}
	return fine("none; lacuna does not need it")
}}
