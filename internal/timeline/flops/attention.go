package flops

// An attentionLayout is where an operator has its arguments.
type attentionLayout struct {
	q      int // query; key and value follow it
	causal int // flag, or -1
	// custom_mask_type of the memory-efficient kernels, or -1: 1 is causal from the top left, 2 from the bottom right
	kind     int
	cumSeq   int  // lengths of a packed batch, or -1
	window   int  // size of a sliding window to the left, the one to the right follows it; or -1
	seqFirst bool // [batch, sequence, heads, dim], else [batch, heads, sequence, dim]
	bottom   bool // the causal mask ends at the bottom right corner, not begins at the top left
	backward bool
}

// The argument orders of native_functions.yaml and of flash_attn 2.
var attentionOps = map[string]attentionLayout{
	"aten::scaled_dot_product_attention":            {q: 0, causal: 5, kind: -1, cumSeq: -1, window: -1},
	"aten::_scaled_dot_product_flash_attention":     {q: 0, causal: 4, kind: -1, cumSeq: -1, window: -1},
	"aten::_scaled_dot_product_efficient_attention": {q: 0, causal: 6, kind: -1, cumSeq: -1, window: -1},
	"aten::_scaled_dot_product_cudnn_attention":     {q: 0, causal: 6, kind: -1, cumSeq: -1, window: -1},
	"aten::_flash_attention_forward": {q: 0, causal: 8, kind: -1, cumSeq: 3, window: 11,
		seqFirst: true},
	"aten::_efficient_attention_forward": {q: 0, causal: -1, kind: 9, cumSeq: 4, window: -1,
		seqFirst: true},
	"aten::_cudnn_attention_forward": {q: 0, causal: 10, kind: -1, cumSeq: 4, window: -1},
	"flash_attn::_flash_attn_forward": {q: 0, causal: 5, kind: -1, cumSeq: -1, window: 6,
		seqFirst: true, bottom: true},
	"aten::_scaled_dot_product_flash_attention_backward": {q: 1, causal: 11, kind: -1, cumSeq: 6, window: -1,
		backward: true},
	"aten::_scaled_dot_product_efficient_attention_backward": {q: 1, causal: 11, kind: -1, cumSeq: -1, window: -1,
		backward: true},
	"aten::_scaled_dot_product_cudnn_attention_backward": {q: 1, causal: 14, kind: -1, cumSeq: 9, window: -1,
		backward: true},
	"aten::_flash_attention_backward": {q: 1, causal: 11, kind: -1, cumSeq: 6, window: 15,
		seqFirst: true, backward: true},
	"aten::_efficient_attention_backward": {q: 1, causal: -1, kind: 14, cumSeq: 6, window: -1,
		seqFirst: true, backward: true},
	"aten::_cudnn_attention_backward": {q: 1, causal: 14, kind: -1, cumSeq: 9, window: -1,
		backward: true},
	"flash_attn::_flash_attn_backward": {q: 1, causal: 11, kind: -1, cumSeq: -1, window: 12,
		seqFirst: true, bottom: true, backward: true},
}

// attention is scaled dot-product attention in one operator. Forward: scores Q K^T and their product with V,
// 2 d_qk + 2 d_v for each pair of a query and a key that it may see. Backward: the scores again, the gradient of
// the scores, and of V, Q and K: 2 (3 d_qk + 2 d_v) a pair, five products for the forward's two, as
// torch.utils.flop_counter counts them. A causal mask hides nearly half of the pairs and these kernels skip them;
// flop_counter counts them all. Softmax and masks count nothing. The log-sum-exp counts no bytes.
func attention(name string) formula {
	l, known := attentionOps[name]
	if !known {
		return nil
	}
	return func(a args) (Work, bool) { return attend(a, l) }
}

func attend(a args, l attentionLayout) (Work, bool) {
	q, k, v := a.at(l.q).tensor, a.at(l.q+1).tensor, a.at(l.q+2).tensor
	if !q.isTensor() || len(k.dims) != len(q.dims) || len(v.dims) != len(q.dims) || len(q.dims) < 3 || len(q.dims) > 4 {
		return Work{}, false
	}
	n := len(q.dims)
	head, seq := n-3, n-2
	if l.seqFirst {
		head, seq = n-2, n-3
	}
	result := q.elements() / max(q.dims[n-1], 1) * v.dims[n-1] * q.dtype.Bytes()
	w := Work{Family: Attention, Dtype: q.dtype, HasBytes: true, Bytes: q.bytes() + k.bytes() + v.bytes() + result}
	if l.backward { // reads the result and its gradient as well, writes gradients of Q, K and V
		w.Bytes = 2*(q.elements()+k.elements()+v.elements())*q.dtype.Bytes() + 2*result
	}
	batch := 1.0
	if n == 4 {
		batch = q.dims[0]
	}
	packed := l.cumSeq >= 0 && a.at(l.cumSeq).isTensor() && a.at(l.cumSeq).elements() > 0
	pairs, ok := pairsSeen(a, l, q.dims[seq], k.dims[seq])
	if packed || !ok {
		return w, true // the bytes are known all the same
	}
	perPair := 2 * (q.dims[n-1] + v.dims[n-1])
	if l.backward {
		perPair = 2 * (3*q.dims[n-1] + 2*v.dims[n-1])
	}
	w.FLOPs, w.HasFLOPs = batch*q.dims[head]*pairs*perPair, true
	return w, true
}

// pairsSeen is how many pairs of a query and a key the mask leaves in one head.
func pairsSeen(a args, l attentionLayout, queries, keys float64) (float64, bool) {
	if l.window >= 0 {
		for _, i := range []int{l.window, l.window + 1} {
			if size, known := a.number(i); known && size >= 0 {
				return 0, false // a sliding window
			}
		}
	}
	causal, known, bottom := false, true, l.bottom
	switch {
	case l.kind >= 0:
		var kind float64
		kind, known = a.number(l.kind)
		causal, bottom = kind == 1 || kind == 2, kind == 2
	case l.causal >= 0:
		causal, known = a.flag(l.causal)
	}
	if !known {
		return 0, false
	}
	if !causal {
		return queries * keys, true
	}
	offset := 0.0
	if bottom {
		offset = keys - queries
	}
	return trapezoid(queries, keys, offset), true
}

// trapezoid is the sum over queries i of the keys 0 to i + offset, at least none and at most all.
func trapezoid(queries, keys, offset float64) float64 {
	first := max(0, -offset)                        // queries before it see nothing
	full := min(max(keys-offset-1, first), queries) // queries from it on see all keys
	rising := max(full-first, 0)                    // those between see one more each
	return rising*(2*(first+offset)+rising+1)/2 + max(queries-full, 0)*keys
}
