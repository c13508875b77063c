package stat

// Quantile is the q-quantile, 0 to 1, of sorted values, by linear interpolation between the two
// nearest (Hyndman and Fan's type 7, as in NumPy, pandas and R). Of nothing it is 0.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	x := q * float64(len(sorted)-1)
	lo := min(max(int(x), 0), len(sorted)-1)
	hi := min(lo+1, len(sorted)-1)
	return sorted[lo] + (sorted[hi]-sorted[lo])*(x-float64(lo))
}
