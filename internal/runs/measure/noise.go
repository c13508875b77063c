package measure

import (
	"math"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
)

// How much single runs of one program scatter, as the standard deviation of the logarithm of their step, from 106
// programs of 3 to 5 runs each (bench/gpu/results/truth-h200.json): those whose GPU is busy, and those
// that wait for their host, half of which scatter by more than 8 %.
const (
	GPUScatter  = 0.009 // whose GPU is busy
	HostScatter = 0.09  // that wait for their host
	// scatterRuns is how many runs that knowledge is worth: about the number of programs of each kind.
	scatterRuns = 50
)

// KnownNoise is how much the runs of a measure are known to scatter, for where too few runs were given to see it.
// Of runs that no profiler watched nothing is known: they are a program's own measures.
func KnownNoise(name string, runs []*Run) stat.Noise {
	idle := 0.0
	for _, r := range runs {
		if r.Tool == "" {
			return stat.Noise{}
		}
		if busy := r.Find("gpu_busy"); busy != nil {
			idle = max(idle, 1-mean(busy.Samples))
		}
	}
	switch {
	case len(runs) == 0:
		return stat.Noise{}
	case IsCount(name):
		return stat.Noise{SD: 0, Runs: 1}
	case IsRest(name): // copies too: pageable memory goes through the host
		return stat.Noise{SD: HostScatter, Runs: scatterRuns}
	case name == "step":
		return stat.Noise{SD: math.Hypot(GPUScatter, idle*HostScatter), Runs: scatterRuns}
	}
	return stat.Noise{SD: GPUScatter, Runs: scatterRuns}
}

// IsCount says whether a measure does not scatter between runs of a deterministic program.
func IsCount(name string) bool {
	return slices.Contains([]string{"launches", "kernels", "copies", "copied", "peak_memory", "syncs"}, name) ||
		strings.HasPrefix(name, "kernel:") && (strings.HasSuffix(name, ":registers") ||
			strings.HasSuffix(name, ":spills") || strings.HasSuffix(name, ":occupancy_theoretical"))
}

// IsRest says whether a measure is what other parts leave of a step: it may be next to nothing, and changes by many
// times that mean nothing unless they count in the step.
func IsRest(name string) bool {
	return name == "idle" || name == "copy" || name == "comm_exposed" || strings.HasPrefix(name, "range:")
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
