package flops

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A tensor is a shape with a type.
type tensor struct {
	dims    []float64
	strides []float64 // nil: not recorded
	dtype   Dtype
}

// An arg is one input of an operator: a tensor, a list of tensors, or a value.
type arg struct {
	tensor
	list  []tensor // of a TensorList; their types are not recorded
	value string   // concrete value as text; "": none recorded
}

type args []arg

// maxElements bounds what is believed: a tensor of more elements than memory can hold is a damaged record.
const maxElements = 1e15

// parse reads the JSON texts of an operator. False: they are not what the profiler writes.
func parse(op Op) (args, bool) {
	var shapes []json.RawMessage
	if json.Unmarshal([]byte(op.Shapes), &shapes) != nil {
		return nil, false
	}
	var types, values []string
	if op.Types != "" && json.Unmarshal([]byte(op.Types), &types) != nil {
		return nil, false
	}
	var strides []json.RawMessage
	if op.Strides != "" && json.Unmarshal([]byte(op.Strides), &strides) != nil {
		strides = nil
	}
	if op.Values != "" && json.Unmarshal([]byte(op.Values), &values) != nil {
		values = nil
	}
	out := make(args, len(shapes))
	for i, text := range shapes {
		a := &out[i]
		if i < len(values) {
			a.value = values[i]
		}
		if i < len(types) {
			a.dtype = dtypeOf(types[i])
		}
		if json.Unmarshal(text, &a.dims) == nil {
			if i < len(strides) && json.Unmarshal(strides[i], &a.strides) != nil {
				a.strides = nil
			}
		} else {
			var lists [][]float64
			if json.Unmarshal(text, &lists) != nil {
				return nil, false
			}
			a.dims = nil
			for _, dims := range lists {
				a.list = append(a.list, tensor{dims: dims})
			}
		}
		for _, t := range append(a.list, a.tensor) {
			if !t.plausible() {
				return nil, false
			}
		}
	}
	return out, true
}

func (t tensor) plausible() bool {
	for _, d := range t.dims {
		if d < 0 || d > maxElements {
			return false
		}
	}
	return t.elements() <= maxElements
}

// elements is the product of the dimensions.
func (t tensor) elements() float64 { return product(t.dims) }

func product(dims []float64) float64 {
	n := 1.0
	for _, d := range dims {
		n *= d
	}
	return n
}

// distinct is how many different elements the tensor has in memory: strides of 0 repeat, overlapping windows
// share.
func (t tensor) distinct() float64 {
	n := t.elements()
	if len(t.strides) != len(t.dims) || n == 0 {
		return n
	}
	reach, unique := 1.0, 1.0
	for i, d := range t.dims {
		if t.strides[i] < 0 {
			return n
		}
		reach += (d - 1) * t.strides[i]
		if t.strides[i] > 0 {
			unique *= d
		}
	}
	return min(n, unique, reach)
}

// bytes is the memory of the distinct elements.
func (t tensor) bytes() float64 { return t.distinct() * t.dtype.Bytes() }

// isTensor says whether the argument is a tensor, not a number, a list or nothing.
func (t tensor) isTensor() bool { return t.dtype != NoDtype }

// at is argument i, or nothing.
func (a args) at(i int) arg {
	if i < 0 || i >= len(a) {
		return arg{}
	}
	return a[i]
}

// bytesOf is the memory of some tensors, those that are there.
func (a args) bytesOf(indices ...int) float64 {
	var sum float64
	for _, i := range indices {
		if t := a.at(i); t.isTensor() {
			sum += t.bytes()
		}
	}
	return sum
}

// flag is a concrete boolean; known is false if it was not recorded.
func (a args) flag(i int) (value, known bool) {
	switch a.at(i).value {
	case "True", "true", "1":
		return true, true
	case "False", "false", "0":
		return false, true
	}
	return false, false
}

// recorded says whether the capture has any concrete value: if so, an empty one is None.
func (a args) recorded() bool {
	return slices.ContainsFunc(a, func(x arg) bool { return x.value != "" })
}

// number is a concrete number.
func (a args) number(i int) (float64, bool) {
	v, err := strconv.ParseFloat(a.at(i).value, 64)
	return v, err == nil && v == v
}

// numbers is a concrete list of numbers: "[1, 1]", or a single one.
func (a args) numbers(i int) ([]float64, bool) {
	text := a.at(i).value
	if text == "" {
		return nil, false
	}
	var out []float64
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r == '[' || r == ']' || r == ',' ||
			r == ' '
	}) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// mask is a concrete list of booleans: "[True, False]".
func (a args) mask(i, n int) ([]bool, bool) {
	words := strings.FieldsFunc(a.at(i).value, func(r rune) bool {
		return r == '[' || r == ']' || r == ',' ||
			r == ' '
	})
	if len(words) != n {
		return nil, false
	}
	out := make([]bool, n)
	for k, w := range words {
		out[k] = w == "True" || w == "true" || w == "1"
	}
	return out, true
}
