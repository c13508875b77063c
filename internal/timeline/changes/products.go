package changes

import (
	"slices"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/flops"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
	"lacuna/internal/timeline/replay"
)

// A product is a kernel's part in a product of matrices or a convolution that an operator asked for.
type product struct {
	flops float64 // of this kernel: the operator's are divided by time among the kernels that it launched
	size  float64 // FLOPs of one product of the operator: how well it fills the device
	bytes float64 // what this kernel moves at least, of the operator's; 0: not known
	half  bool    // operands of 16 bits
	// part says which of how many kernels of the operator this is; 0 of 0: not known.
	part, parts int
}

// flopsOf is the products of the kernels whose operator's shapes are recorded. A convolution can be several kernels
// (by Fourier transform, or a gradient of each operand), and they all work for it. A kernel without an operator has
// what others of its name and grid have in the median: of a step at the capture's edge no operators may be recorded.
func flopsOf(e *replay.Edit) map[int32]product {
	t := e.Facts.Trace
	if len(t.Ops.Shapes) == 0 {
		return nil
	}
	opOf := make(map[uint32]int, t.Ops.Len())
	for i, id := range t.Ops.External {
		if id != 0 {
			opOf[id] = i
		}
	}
	kernels := make(map[uint32][]int32) // by operator
	var alone []int32
	for i := range e.Works {
		k := kindOf(e, int32(i))
		if k.Class != facts.ClassGEMM && k.Class != facts.ClassConvolution {
			continue
		}
		id := uint32(0)
		if row := int(rowOf(e, int32(i))); row < len(t.Kernels.External) {
			id = t.Kernels.External[row]
		}
		if _, known := opOf[id]; known {
			kernels[id] = append(kernels[id], int32(i))
		} else {
			alone = append(alone, int32(i))
		}
	}
	out := make(map[int32]product)
	for id, works := range kernels {
		op := opAt(e, opOf[id])
		if w, why := flops.Of(op); why == flops.Known && w.HasFLOPs && w.Family.Matrix() {
			divide(e, works, op.Name, w, out)
		}
	}
	likeOthers(e, alone, out)
	return out
}

// divide gives the kernels of an operator their parts, by how long they take.
func divide(e *replay.Edit, works []int32, name string, w flops.Work, out map[int32]product) {
	var all float64
	for _, i := range works {
		all += float64(e.Works[i].DurNs)
	}
	products := 1.0
	if name == "aten::convolution_backward" && len(works) > 1 {
		products = 2 // the gradient of the input, and that of the weight
	}
	for k, i := range works {
		share := float64(e.Works[i].DurNs) / max(1, all)
		out[i] = product{flops: w.FLOPs * share, size: w.FLOPs / products, bytes: w.Bytes * share,
			half: w.Dtype.Bytes() == 2, part: k, parts: len(works)}
	}
}

// likeOthers gives kernels without an operator the median of those of the same name and grid.
func likeOthers(e *replay.Edit, alone []int32, out map[int32]product) {
	type key struct {
		name   model.StringID
		blocks float64
	}
	keyOf := func(i int32) key { return key{e.Facts.Trace.Kernels.Name[rowOf(e, i)], blocksOf(e, i)} }
	var rows []int32
	for i := range out {
		rows = append(rows, i)
	}
	slices.Sort(rows)
	known := make(map[key][]product)
	for _, i := range rows {
		known[keyOf(i)] = append(known[keyOf(i)], out[i])
	}
	for _, list := range known {
		slices.SortStableFunc(list, func(a, b product) int {
			switch {
			case a.flops < b.flops:
				return -1
			case a.flops > b.flops:
				return 1
			}
			return 0
		})
	}
	for _, i := range alone {
		if list := known[keyOf(i)]; len(list) > 0 {
			out[i] = list[len(list)/2]
		}
	}
}

// opAt is an operator as flops understands it.
func opAt(e *replay.Edit, i int) flops.Op {
	t := e.Facts.Trace
	o := flops.Op{Name: t.Strings.Text(t.Ops.Name[i])}
	if i < len(t.Ops.Shapes) {
		o.Shapes = t.Strings.Text(t.Ops.Shapes[i])
	}
	if i < len(t.Ops.Types) {
		o.Types = t.Strings.Text(t.Ops.Types[i])
	}
	if i < len(t.Ops.Strides) {
		o.Strides = t.Strings.Text(t.Ops.Strides[i])
	}
	if i < len(t.Ops.Values) {
		o.Values = t.Strings.Text(t.Ops.Values[i])
	}
	return o
}

// A shareScale is by how much products of a capture exceed what is usual, or fall short; the zero value: not known.
type shareScale struct{ mid, low, high float64 }

func (c shareScale) of(s peaks.Share) peaks.Share {
	if c.mid == 0 {
		return s
	}
	return peaks.Share{Mid: min(s.Mid*c.mid, 0.95), Low: min(s.Mid*c.low, 0.94), High: min(s.Mid*c.high, 0.96)}
}

// minObserved is how many products of its own a capture needs before they count for more than the table.
const minObserved = 8

// seenShare compares a capture's own products in 16 bits with what is usual.
func seenShare(e *replay.Edit, device uint32, p *peaks.Peak, work map[int32]product) shareScale {
	var ratios []float64
	unit := max(p.BF16, p.FP16)
	for i, of := range work {
		w := &e.Works[i]
		if w.Dropped || w.DurNs == 0 || e.Lanes[w.Lane].Device != device || !of.half {
			continue
		}
		ratios = append(ratios, of.flops/float64(w.DurNs)/1e3/unit/p.MatrixShare(of.size/unit/1e6).Mid)
	}
	if len(ratios) < minObserved {
		return shareScale{}
	}
	slices.Sort(ratios)
	n := len(ratios)
	return shareScale{mid: ratios[n/2], low: ratios[n/10], high: ratios[n-1-n/10]}
}
