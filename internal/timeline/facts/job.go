package facts

import (
	"fmt"
	"slices"
)

// InputName is what a capture is called among those of a job: its path, and its rank where the file holds several.
func InputName(f *Facts, in []*Facts) string {
	info := &f.Trace.Info
	if info.Rank < 0 || !slices.ContainsFunc(in, func(g *Facts) bool {
		return g != f &&
			g.Trace.Info.Path == info.Path
	}) {
		return info.Path
	}
	return fmt.Sprintf("%s, rank %d", info.Path, info.Rank)
}

// Slowest is the place, among the steps of a job's captures, of those that last longest in the mean: the one that a
// report judges.
func Slowest(steps []*Steps) int {
	best := 0
	for i, s := range steps {
		if s.MeanNs() > steps[best].MeanNs() {
			best = i
		}
	}
	return best
}
