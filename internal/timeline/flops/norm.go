package flops

import "strings"

// Steps for each element of a norm. Forward: the sum for the mean (1), the difference, its square and their
// sum for the variance (3), the scaling by 1/sigma of the difference (1), weight and bias (1 each). Evaluation of a
// batch norm knows its statistics: one multiply and one add. RMS norm: square, sum, scaling; weight 1.
const (
	meanVarSteps  = 5
	rmsSteps      = 3
	evalNormSteps = 2
)

// Backward: x^ = (x - mean)/sigma (2); the sums of dy and of dy x^ (1 + 2); dx = (dy - a - x^ b)/sigma (4); dy w (1).
// The gradients of weight and bias are those sums, over other elements: product and sum (2), and sum (1).
const (
	normBackwardSteps = 9
	rmsBackwardSteps  = 6 // dy w (1 of them, taken off without a weight), sum of dy w x (2), dx = (dy - x c)/sigma (3)
	weightGradSteps   = 2
	biasGradSteps     = 1
)

// norm is normalisations. Saved statistics (mean, 1/sigma) are not counted as bytes: they are one in as many as
// elements are normalised together.
func norm(name string) formula {
	switch name {
	case "aten::native_layer_norm", "aten::layer_norm":
		return func(a args) (Work, bool) { return normForward(a, meanVarSteps, 2, 3) }
	case "aten::native_group_norm":
		return func(a args) (Work, bool) { return normForward(a, meanVarSteps, 1, 2) }
	case "aten::group_norm":
		return func(a args) (Work, bool) { return normForward(a, meanVarSteps, 2, 3) }
	case "aten::_fused_rms_norm", "aten::rms_norm":
		return func(a args) (Work, bool) { return normForward(a, rmsSteps, 2, -1) }
	case "aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm",
		"aten::_native_batch_norm_legit", "aten::batch_norm":
		return batchNorm
	case "aten::native_layer_norm_backward":
		return func(a args) (Work, bool) { return normBackward(a, normBackwardSteps, 5, 7) }
	case "aten::native_group_norm_backward":
		return func(a args) (Work, bool) { return normBackward(a, normBackwardSteps, 4, 9) }
	case "aten::_fused_rms_norm_backward":
		return func(a args) (Work, bool) { return normBackward(a, rmsBackwardSteps, 4, 5) }
	case "aten::native_batch_norm_backward":
		return func(a args) (Work, bool) { return normBackward(a, normBackwardSteps, 2, 9) }
	}
	// cudnn_, miopen_: all gradients, no mask
	if strings.HasPrefix(name, "aten::") && strings.HasSuffix(name, "n_batch_norm_backward") {
		return func(a args) (Work, bool) { return normBackward(a, normBackwardSteps, 2, -1) }
	}
	return nil
}

func normForward(a args, steps float64, weight, bias int) (Work, bool) {
	x := a.at(0).tensor
	if !x.isTensor() {
		return Work{}, false
	}
	for _, i := range []int{weight, bias} {
		if a.at(i).isTensor() {
			steps++
		}
	}
	n := x.elements()
	return both(Norm, steps*n, x.bytes()+n*x.dtype.Bytes()+a.bytesOf(weight, bias), x.dtype)
}

// batchNorm is (input, weight, bias, running_mean, running_var, training, ...).
func batchNorm(a args) (Work, bool) {
	training, known := a.flag(5)
	w, ok := normForward(a, meanVarSteps, 1, 2)
	if !training {
		w.FLOPs = evalNormSteps * a.at(0).elements()
	}
	w.HasFLOPs = known
	return w, ok
}

// normBackward reads gradient and input, the first two in either order, and writes what the mask asks for.
func normBackward(a args, steps float64, weight, mask int) (Work, bool) {
	x := a.at(0).tensor
	if !x.isTensor() || !a.at(1).isTensor() || a.at(1).elements() != x.elements() {
		return Work{}, false
	}
	hasWeight := a.at(weight).isTensor()
	wanted := []bool{true, hasWeight, hasWeight}
	if mask >= 0 {
		given, ok := a.mask(mask, 3)
		if !ok {
			given, ok = a.mask(mask, 2) // RMS norm has no bias
			given = append(given, false)
		}
		if !ok {
			return Work{}, false
		}
		wanted = given
	}
	if !hasWeight {
		steps-- // no dy w
	}
	n, bytes := x.elements(), a.bytesOf(0, 1, weight)
	var flops float64
	if wanted[0] {
		flops, bytes = steps*n, bytes+n*x.dtype.Bytes()
	}
	if wanted[1] {
		flops, bytes = flops+weightGradSteps*n, bytes+a.bytesOf(weight)
	}
	if wanted[2] {
		flops, bytes = flops+biasGradSteps*n, bytes+a.bytesOf(weight) // as large as the weight
	}
	return both(Norm, flops, bytes, x.dtype)
}
