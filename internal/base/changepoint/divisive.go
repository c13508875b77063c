package changepoint

import "math"

// A divider finds where a short stretch of a series differs most from what is before: E-divisive's measure,
// the energy distance between two neighbouring stretches (Matteson and James 2014, arXiv 1306.4933). It holds
// its scratch, so that a series is cut without allocation per window.
type divider struct {
	to []float64 // to[j*stride+t]: the sum of |z[i]-z[j]| for i < t
}

// best is the cut of z that maximises the energy distance between z[:cut] and z[cut:end], over every cut and every end.
// It is quadratic in len(z).
func (d *divider) best(z []float64) (cut int, q float64) {
	n := len(z)
	stride := n + 1
	if cap(d.to) < n*stride {
		d.to = make([]float64, n*stride)
	}
	to := d.to[:n*stride]
	for j := range n {
		sum := 0.0
		for i := range j + 1 {
			to[j*stride+i] = sum
			sum += math.Abs(z[i] - z[j])
		}
		to[j*stride+j] = sum
	}
	cut, q = -1, math.Inf(-1)
	left := 0.0 // the sum of distances within z[:tau]
	for tau := 1; tau < n; tau++ {
		if tau > 1 {
			left += to[(tau-1)*stride+tau-1]
		}
		between, right := 0.0, 0.0
		x := float64(tau)
		for end := tau + 1; end <= n; end++ {
			between += to[(end-1)*stride+tau]
			right += to[(end-1)*stride+end-1] - to[(end-1)*stride+tau]
			y := float64(end - tau)
			value := between
			if tau > 1 {
				value -= y / (x - 1) * left
			}
			if end-tau > 1 {
				value -= x / (y - 1) * right
			}
			if value *= 2 / (x + y); value > q {
				cut, q = tau, value
			}
		}
	}
	return cut, q
}

// weak is the cuts that windows of a series show, each window half a window on from the one before or from
// its last cut; p is the level of the t-test that a cut within a window must pass. The result ascends.
func (d *divider) weak(z []float64, window int, p float64) []int {
	var out []int
	for start := 0; start < len(z); {
		end := min(start+window, len(z))
		last := 0
		for _, c := range d.cuts(z[start:end], p) {
			out = append(out, start+c)
			last = start + c
		}
		start = max(last, start+window/2)
	}
	return ascending(out)
}

// cuts divides a window again and again at its best cut for as long as that passes the test.
func (d *divider) cuts(z []float64, p float64) []int {
	type piece struct {
		start, end, cut int
		q               float64
	}
	measure := func(start, end int) piece {
		if end-start < 2 {
			return piece{start, end, -1, math.Inf(-1)}
		}
		cut, q := d.best(z[start:end])
		return piece{start, end, start + cut, q}
	}
	pieces := []piece{measure(0, len(z))}
	var out []int
	for {
		at := 0
		for i, x := range pieces {
			if x.q > pieces[at].q {
				at = i
			}
		}
		x := pieces[at]
		if x.cut < 0 || !passes(z[x.start:x.cut], z[x.cut:x.end], p) {
			return ascending(out)
		}
		out = append(out, x.cut)
		pieces[at] = measure(x.start, x.cut)
		pieces = append(pieces, measure(x.cut, x.end))
	}
}
