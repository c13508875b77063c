// Package stat is statistics of samples.
package stat

import "slices"

// Select reorders v so that v[k] is what it would be if v were sorted, with nothing larger before it and
// nothing smaller after it, and returns v[k]. It takes linear time; n log n on input made to defeat it.
func Select(v []int64, k int) int64 {
	for rounds := 0; len(v) > 24 && rounds < 60; rounds++ {
		pivot := medianOf3(v[0], v[len(v)/2], v[len(v)-1])
		lo, i, hi := 0, 0, len(v)
		for i < hi { // v[:lo] < pivot, v[lo:i] == pivot, v[hi:] > pivot
			switch x := v[i]; {
			case x < pivot:
				v[lo], v[i] = x, v[lo]
				lo++
				i++
			case x > pivot:
				hi--
				v[i], v[hi] = v[hi], x
			default:
				i++
			}
		}
		switch {
		case k < lo:
			v = v[:lo]
		case k < hi:
			return pivot
		default:
			v, k = v[hi:], k-hi
		}
	}
	slices.Sort(v)
	return v[k]
}

func medianOf3(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }

// Median is the middle value, or the mean of the two middle ones. It reorders v, which must not be empty.
func Median(v []int64) float64 {
	upper := Select(v, len(v)/2)
	if len(v)%2 == 1 {
		return float64(upper)
	}
	return (float64(slices.Max(v[:len(v)/2])) + float64(upper)) / 2
}
