package flops

// Steps for each element. Softmax: maximum, difference, exp, sum, quotient. Logarithm of it: maximum, difference, exp,
// sum, and the difference of the sum's logarithm. Backward: product with the gradient, its sum, difference, product; of
// the logarithm: sum of the gradient, exp, product, difference.
const (
	softmaxSteps         = 5
	softmaxBackwardSteps = 4
)

func softmax(name string) formula {
	switch name {
	case "aten::_softmax", "aten::_log_softmax", "aten::softmax", "aten::log_softmax":
		return softmaxForward
	case "aten::_softmax_backward_data", "aten::_log_softmax_backward_data":
		return softmaxBackward
	}
	return nil
}

// softmaxForward is (self, dim, half_to_float): the result may be of another type.
func softmaxForward(a args) (Work, bool) {
	x := a.at(0).tensor
	if !x.isTensor() {
		return Work{}, false
	}
	out := x.dtype
	if wide, _ := a.flag(2); wide {
		out = FP32
	}
	n := x.elements()
	return both(Softmax, softmaxSteps*n, x.bytes()+n*out.Bytes(), x.dtype)
}

// softmaxBackward is (grad_output, output, dim, input_dtype).
func softmaxBackward(a args) (Work, bool) {
	grad := a.at(0).tensor
	if !grad.isTensor() || !a.at(1).isTensor() {
		return Work{}, false
	}
	out := scalarType(a.at(3).value)
	if out == NoDtype {
		out = grad.dtype
	}
	n := grad.elements()
	return both(Softmax, softmaxBackwardSteps*n, a.bytesOf(0, 1)+n*out.Bytes(), grad.dtype)
}
