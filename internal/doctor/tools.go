package doctor

import (
	"strings"
)

// A tool is one copy of a program of NVIDIA's.
type tool struct{ path, version string }

// tools finds a program on the PATH and where its packages put it, each once. Of those off the PATH only the last
// few are asked, since each takes time to start.
func (x *exam) tools(name string, patterns ...string) (onPath, others []tool) {
	const most = 3
	first := x.lookPath(name)
	if first != "" {
		onPath = append(onPath, x.toolVersion(first))
	}
	var elsewhere []string
	for _, pattern := range patterns {
		for _, at := range x.glob(pattern) {
			if x.runs(at) && (first == "" || x.real(at) != x.real(first)) {
				elsewhere = append(elsewhere, at)
			}
		}
	}
	for _, at := range elsewhere[max(0, len(elsewhere)-most):] {
		others = append(others, x.toolVersion(at))
	}
	return onPath, others
}

// toolVersion asks a program: "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0", "Version 2025.3.1.0 (build ...)".
func (x *exam) toolVersion(at string) tool {
	said, _ := x.ask(at, "--version")
	words := strings.Fields(said)
	for i, w := range words {
		if strings.EqualFold(w, "version") && i+1 < len(words) && len(version(words[i+1])) >= 2 {
			v, _, _ := strings.Cut(words[i+1], "-")
			return tool{at, v}
		}
	}
	return tool{at, ""}
}

func toolWords(of []tool) string {
	var words []string
	for _, t := range of {
		words = append(words, strings.TrimSpace(t.version+" "+t.path))
	}
	return strings.Join(words, ", ")
}
