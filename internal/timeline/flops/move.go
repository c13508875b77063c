package flops

import (
	"slices"
	"strings"
)

// move is operators that put data elsewhere, perhaps as another type: no FLOPs.
func move(name string) formula {
	switch name {
	case "aten::copy_", "aten::_copy_from":
		return copyTo
	case "aten::to", "aten::_to_copy", "aten::clone", "aten::contiguous":
		return copySame
	case "aten::fill_", "aten::zero_":
		return fill
	case "aten::cat":
		return concatenate
	case "aten::index_select":
		return indexSelect
	case "aten::gather":
		return gather
	case "aten::_local_scalar_dense", "aten::item":
		return func(a args) (Work, bool) {
			t := a.at(0).tensor
			return both(Move, 0, t.dtype.Bytes(), t.dtype)
		}
	}
	return nil
}

// copyTo is (self, src): the sizes of both types count. Where nothing is recorded of the source, nothing is known.
func copyTo(a args) (Work, bool) {
	dst, src := a.at(0).tensor, a.at(1).tensor
	if !dst.isTensor() || !src.isTensor() {
		return Work{}, false
	}
	return both(Move, 0, min(src.bytes(), dst.elements()*src.dtype.Bytes())+dst.elements()*dst.dtype.Bytes(), dst.dtype)
}

// copySame is (self, ...): the type of the copy is a value, that of self where none is given.
func copySame(a args) (Work, bool) {
	x := a.at(0).tensor
	out := scalarType(a.at(1).value)
	if out == NoDtype {
		out = x.dtype
	}
	return both(Move, 0, x.bytes()+x.elements()*out.Bytes(), x.dtype)
}

func fill(a args) (Work, bool) {
	x := a.at(0).tensor
	return both(Move, 0, x.elements()*x.dtype.Bytes(), x.dtype)
}

// concatenate is (tensors, dim). Captures have the shapes of a list but not its types: the bytes are open unless a
// result was passed in (cat.out).
func concatenate(a args) (Work, bool) {
	list := a.at(0).list
	if len(list) == 0 {
		return Work{}, false
	}
	var n float64
	for _, t := range list {
		n += t.elements()
	}
	out := a.at(2).tensor
	return both(Move, 0, 2*n*out.dtype.Bytes(), out.dtype)
}

// indexSelect is (self, dim, index): the result has as many slices as the index.
func indexSelect(a args) (Work, bool) {
	x, index := a.at(0).tensor, a.at(2).tensor
	dim, known := a.number(1)
	if dim < 0 {
		dim += float64(len(x.dims))
	}
	if !known || !x.isTensor() || !index.isTensor() || dim < 0 || int(dim) >= len(x.dims) || x.dims[int(dim)] == 0 {
		return Work{}, false
	}
	slice := x.elements() / x.dims[int(dim)] * x.dtype.Bytes()
	return both(Move, 0, index.bytes()+(min(index.elements(), x.dims[int(dim)])+index.elements())*slice, x.dtype)
}

// gather is (self, dim, index, ...): an element for each index.
func gather(a args) (Work, bool) {
	x, index := a.at(0).tensor, a.at(2).tensor
	if !x.isTensor() || !index.isTensor() {
		return Work{}, false
	}
	n := index.elements()
	return both(Move, 0, index.bytes()+(min(n, x.elements())+n)*x.dtype.Bytes(), x.dtype)
}

// Steps of fused Adam for each parameter: both moments (3 and 4), root, quotient and sum of the denominator (3), the
// step and its subtraction (3), weight decay (1).
const adamSteps = 14

// optimizer is updates of lists of parameters. The types of a list are not recorded, so that its bytes are open.
// PyTorch records no shapes at all of long lists: then nothing is known.
func optimizer(name string) formula {
	steps := 0.0
	switch base, isForeach := strings.CutPrefix(name, "aten::_foreach_"); {
	case isForeach:
		op, known := pointwiseOps[strings.TrimSuffix(base, "_")]
		if !known {
			return nil
		}
		steps = op.steps
	case slices.Contains([]string{"aten::_fused_adam_", "aten::_fused_adamw_"}, name):
		steps = adamSteps
	default:
		return nil
	}
	return func(a args) (Work, bool) {
		list := a.at(0).list
		if len(list) == 0 {
			return Work{}, false
		}
		var n float64
		for _, t := range list {
			n += t.elements()
		}
		return both(Optimizer, steps*n, 0, NoDtype)
	}
}
