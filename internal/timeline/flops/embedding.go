package flops

// embedding is look-ups of rows in a table. Rows that are asked for more than once are read once at least; how often
// that is the shapes do not say, so that reading counts one row for each index, at most the whole table.
func embedding(name string) formula {
	switch name {
	case "aten::embedding":
		return embed
	case "aten::embedding_dense_backward":
		return embedBackward
	case "aten::_embedding_bag", "aten::_embedding_bag_forward_only":
		return embedBag
	}
	return nil
}

// embed is (weight, indices, ...).
func embed(a args) (Work, bool) {
	table, index := a.at(0).tensor, a.at(1).tensor
	if len(table.dims) != 2 || !table.isTensor() || !index.isTensor() {
		return Work{}, false
	}
	rows := index.elements()
	bytes := index.bytes() + (min(rows, table.dims[0])+rows)*table.dims[1]*table.dtype.Bytes()
	return both(Embedding, 0, bytes, table.dtype)
}

// embedBackward is (grad_output, indices, num_weights, ...): each row of the gradient is added to a row of the table's,
// which is written as a whole.
func embedBackward(a args) (Work, bool) {
	grad, index := a.at(0).tensor, a.at(1).tensor
	if !grad.isTensor() || !index.isTensor() || len(grad.dims) == 0 {
		return Work{}, false
	}
	w := Work{Family: Embedding, FLOPs: grad.elements(), HasFLOPs: true, Dtype: grad.dtype}
	if rows, known := a.number(2); known && rows >= 0 && rows <= maxElements {
		w.Bytes, w.HasBytes = grad.bytes()+index.bytes()+rows*grad.dims[len(grad.dims)-1]*grad.dtype.Bytes(), true
	}
	return w, true
}

// embedBag is (weight, indices, offsets, ...): sums of rows, one for each offset.
func embedBag(a args) (Work, bool) {
	table, index, offsets := a.at(0).tensor, a.at(1).tensor, a.at(2).tensor
	if len(table.dims) != 2 || !table.isTensor() || !index.isTensor() || !offsets.isTensor() {
		return Work{}, false
	}
	row := table.dims[1] * table.dtype.Bytes()
	bytes := index.bytes() + offsets.bytes() + (min(index.elements(), table.dims[0])+offsets.elements())*row
	return both(Embedding, index.elements()*table.dims[1], bytes, table.dtype)
}
