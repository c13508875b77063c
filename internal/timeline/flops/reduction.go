package flops

import "strings"

// A reductionOp reduces some dimensions, or all.
type reductionOp struct {
	steps  float64 // for each element of the input
	dim    int     // argument that names the dimensions; absent arguments reduce all
	out    Dtype   // of the result; NoDtype: that of the input
	second Dtype   // a second result, of positions, if dimensions are named
	widens bool    // integers are summed as int64
	same   bool    // the result is as large as the input: running sums
}

// The steps: one addition, comparison or product for each element; a norm squares first; a variance takes the
// mean (1), then differences, squares and their sum (3).
var reductionOps = map[string]reductionOp{
	"sum": {steps: 1, dim: 1, widens: true}, "nansum": {steps: 1, dim: 1, widens: true}, "mean": {steps: 1, dim: 1},
	"prod": {steps: 1, dim: 1, widens: true},
	"amax": {steps: 1, dim: 1}, "amin": {steps: 1, dim: 1},
	"max": {steps: 1, dim: 1, second: Int64}, "min": {steps: 1, dim: 1, second: Int64},
	"argmax": {steps: 1, dim: 1, out: Int64}, "argmin": {steps: 1, dim: 1, out: Int64},
	"any": {steps: 1, dim: 1, out: Bool}, "all": {steps: 1, dim: 1, out: Bool},
	"norm": {steps: 2, dim: 2}, "linalg_vector_norm": {steps: 2, dim: 2},
	"var": {steps: 4, dim: 1}, "std": {steps: 4, dim: 1}, "var_mean": {steps: 4, dim: 1},
	"cumsum": {steps: 1, dim: 1, widens: true, same: true}, "cumprod": {steps: 1, dim: 1, widens: true, same: true},
}

func reduction(name string) formula {
	op, known := reductionOps[strings.TrimPrefix(name, "aten::")]
	if !known || !strings.HasPrefix(name, "aten::") {
		return nil
	}
	return func(a args) (Work, bool) { return reduce(a, op) }
}

func reduce(a args, op reductionOp) (Work, bool) {
	x := a.at(0).tensor
	if !x.isTensor() {
		return Work{}, false
	}
	if op.second != NoDtype && a.at(1).isTensor() { // max(self, other) is not a reduction
		return elementwise(a, pointwiseOp{inputs: 2, steps: 1})
	}
	w := Work{Family: Reduction, FLOPs: op.steps * x.elements(), HasFLOPs: true, Dtype: x.dtype}
	left, ok := remaining(a, x, op)
	if !ok {
		return w, true
	}
	out := op.out
	if out == NoDtype {
		out = x.dtype
		if op.widens && !out.isFloat() {
			out = Int64
		}
	}
	size := out.Bytes()
	if op.second != NoDtype && a.at(op.dim).value != "" {
		size += op.second.Bytes()
	}
	w.Bytes, w.HasBytes = x.bytes()+left*size, true
	return w, true
}

// remaining is how many elements the reduction leaves. sum(x) has fewer arguments than sum(x, dims, keepdim): one
// that names dimensions but whose value was not recorded leaves it open.
func remaining(a args, x tensor, op reductionOp) (float64, bool) {
	switch n := x.elements(); {
	case op.same:
		return n, true
	case len(a) <= op.dim+1 || n == 0: // only self and, say, a dtype
		return min(n, 1), true
	}
	dims, ok := a.numbers(op.dim)
	if !ok {
		return 1, a.at(op.dim).value == "" && a.recorded() // None: all of them
	}
	if len(dims) == 0 {
		return 1, true
	}
	left := x.elements()
	for _, d := range dims {
		if d < 0 {
			d += float64(len(x.dims))
		}
		if d < 0 || int(d) >= len(x.dims) {
			return 0, len(x.dims) == 0
		}
		left /= x.dims[int(d)]
	}
	return left, true
}
