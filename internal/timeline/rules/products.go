package rules

import (
	"encoding/json"
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/flops"
	"lacuna/internal/timeline/model"
)

// alignElements is how many elements of 16 bits are the 16 bytes that tensor cores are fed at once.
const alignElements = 8

// alignment says whether the rows of a product's matrices begin at multiples of 16 bytes.
type alignment uint8

const (
	alignOpen  alignment = iota // not told
	alignWrong                  // a row is no multiple
	alignClean                  // every size is one
)

// A matrixProduct is a kernel that an operator with known sizes launched alone.
type matrixProduct struct {
	row   int32
	op    string
	sizes string
	align alignment
	flops float64
	ns    float64
}

// halfProducts is the products in 16 bits whose operator's sizes are recorded and which that operator launched alone.
func (c *Case) halfProducts() []matrixProduct {
	t, ops := c.Trace, c.Facts.WorkOps()
	if !hasText(t.Ops.Shapes) || len(t.Ops.Types) == 0 {
		return nil
	}
	launched := make(map[int32]int) // products of each operator
	for _, l := range c.lanes() {
		for _, r := range l {
			if c.kind(r).Class == facts.ClassGEMM {
				launched[ops[r]]++
			}
		}
	}
	sized := make(map[[4]model.StringID]matrixProduct) // by operator, shapes, types and strides; no FLOPs: not judged
	var out []matrixProduct
	for _, l := range c.lanes() {
		for _, r := range l {
			op := ops[r]
			if op == facts.NotNested || c.kind(r).Class != facts.ClassGEMM || launched[op] != 1 {
				continue
			}
			key := [4]model.StringID{t.Ops.Name[op], t.Ops.Shapes[op], t.Ops.Types[op]}
			if len(t.Ops.Strides) > 0 {
				key[3] = t.Ops.Strides[op]
			}
			p, known := sized[key]
			if !known {
				p = halfProduct(t.Strings.Text(key[0]), t.Strings.Text(key[1]), t.Strings.Text(key[2]),
					t.Strings.Text(key[3]))
				sized[key] = p
			}
			if p.flops > 0 {
				p.row, p.ns = r, float64(c.durNs(r))
				out = append(out, p)
			}
		}
	}
	return out
}

// halfProduct is a product in 16 bits by its operator's name, shapes, types and strides; no FLOPs: it is none, or
// leaves a size open.
func halfProduct(name, shapes, types, strides string) matrixProduct {
	work, why := flops.Of(flops.Op{Name: name, Shapes: shapes, Types: types, Strides: strides})
	if why != flops.Known || work.Family != flops.Matmul || work.Dtype.Bytes() != 2 {
		return matrixProduct{}
	}
	align, sizes, ok := alignedSizes(matrices(shapes), matrices(strides))
	if !ok {
		return matrixProduct{}
	}
	return matrixProduct{op: name, sizes: sizes, align: align, flops: work.FLOPs}
}

// alignedSizes says whether the rows of a product's matrices, and of its result, are multiples of alignElements: by
// strides, or without them by the last sizes.
func alignedSizes(sizes, strides [][2]int64) (align alignment, text string, ok bool) {
	if len(sizes) < 2 {
		return alignOpen, "", false
	}
	align = alignClean
	var words []string
	for i, m := range sizes {
		if m[0] == 1 || m[1] == 1 {
			return alignOpen, "", false // a vector
		}
		words = append(words, fmt.Sprintf("%dx%d", m[0], m[1]))
		row := m[1]
		if len(strides) == len(sizes) {
			row = max(strides[i][0], strides[i][1])
		}
		switch {
		case row%alignElements != 0:
			align = alignWrong
		case align == alignClean && (m[0]%alignElements != 0 || m[1]%alignElements != 0):
			align = alignOpen
		}
	}
	if sizes[len(sizes)-1][1]%alignElements != 0 {
		align = alignWrong // the result's rows
	}
	return align, strings.Join(words, " by "), true
}

// matrices is the last two numbers of each list of two or more in the JSON text of shapes or strides.
func matrices(text string) [][2]int64 {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil
	}
	var out [][2]int64
	for _, r := range raw {
		var list []int64
		if json.Unmarshal(r, &list) == nil && len(list) >= 2 {
			out = append(out, [2]int64{list[len(list)-2], list[len(list)-1]})
		}
	}
	return out
}
