package model

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortSpans checks both ways of sorting against a plain stable sort.
func TestSortSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tests := map[string]func(n int) []int64{
		"sorted": func(n int) []int64 { return ascending(rng, n) },
		"three lists": func(n int) []int64 {
			return slices.Concat(ascending(rng, n/3), ascending(rng, n/3), ascending(rng, n-2*(n/3)))
		},
		"backwards": func(n int) []int64 { s := ascending(rng, n); slices.Reverse(s); return s },
		"nearly sorted": func(n int) []int64 {
			s := ascending(rng, n)
			rng.Shuffle(min(n, 9), func(i, j int) { s[i], s[j] = s[j], s[i] })
			return s
		},
		"random": func(n int) []int64 {
			s := make([]int64, n)
			for i := range s {
				s[i] = rng.Int64N(int64(n))
			}
			return s
		},
	}
	for name, make64 := range tests {
		for _, n := range []int{0, 1, 2, 7, 1000, manyRows + 5} {
			o := OSCalls{StartNs: make64(n), DurNs: make([]int64, n), Return: make([]int64, n)}
			want := make([][3]int64, n)
			for i := range n {
				o.DurNs[i], o.Return[i] = rng.Int64N(3), int64(i)
				want[i] = [3]int64{o.StartNs[i], o.DurNs[i], int64(i)}
			}
			slices.SortStableFunc(want, func(a, b [3]int64) int {
				return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(b[1], a[1]))
			})
			sortSpans(&o, o.StartNs, o.DurNs)
			for i := range n {
				if got := [3]int64{o.StartNs[i], o.DurNs[i], o.Return[i]}; got != want[i] {
					t.Fatalf("%s, %d rows: row %d is %v, want %v", name, n, i, got, want[i])
				}
			}
		}
	}
}

func ascending(rng *rand.Rand, n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = rng.Int64N(int64(n))
	}
	slices.Sort(s)
	return s
}
