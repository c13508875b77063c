package stat

import "gonum.org/v1/gonum/stat/distuv"

// RateBounds is between which numbers the mean of what comes by chance lies, at 90 %, where n came: the exact bounds
// of a Poisson rate (Garwood 1936). Where two came, a fifth as many may come in the long run, or three times as many.
func RateBounds(n int) (low, high float64) {
	if n > 0 {
		low = distuv.ChiSquared{K: 2 * float64(n)}.Quantile(0.05) / 2
	}
	return low, distuv.ChiSquared{K: 2 * float64(n+1)}.Quantile(0.95) / 2
}
