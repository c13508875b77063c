package stat

import (
	"math"
	"slices"
)

// fewestForModes is below how many values nothing is said of modes.
const fewestForModes = 6

// modesOf is the two modes of the runs' medians, or of the samples of a single run.
func modesOf(medians []float64, runs [][]float64) []float64 {
	values := medians
	if len(medians) == 1 {
		values = runs[0]
	}
	if low, high, two := Modes(values); two {
		return []float64{low, high}
	}
	return nil
}

// Modes says whether values fall into two groups with nothing between them, and where these are. The
// values are cut where the variance within both parts is least (Otsu 1979); there are two modes if the
// parts' means then lie far apart against the spread within (Ashman's D, 1994), and each part has a
// fifth of the values and two of them. Values of one normal distribution are called two modes at most
// once in a hundred times at any number of values: modeDistance was simulated for that (TestModes).
func Modes(values []float64) (low, high float64, two bool) {
	n := len(values)
	if n < fewestForModes {
		return 0, 0, false
	}
	v := slices.Clone(values)
	slices.Sort(v)
	scale := v[n-1] - v[0]
	if !(scale > 0 && scale <= math.MaxFloat64) {
		return 0, 0, false // all equal, or no numbers
	}
	sum, squares := make([]float64, n+1), make([]float64, n+1)
	for i, x := range v {
		x = (x - v[0]) / scale // against cancellation and overflow
		sum[i+1], squares[i+1] = sum[i]+x, squares[i]+x*x
	}
	within := func(i, j int) float64 {
		s := sum[j] - sum[i]
		return max(0, squares[j]-squares[i]-s*s/float64(j-i))
	}
	fewest := max(2, n/5)
	cut, least := 0, math.Inf(1)
	for i := fewest; i <= n-fewest; i++ {
		if w := within(0, i) + within(i, n); w < least {
			cut, least = i, w
		}
	}
	low, high = mean(v[:cut]), mean(v[cut:])
	spread := scale * math.Sqrt((within(0, cut)/float64(cut-1)+within(cut, n)/float64(n-cut-1))/2)
	gap := v[cut] - v[cut-1]
	return low, high, high-low > modeDistance(n)*spread && gap > 2*spread && high-low > 1e-3*math.Abs(low)
}

// modeDistance is how many standard deviations the centres of n values must lie apart.
func modeDistance(n int) float64 { return 3.5 + 45/float64(n) }
