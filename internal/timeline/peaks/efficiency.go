package peaks

import "math"

// A Share is how much of a peak real kernels reach, with the bounds that it is believed to lie in.
type Share struct{ Mid, Low, High float64 }

// What follows was measured on one H200 (SXM, 132 SMs, driver 580, CUDA 13.0, PyTorch 2.11, cuBLAS and cuDNN of
// that release) on steps of transformers and perceptrons, and is kept as shares of that device's peaks, so
// that it can be carried to others. Elsewhere the bounds are wider: other generations feed their matrix
// units better or worse.
const measuredOn = "H200 SXM"

// Bounds of a share around its middle: where it was measured, products of one size but of other shapes reach
// 0.85 to 1.15 of the middle (square, tall and batched ones of 8 to 128 GFLOP); elsewhere a guess twice as wide.
const (
	hereLow, hereHigh           = 0.85, 1.15
	elsewhereLow, elsewhereHigh = 0.65, 1.30
)

// MatrixShare is the share of a matrix unit's peak that products of matrices in 16 bits reach, by how long
// they would take at the peak, in µs: small ones do not fill the device. 4 GFLOP are 4.04 µs on an H200.
func (p *Peak) MatrixShare(atPeakUs float64) Share {
	return p.share(interpolate(atPeakUs, []point{{0.5, 0.12}, {2, 0.35}, {4, 0.455}, {8, 0.60}, {16, 0.66}, {32, 0.71},
		{65, 0.76}, {130, 0.80}, {260, 0.81}, {520, 0.73}}), 0.95)
}

// VectorShare is the share of the vector units' peak in FP32 that products of matrices reach without matrix
// units, by how long they would take at the peak, in µs: 34 GFLOP are 500 µs on an H200.
func (p *Peak) VectorShare(atPeakUs float64) Share {
	return p.share(interpolate(atPeakUs, []point{{1, 0.15}, {4, 0.34}, {7.5, 0.38}, {60, 0.65}, {500, 0.73},
		{2000, 0.775}}), 0.95)
}

// AttentionShare is the share of the 16-bit matrix peak that fused attention reaches, by length of the
// sequence, heads of 64 or more, counting the pairs that a causal mask leaves. Backward kernels reach
// attentionBackward of it, counting five products for the two of the forward kernel.
func (p *Peak) AttentionShare(sequence float64, backward bool) Share {
	s := interpolate(sequence, []point{{128, 0.045}, {256, 0.092}, {512, 0.183}, {1024, 0.29}, {2048, 0.37},
		{4096, 0.42}, {8192, 0.45}})
	if backward {
		s *= attentionBackward
	}
	return p.share(s, 0.95)
}

// attentionBackward: 310 of 395 TFLOP/s at length 1024 with heads of 128, auxiliary kernels included.
const attentionBackward = 0.78

// MemoryShare is the share of the memory's bandwidth that large pointwise kernels reach: 4.22 (two tensors) to 4.34
// TB/s (three) of 4.8.
func (p *Peak) MemoryShare() Share { return p.share(0.89, 0.97) }

// HostShare is the share of the host link that copies of pinned memory of a megabyte or more reach: 55.4 of
// 63 GB/s on PCIe 5.0 x16, at 28 and at 128 MB alike. NUMA and switches make it less, never more than protocol leaves.
func (p *Peak) HostShare() Share {
	s := Share{0.88, 0.80, 0.92}
	if p.Name != measuredOn {
		s.Low = 0.60
	}
	return s
}

func (p *Peak) share(mid, most float64) Share {
	low, high := elsewhereLow, elsewhereHigh
	if p.Name == measuredOn {
		low, high = hereLow, hereHigh
	}
	return Share{Mid: mid, Low: mid * low, High: min(mid*high, most)}
}

type point struct{ at, value float64 }

// interpolate is the value at x of a line through points in order, on a logarithmic axis; beyond them, that of the
// nearest.
func interpolate(x float64, points []point) float64 {
	first, last := points[0], points[len(points)-1]
	switch {
	case !(x > first.at):
		return first.value
	case x >= last.at:
		return last.value
	}
	for i := 1; ; i++ {
		a, b := points[i-1], points[i]
		if x <= b.at {
			return a.value + (b.value-a.value)*math.Log(x/a.at)/math.Log(b.at/a.at)
		}
	}
}
