package flops

import "strings"

// A convLayout is where an operator has its arguments; -1: it has none.
type convLayout struct{ bias, stride, padding, dilation, transposed, outPadding, groups int }

// The argument orders of native_functions.yaml.
var (
	convArgs = convLayout{2, 3, 4, 5, -1, -1, 6}
	// conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
	convTArgs   = convLayout{2, 3, 4, 7, -1, 5, 6}
	generalArgs = convLayout{2, 3, 4, 5, 6, 7, 8}
	cudnnArgs   = convLayout{-1, 3, 2, 4, -1, -1, 5}
	cudnnTArgs  = convLayout{-1, 4, 2, 5, -1, 3, 6}
	miopenArgs  = convLayout{2, 4, 3, 5, -1, -1, 6}
	// _slow_conv2d_forward(self, weight, kernel_size, bias, stride, padding)
	slowArgs  = convLayout{3, 4, 5, -1, -1, -1, -1}
	depthArgs = convLayout{3, 4, 5, 6, -1, -1, -1}
)

// convolution is conv1d to conv3d and what they are made of. Each output element (of a transposed one: each
// input element) meets one window of the filter: 2 x batch x positions x out channels x (in channels / groups)
// x window, as torch.utils.flop_counter's conv_flop_count. Gradients of input and weight are as much each;
// the weight has the shape [out, in/groups, window], transposed [in, out/groups, window].
func convolution(name string) formula {
	forward := func(l convLayout, transposed bool) formula {
		return func(a args) (Work, bool) { return convForward(a, l, transposed) }
	}
	switch name {
	case "aten::conv1d", "aten::conv2d", "aten::conv3d":
		return forward(convArgs, false)
	case "aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d":
		return forward(convTArgs, true)
	case "aten::convolution", "aten::_convolution", "aten::convolution_overrideable":
		return forward(generalArgs, false)
	case "aten::cudnn_convolution":
		return forward(cudnnArgs, false)
	case "aten::cudnn_convolution_transpose":
		return forward(cudnnTArgs, true)
	case "aten::miopen_convolution", "aten::miopen_depthwise_convolution":
		return forward(miopenArgs, false)
	case "aten::_slow_conv2d_forward", "aten::thnn_conv2d", "aten::thnn_conv2d_forward":
		return forward(slowArgs, false)
	case "aten::_conv_depthwise2d", "aten::conv_depthwise3d", "aten::thnn_conv_depthwise2d_forward":
		return forward(depthArgs, false)
	case "aten::convolution_backward":
		return convBackward
	}
	if strings.HasSuffix(name, "convolution_backward_input") && strings.HasPrefix(name, "aten::") &&
		!strings.Contains(name, "transpose") {
		return convBackwardInput
	}
	if strings.HasSuffix(name, "convolution_backward_weight") && strings.HasPrefix(name, "aten::") &&
		!strings.Contains(name, "transpose") {
		return convBackwardWeight
	}
	return nil
}

func convForward(a args, l convLayout, transposed bool) (Work, bool) {
	x, w := a.at(0).tensor, a.at(1).tensor
	if l.transposed >= 0 {
		t, known := a.flag(l.transposed)
		if !known {
			return Work{}, false
		}
		transposed = t
	}
	out, ok := convOut(a, l, x, w, transposed)
	if !ok || !x.isTensor() || !w.isTensor() {
		return Work{}, false
	}
	y := tensor{dims: out, dtype: x.dtype}
	positions := y
	if transposed {
		positions = x
	}
	return both(Convolution, convFLOPs(positions.dims, w.dims), x.bytes()+w.bytes()+y.bytes()+a.bytesOf(l.bias),
		x.dtype)
}

// convFLOPs is 2 x the elements of the side that windows are taken for x the filter's elements per channel of
// that side.
func convFLOPs(positions, weight []float64) float64 {
	return 2 * product(positions) * product(weight[1:])
}

// convOut is the output's shape: (in + 2 pad - dilation (window - 1) - 1) / stride + 1, and the inverse of it.
func convOut(a args, l convLayout, x, w tensor, transposed bool) ([]float64, bool) {
	spatial := len(w.dims) - 2
	if spatial < 1 || len(x.dims) != len(w.dims) || w.dims[0] == 0 || w.dims[1] == 0 {
		return nil, false
	}
	stride, ok1 := perAxis(a, l.stride, spatial, 1)
	padding, ok2 := perAxis(a, l.padding, spatial, 0)
	dilation, ok3 := perAxis(a, l.dilation, spatial, 1)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	out := make([]float64, len(x.dims))
	out[0], out[1] = x.dims[0], w.dims[0]
	outPadding := make([]float64, spatial)
	if transposed {
		groups, ok := 1.0, true
		if l.groups >= 0 {
			groups, ok = a.number(l.groups)
		}
		if outPadding, ok2 = perAxis(a, l.outPadding, spatial, 0); !ok || !ok2 {
			return nil, false
		}
		out[1] = w.dims[1] * groups
	}
	for i := range spatial {
		window := dilation[i]*(w.dims[i+2]-1) + 1
		if transposed {
			out[i+2] = (x.dims[i+2]-1)*stride[i] - 2*padding[i] + window + outPadding[i]
		} else {
			out[i+2] = float64(int64((x.dims[i+2]+2*padding[i]-window)/stride[i])) + 1
		}
		if out[i+2] <= 0 || out[i+2] > maxElements {
			return nil, false
		}
	}
	return out, product(out) <= maxElements
}

// perAxis is a concrete list of a number for each axis; one number stands for all, an absent argument for otherwise.
func perAxis(a args, i, axes int, otherwise float64) ([]float64, bool) {
	out := make([]float64, axes)
	if i < 0 {
		for k := range out {
			out[k] = otherwise
		}
		return out, true
	}
	given, ok := a.numbers(i)
	if !ok || len(given) != 1 && len(given) != axes {
		return nil, false
	}
	for k := range out {
		out[k] = given[min(k, len(given)-1)]
		if out[k] < 0 || out[k] == 0 && otherwise == 1 {
			return nil, false
		}
	}
	return out, true
}

// convBackward is (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, output_mask): the mask says which of the gradients of input, weight and bias are wanted.
func convBackward(a args) (Work, bool) {
	grad, x, w := a.at(0).tensor, a.at(1).tensor, a.at(2).tensor
	mask, ok := a.mask(10, 3)
	transposed, known := a.flag(7)
	if !ok || !known || len(w.dims) < 3 || len(grad.dims) != len(w.dims) || !grad.isTensor() {
		return Work{}, false
	}
	positions := grad
	if transposed {
		positions = x
	}
	one := convFLOPs(positions.dims, w.dims)
	flops, bytes := 0.0, grad.bytes()
	if mask[0] {
		flops, bytes = flops+one, bytes+w.bytes()+x.elements()*x.dtype.Bytes()
	}
	if mask[1] {
		flops, bytes = flops+one, bytes+x.bytes()+w.elements()*w.dtype.Bytes()
	}
	if mask[2] {
		flops, bytes = flops+grad.elements(), bytes+grad.dims[1]*grad.dtype.Bytes()
	}
	return both(Convolution, flops, bytes, grad.dtype)
}

// convBackwardInput is (input_size, grad_output, weight, ...), as PyTorch had it until 1.10. The input's size is
// known only if values were recorded.
func convBackwardInput(a args) (Work, bool) {
	grad, w := a.at(1).tensor, a.at(2).tensor
	if len(w.dims) < 3 || len(grad.dims) != len(w.dims) || !grad.isTensor() {
		return Work{}, false
	}
	work := Work{Family: Convolution, FLOPs: convFLOPs(grad.dims, w.dims), HasFLOPs: true, Dtype: grad.dtype}
	if size, ok := a.numbers(0); ok && len(size) == len(w.dims) {
		work.Bytes, work.HasBytes = grad.bytes()+w.bytes()+product(size)*grad.dtype.Bytes(), true
	}
	return work, true
}

// convBackwardWeight is (weight_size, grad_output, input, ...).
func convBackwardWeight(a args) (Work, bool) {
	grad, x := a.at(1).tensor, a.at(2).tensor
	size, ok := a.numbers(0)
	if !ok || len(size) < 3 || len(grad.dims) != len(size) || !grad.isTensor() || product(size) > maxElements {
		return Work{}, false
	}
	return both(Convolution, convFLOPs(grad.dims, size), grad.bytes()+x.bytes()+product(size)*grad.dtype.Bytes(),
		grad.dtype)
}
