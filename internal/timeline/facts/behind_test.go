package facts

import (
	"slices"
	"testing"

	"lacuna/internal/base/interval"
)

func TestLongestGaps(t *testing.T) {
	var gaps []IdleGap
	for i, ns := range []int64{5, 9, 2, 9, 7, 5, 1} {
		gaps = append(gaps, IdleGap{Span: interval.Span{StartNs: int64(100 * i), EndNs: int64(100*i) + ns}})
	}
	for _, test := range []struct {
		n    int
		want []int64 // starts
	}{
		{0, nil}, {1, []int64{100}}, {3, []int64{100, 300, 400}}, {5, []int64{100, 300, 400, 0, 500}},
		{99, []int64{100, 300, 400, 0, 500, 200, 600}},
	} {
		var got []int64
		for _, g := range LongestGaps(gaps, test.n) {
			got = append(got, g.StartNs)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d longest: %v, want %v", test.n, got, test.want)
		}
	}
}
