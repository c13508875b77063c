package flops

import "strings"

// A pointwiseOp computes each element of its result from the elements at the same place of its inputs.
type pointwiseOp struct {
	inputs int     // leading arguments that are tensors or numbers
	steps  float64 // for each element of the result
	out    Dtype   // of the result, unless it is that of the inputs
	mask   bool    // writes or keeps a mask of booleans beside its result
}

// The steps count what the operator's formula has, a transcendental function as one: silu(x) = x / (1 + exp(-x)) is
// negation, exp, sum, quotient. A factor that is passed along (alpha, value) is one more.
var pointwiseOps = map[string]pointwiseOp{
	"abs": {1, 1, "", false}, "neg": {1, 1, "", false}, "exp": {1, 1, "", false}, "exp2": {1, 1, "", false},
	"log":  {1, 1, "", false},
	"log2": {1, 1, "", false}, "log1p": {1, 1, "", false}, "expm1": {1, 1, "", false}, "sqrt": {1, 1, "", false},
	"rsqrt":      {1, 2, "", false},
	"reciprocal": {1, 1, "", false}, "sin": {1, 1, "", false}, "cos": {1, 1, "", false}, "tanh": {1, 1, "", false},
	"erf":  {1, 1, "", false},
	"relu": {1, 1, "", false}, "relu6": {1, 2, "", false}, "clamp": {1, 2, "", false}, "clamp_min": {1, 1, "", false},
	"clamp_max": {1, 1, "", false},
	"threshold": {1, 1, "", false}, "hardtanh": {1, 2, "", false}, "leaky_relu": {1, 2, "", false},
	"floor": {1, 1, "", false}, "ceil": {1, 1, "", false},
	"round": {1, 1, "", false}, "sign": {1, 1, "", false}, "sigmoid": {1, 4, "", false}, "silu": {1, 4, "", false},
	"gelu": {1, 5, "", false},
	"elu":  {1, 4, "", false}, "softplus": {1, 4, "", false}, "bitwise_not": {1, 1, "", false},
	"logical_not": {1, 1, Bool, false}, "isnan": {1, 1, Bool, false},
	"pow": {2, 1, "", false}, "tril": {1, 0, "", false}, "triu": {1, 0, "", false},

	"add": {2, 1, "", false}, "sub": {2, 1, "", false}, "rsub": {2, 1, "", false}, "mul": {2, 1, "", false},
	"div":     {2, 1, "", false},
	"maximum": {2, 1, "", false}, "minimum": {2, 1, "", false}, "remainder": {2, 1, "", false},
	"fmod":  {2, 1, "", false},
	"atan2": {2, 1, "", false}, "bitwise_and": {2, 1, "", false}, "bitwise_or": {2, 1, "", false},
	"bitwise_xor": {2, 1, "", false},
	"eq":          {2, 1, Bool, false}, "ne": {2, 1, Bool, false}, "lt": {2, 1, Bool, false}, "le": {2, 1, Bool, false},
	"gt": {2, 1, Bool, false},
	"ge": {2, 1, Bool, false}, "logical_and": {2, 1, Bool, false}, "logical_or": {2, 1, Bool, false},
	"masked_fill": {2, 0, "", false},

	"addcmul": {3, 3, "", false}, "addcdiv": {3, 3, "", false}, "lerp": {2, 3, "", false}, "where": {3, 0, "", false},

	"threshold_backward": {2, 1, "", false}, "sigmoid_backward": {2, 3, "", false}, "tanh_backward": {2, 3, "", false},
	"silu_backward": {2, 8, "", false}, "gelu_backward": {2, 10, "", false}, "hardtanh_backward": {2, 2, "", false},
	"leaky_relu_backward": {2, 2, "", false},
	"native_dropout":      {1, 3, "", true}, "native_dropout_backward": {2, 2, "", false},
	"mse_loss": {2, 2, "", false}, "mse_loss_backward": {3, 3, "", false}, "binary_cross_entropy": {2, 7, "", false},
	"smooth_l1_loss": {2, 4, "", false},
}

// pointwise is operators of which each element of the result needs one element of each input.
func pointwise(name string) formula {
	base, isAten := strings.CutPrefix(name, "aten::")
	op, known := pointwiseOps[strings.TrimSuffix(base, "_")]
	if !isAten || !known || strings.HasPrefix(base, "_") {
		return nil
	}
	base = strings.TrimSuffix(base, "_")
	inPlace, takesAlpha := strings.HasSuffix(name, "_"), base == "add" || base == "sub" || base == "rsub"
	return func(a args) (Work, bool) {
		op := op
		if inPlace {
			op.out = a.at(0).dtype
		}
		if alpha, given := a.number(2); takesAlpha && given && alpha != 1 {
			op.steps++ // self + alpha other
		}
		return elementwise(a, op)
	}
}

// elementwise reads the inputs and writes a result of their common shape. Of arguments behind the inputs nothing is
// read: they are numbers, or the result itself, which a caller may have passed in.
func elementwise(a args, op pointwiseOp) (Work, bool) {
	var shape []float64
	var tensors []tensor
	var bytes float64
	for i := range min(op.inputs, len(a)) {
		t := a[i].tensor
		if !t.isTensor() {
			continue
		}
		var ok bool
		if shape, ok = broadcast(shape, t.dims); !ok {
			return Work{}, false
		}
		tensors, bytes = append(tensors, t), bytes+t.bytes()
	}
	if len(tensors) == 0 {
		return Work{}, false
	}
	in := promote(tensors)
	out := op.out
	if out == NoDtype {
		out = in
	}
	n := product(shape)
	bytes += n * out.Bytes()
	if op.mask {
		bytes += n * Bool.Bytes()
	}
	return both(Pointwise, op.steps*n, bytes, in)
}
