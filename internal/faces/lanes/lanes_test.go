package lanes

import (
	"cmp"
	"math/rand"
	"slices"
	"testing"
)

// No two spans of a lane overlap without nesting, however many overlap at once, and a lane is used again.
func TestLanes(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, nests := range []bool{false, true} {
		type span struct{ start, end int64 }
		var all []span
		for range 2000 {
			start := int64(random.Intn(4000))
			all = append(all, span{start, start + int64(random.Intn(1000))})
		}
		slices.SortFunc(all, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
		l := Lanes{Nests: nests}
		open := make(map[int][]span)
		for _, s := range all {
			lane := l.Put(s.start, s.end)
			var still []span
			for _, o := range open[lane] {
				if o.end <= s.start {
					continue
				}
				if !nests || s.end > o.end {
					t.Fatalf("nests %v: %v overlaps %v on lane %d", nests, s, o, lane)
				}
				still = append(still, o)
			}
			open[lane] = append(still, s)
		}
		if len(open) <= firstFit && !nests || len(open) == len(all) {
			t.Errorf("nests %v: %d lanes of %d spans", nests, len(open), len(all))
		}
	}
}
