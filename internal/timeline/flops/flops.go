// Package flops says how much work a framework operator asks for, from its name and the shapes and types of
// its inputs: floating-point operations, and the least bytes that any implementation must move.
//
// FLOPs: a multiply and an add are two. Matrix products, convolutions and attention count products and sums
// only, as torch.utils.flop_counter does; other operators count every arithmetic step of their formula as
// one, a call of exp or sqrt too. Moving data is none.
//
// Bytes: every input is read once and every output written once; a dimension that is only expanded (stride 0)
// is read once. What the formula keeps besides its result (saved statistics of a norm, log-sum-exp of attention)
// is left out. A cache can make fewer bytes of memory traffic out of it, a poor kernel makes more.
//
// What is not known is not guessed: an operator that is not listed, or shapes that leave a size open, are unknown.
package flops

// An Op is one call of an operator: texts in JSON as captures have them.
type Op struct {
	Name    string
	Shapes  string // [[64, 512], [512], []]
	Types   string // ["c10::BFloat16", "float", "Scalar"]
	Strides string // as Shapes, or ""
	Values  string // ["", "", "1"], or ""
}

// A Family is what an operator is, for people.
type Family string

// The families. The first three are matrix work: they can use matrix units and count for model FLOPs.
const (
	Matmul      Family = "matmul"
	Convolution Family = "convolution"
	Attention   Family = "attention"
	Norm        Family = "norm"
	Softmax     Family = "softmax"
	Reduction   Family = "reduction"
	Embedding   Family = "embedding"
	Pointwise   Family = "pointwise"
	Move        Family = "move"
	Loss        Family = "loss"
	Optimizer   Family = "optimizer"
)

// Matrix says whether a family is made of products of matrices.
func (f Family) Matrix() bool { return f == Matmul || f == Convolution || f == Attention }

// Work is what one call asks for.
type Work struct {
	Family   Family
	FLOPs    float64
	Bytes    float64
	HasFLOPs bool
	HasBytes bool
	Dtype    Dtype // of the operands; NoDtype if the capture does not say
}

// Unknown says why the work of an operator is not known.
type Unknown string

// The reasons.
const (
	Known      Unknown = ""
	NoFormula  Unknown = "no formula for the operator"
	NoShapes   Unknown = "no shapes recorded"
	OpenShapes Unknown = "the recorded inputs leave a size open"
)

// A formula is the work of one call with these arguments; false: they leave it open.
type formula func(a args) (Work, bool)

// Of is the work of an operator. With Known at least one of FLOPs and bytes is.
func Of(op Op) (Work, Unknown) {
	f := find(op.Name)
	if f == nil {
		return Work{}, NoFormula
	}
	if op.Shapes == "" {
		return Work{}, NoShapes
	}
	a, ok := parse(op)
	if !ok || len(a) == 0 {
		return Work{}, OpenShapes
	}
	w, ok := f(a)
	if !ok || !w.HasFLOPs && !w.HasBytes {
		return Work{}, OpenShapes
	}
	return w, Known
}

// find asks the families in turn for a formula of the operator's name.
func find(name string) formula {
	for _, family := range []func(string) formula{
		matmul, convolution, attention, norm, softmax, reduction, embedding, move, loss, optimizer, pointwise,
	} {
		if f := family(name); f != nil {
			return f
		}
	}
	return nil
}

// both is work of which everything is known.
func both(family Family, flops, bytes float64, t Dtype) (Work, bool) {
	return Work{Family: family, FLOPs: flops, Bytes: bytes, HasFLOPs: true, HasBytes: t.Bytes() > 0, Dtype: t}, true
}
