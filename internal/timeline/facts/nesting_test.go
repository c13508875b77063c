package facts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNest(t *testing.T) {
	for _, test := range []struct {
		name      string
		intervals [][3]int64 // start, duration, lane
		parent    []int32
		depth     []int32
	}{
		{"siblings and a child", [][3]int64{{0, 100, 1}, {0, 40, 1}, {10, 20, 1}, {40, 60, 1}}, []int32{-1, 0, 1, 0},
			[]int32{0, 1, 2, 1}},
		{"lanes keep apart", [][3]int64{{0, 100, 1}, {5, 10, 2}, {6, 4, 1}, {7, 2, 2}}, []int32{-1, -1, 0, 1},
			[]int32{0, 0, 1, 1}},
		{"equal ones", [][3]int64{{0, 10, 1}, {0, 10, 1}, {2, 3, 1}}, []int32{-1, 0, 1}, []int32{0, 1, 2}},
		{"crossing", [][3]int64{{0, 50, 1}, {30, 60, 1}, {40, 5, 1}, {60, 5, 1}}, []int32{-1, -1, 1, 1},
			[]int32{0, 0, 1, 1}},
		{"never closed", [][3]int64{{0, -1, 1}, {1, 10, 1}, {2, -1, 1}, {3, 1, 1}}, []int32{-1, -1, -1, 1},
			[]int32{0, 0, 0, 1}},
		{"no length", [][3]int64{{0, 10, 1}, {5, 0, 1}, {5, 0, 1}, {10, 0, 1}}, []int32{-1, 0, 0, -1},
			[]int32{0, 1, 1, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var start, dur, lane []int64
			for _, x := range test.intervals {
				start, dur, lane = append(start, x[0]), append(dur, x[1]), append(lane, x[2])
			}
			parent, depth := Nest(start, dur, lane)
			if !slices.Equal(parent, test.parent) || !slices.Equal(depth, test.depth) {
				t.Errorf("parents %v, want %v; depths %v, want %v", parent, test.parent, depth, test.depth)
			}
		})
	}
}

// Nest agrees with its definition on intervals that cross in every way.
func TestNestIsItsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + random.IntN(30)
		type interval struct{ start, dur, lane int64 }
		all := make([]interval, n)
		for i := range all {
			all[i] = interval{random.Int64N(40), 1 + random.Int64N(20), random.Int64N(2)}
		}
		slices.SortStableFunc(all, func(a, b interval) int {
			if a.start != b.start {
				return int(a.start - b.start)
			}
			return int(b.dur - a.dur)
		})
		var start, dur, lane []int64
		for _, x := range all {
			start, dur, lane = append(start, x.start), append(dur, x.dur), append(lane, x.lane)
		}
		parent, _ := Nest(start, dur, lane)
		for i, x := range all {
			want := NotNested
			for j := i - 1; j >= 0 && want == NotNested; j-- {
				if y := all[j]; y.lane == x.lane && y.start+y.dur >= x.start+x.dur {
					want = int32(j)
				}
			}
			if parent[i] != want {
				t.Fatalf("%v: interval %d lies in %d, want %d", all, i, parent[i], want)
			}
		}
	}
}

func BenchmarkNest(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("intervals=%d", n), func(b *testing.B) {
			start, dur, lane := make([]int64, n), make([]int64, n), make([]uint32, n)
			for i := range start { // ranges of four levels on four threads that take turns
				level := int64(i/4) % 4
				start[i], dur[i], lane[i] = int64(i/16)*1000+level, 900-2*level, uint32(i%4)
			}
			b.ReportAllocs()
			for b.Loop() {
				Nest(start, dur, lane)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "intervals/s")
		})
	}
}
