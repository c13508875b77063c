package doctor

import (
	"strings"

	"lacuna/internal/capture/nvtool"
)

// A tool is one copy of a program of NVIDIA's.
type tool struct{ path, version string }

// tools finds a program on the PATH and where its packages put it. Of those off the PATH only the best few are asked,
// since each takes time to start.
func (x *exam) tools(name string) (onPath, others []tool) {
	const most = 3
	first, elsewhere := x.programs().Find(name)
	if first != "" {
		onPath = append(onPath, x.toolVersion(first))
	}
	for _, at := range elsewhere[:min(most, len(elsewhere))] {
		others = append(others, x.toolVersion(at))
	}
	return onPath, others
}

// toolVersion asks a program.
func (x *exam) toolVersion(at string) tool {
	said, _ := x.ask(at, "--version")
	return tool{at, nvtool.Version(said)}
}

func toolWords(of []tool) string {
	var words []string
	for _, t := range of {
		words = append(words, strings.TrimSpace(t.version+" "+t.path))
	}
	return strings.Join(words, ", ")
}
