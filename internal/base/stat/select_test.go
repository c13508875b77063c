package stat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSelectIsSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 3000 {
		v := make([]int64, 1+random.IntN(200))
		for i := range v {
			v[i] = random.Int64N([]int64{3, 50, 1 << 40}[round%3]) - 20
		}
		switch round % 4 { // orders that real columns have
		case 1:
			slices.Sort(v)
		case 2:
			slices.Sort(v)
			slices.Reverse(v)
		}
		sorted := slices.Sorted(slices.Values(v))
		k := random.IntN(len(v))
		if got := Select(slices.Clone(v), k); got != sorted[k] {
			t.Fatalf("Select(%v, %d) = %d, want %d", v, k, got, sorted[k])
		}
		want := float64(sorted[len(v)/2])
		if len(v)%2 == 0 {
			want = float64(sorted[len(v)/2-1]+sorted[len(v)/2]) / 2
		}
		if got := Median(slices.Clone(v)); got != want {
			t.Fatalf("Median(%v) = %v, want %v", v, got, want)
		}
	}
}

func BenchmarkMedian(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(7, 8))
			v, w := make([]int64, n), make([]int64, n)
			for i := range v {
				v[i] = 1000 + random.Int64N(500)
			}
			for b.Loop() {
				copy(w, v)
				Median(w)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "values/s")
		})
	}
}
