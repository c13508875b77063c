package flops

import "strings"

// matmul is products of matrices. An m x k by a k x n matrix is m n sums of k products: 2 m n k, as
// torch.utils.flop_counter (mm_flop, addmm_flop, bmm_flop, baddbmm_flop, _scaled_mm_flop) has it. A bias that
// is added on the way adds no FLOPs there nor here; its bytes count.
func matmul(name string) formula {
	switch strings.TrimSuffix(name, "_") {
	case "aten::mm", "aten::bmm", "aten::_int_mm", "aten::mv", "aten::dot", "aten::vdot", "aten::matmul":
		return func(a args) (Work, bool) { return gemm(a.at(0).tensor, a.at(1).tensor, tensor{}, NoDtype) }
	case "aten::addmm", "aten::baddbmm", "aten::addmv", "aten::_addmm_activation":
		return addmm
	case "aten::linear":
		return linear
	case "aten::_scaled_mm":
		return scaledMM
	}
	return nil
}

// addmm is beta self + alpha a b: self is not read if beta is 0.
func addmm(a args) (Work, bool) {
	self := a.at(0).tensor
	if beta, known := a.number(3); known && beta == 0 {
		self = tensor{}
	}
	return gemm(a.at(1).tensor, a.at(2).tensor, self, NoDtype)
}

// linear multiplies by the transposed weight, [out, in].
func linear(a args) (Work, bool) {
	w := a.at(1).tensor
	if len(w.dims) != 2 {
		return Work{}, false
	}
	w.dims = []float64{w.dims[1], w.dims[0]}
	if len(w.strides) == 2 {
		w.strides = []float64{w.strides[1], w.strides[0]}
	}
	return gemm(a.at(0).tensor, w, a.at(2).tensor, NoDtype)
}

// scaledMM is (a, b, scale_a, scale_b, bias, scale_result, out_dtype, ...); without an out_dtype the result is as the
// operands.
func scaledMM(a args) (Work, bool) {
	w, ok := gemm(a.at(0).tensor, a.at(1).tensor, a.at(4).tensor, scalarType(a.at(6).value))
	w.Bytes += a.bytesOf(2, 3)
	return w, ok
}

// gemm multiplies the last two dimensions, as torch.matmul does: leading ones are a batch and broadcast;
// a vector is a matrix with one row or column.
func gemm(x, y, bias tensor, out Dtype) (Work, bool) {
	if !x.isTensor() || !y.isTensor() || len(x.dims) == 0 || len(y.dims) == 0 {
		return Work{}, false
	}
	m, k := rowsCols(x.dims, true)
	k2, n := rowsCols(y.dims, false)
	if k != k2 {
		return Work{}, false
	}
	batch, ok := broadcast(leading(x.dims), leading(y.dims))
	if !ok {
		return Work{}, false
	}
	if out == NoDtype {
		out = x.dtype
		if out == Int8 || out == UInt8 {
			out = Int32 // integer products are summed in 32 bits
		}
	}
	result := product(batch) * m * n
	bytes := x.bytes() + y.bytes() + result*out.Bytes()
	if bias.isTensor() {
		bytes += bias.bytes()
	}
	return both(Matmul, 2*result*k, bytes, x.dtype)
}

// rowsCols is the last two dimensions. A vector is a row on the left and a column on the right.
func rowsCols(dims []float64, left bool) (rows, cols float64) {
	n := len(dims)
	switch {
	case n >= 2:
		return dims[n-2], dims[n-1]
	case left:
		return 1, dims[0]
	}
	return dims[0], 1
}

func leading(dims []float64) []float64 { return dims[:max(len(dims)-2, 0)] }

// broadcast is the shape of an operation on two shapes: sizes are equal, or one of them is 1 or missing.
func broadcast(a, b []float64) ([]float64, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append([]float64(nil), a...)
	for i := range b {
		k := len(a) - len(b) + i
		switch {
		case out[k] == b[i] || b[i] == 1:
		case out[k] == 1:
			out[k] = b[i]
		default:
			return nil, false
		}
	}
	return out, true
}
