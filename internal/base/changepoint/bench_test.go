package changepoint

import (
	"fmt"
	"math/rand"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{500, 1_000_000} {
		b.Run(fmt.Sprintf("points=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewSource(1))
			z := make([]float64, n)
			for i := range z {
				z[i] = 100 + r.NormFloat64()
				if i > n/2 {
					z[i] += 3
				}
			}
			for b.Loop() {
				if len(Find(z, Options{}).Changes) == 0 {
					b.Fatal("nothing found")
				}
			}
		})
	}
}
