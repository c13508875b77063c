package facts

import "slices"

// A ChainLink is a kernel as a chain of pointwise work sees it.
type ChainLink struct {
	Kind     KernelKind
	Elements int64 // that a pointwise kernel works on, as far as its grid says; 0: not known
	Block    int64 // elements of one thread block: grids round up to whole blocks
	DurNs    int64
	Bars     bool // belongs to no chain, and ends one
}

// A Chain is kernels that pass over the same elements one after another and could be one kernel: pointwise ones of as
// many elements and what lies between them, the reductions of a norm, softmax or loss that is written out and the
// small kernels on their results.
type Chain struct {
	Links      []int // places among the links given, in order
	Full       int   // how many of them are pointwise kernels on all elements
	Reductions int
	FusedNs    int64 // how long one kernel takes that moves as many tensors as the link that moves most
	LowNs      int64 // the same with everything taken well, and badly
	HighNs     int64
	WrittenNs  int64 // how long it takes to write what each of them writes
}

const (
	// maxBetween is how many kernels may lie between two pointwise ones on all elements: a mean or two, and a few
	// small kernels that make a factor of it.
	maxBetween = 6
	// smallPart is the share of a chain's elements up to which a kernel between works on results of reductions.
	smallPart = 1.0 / 16
	// A reduction of all elements reads one tensor. It takes between these multiples of what a pointwise kernel takes
	// per tensor; one that takes less or more reduces something else.
	leastReduction, mostReduction = 0.25, 8
	// UsualOperands is how many tensors a pointwise kernel moves whose name does not say: two in, one out.
	UsualOperands = 3
	// withReductionsHigh is how much longer than estimated a fused chain with reductions may take. What a fused program
	// spent on its chains (its step less what the others of the unfused step took) was 1.37 times the estimate for
	// F.cross_entropy, 1.22 for GELU and LayerNorm by torch.compile, 0.75 for LayerNorm alone; three that fuse more
	// than the chains took less (one H200, 2026-11-23).
	withReductionsHigh = 1.5
	// movingNs is the duration from which a pointwise kernel is limited by memory rather than by its launch: 5 µs at
	// 1 to 4 TB/s are 5 to 20 MB.
	movingNs = 5_000
)

// operands is how many tensors a pointwise kernel moves.
func (l *ChainLink) operands() float64 {
	if l.Kind.Operands < 2 {
		return UsualOperands
	}
	return float64(l.Kind.Operands)
}

// full says whether a link is a pointwise kernel that reads and computes; one that only fills is none.
func (l *ChainLink) full() bool {
	return (l.Kind.Class == ClassPointwise || l.Kind.Class == ClassCast) && l.Kind.Operands != 1 && l.Elements > 0
}

// asMany says whether two kernels work on as many elements, as far as their grids tell.
func (l *ChainLink) asMany(o *ChainLink) bool {
	return max(l.Elements, o.Elements)-min(l.Elements, o.Elements) < max(1, l.Block, o.Block)
}

// Chains finds the chains among the kernels of a stream in order. joined says whether two of them could be one kernel.
func Chains(links []ChainLink, joined func(i, j int) bool) []Chain {
	var out []Chain
	w := chainWalk{links: links, joined: joined}
	for i := range links {
		if c, done := w.take(i); done {
			out = append(out, c)
		}
	}
	if c, done := w.end(); done {
		out = append(out, c)
	}
	return out
}

// A chainWalk is the chain that is being found.
type chainWalk struct {
	links   []ChainLink
	joined  func(i, j int) bool
	members []int
	first   int   // the first full one
	pending []int // behind the last full one
	lead    int   // a reduction right before the next link, plus 1
}

// take looks at the next link, and returns a chain that it ends.
func (w *chainWalk) take(i int) (c Chain, done bool) {
	l := &w.links[i]
	switch n := len(w.members); {
	case l.Bars:
	case l.full() && n > 0 && l.asMany(&w.links[w.first]) && w.joined(w.members[n-1], i) &&
		(l.Kind.Strided || !w.reduced()):
		w.members = append(append(w.members, w.pending...), i)
		w.pending = w.pending[:0]
		return Chain{}, false
	case n > 0 && len(w.pending) < maxBetween && w.between(l) && w.joined(w.members[n-1], i):
		w.pending = append(w.pending, i)
		return Chain{}, false
	}
	lead := w.lead
	c, done = w.end()
	switch {
	case l.Bars:
	case l.full():
		if i > 0 && lead == i && l.Kind.Strided && w.joined(i-1, i) &&
			w.reduces(&w.links[i-1], float64(l.DurNs)/l.operands()) {
			w.members = append(w.members, i-1)
		}
		w.members, w.first = append(w.members, i), i
	case l.Kind.Class == ClassReduction:
		w.lead = i + 1
	}
	return c, done
}

// reduced says whether a reduction lies behind the last kernel on all elements. Its result comes back to all of them
// only where the next one broadcasts it: the sums for gradients of biases, which lie between kernels too, do not.
func (w *chainWalk) reduced() bool {
	return slices.ContainsFunc(w.pending, func(i int) bool { return w.links[i].Kind.Class == ClassReduction })
}

// between says whether a link may lie between two kernels of the chain.
func (w *chainWalk) between(l *ChainLink) bool {
	if l.Kind.Class == ClassReduction {
		first := &w.links[w.first]
		return w.reduces(l, float64(first.DurNs)/first.operands())
	}
	if l.Kind.Class != ClassPointwise && l.Kind.Class != ClassCast || l.Elements == 0 {
		return false
	}
	// what is small without a reduction before it is of another tensor
	small := float64(l.Elements) <= smallPart*float64(w.links[w.first].Elements) && w.reduced()
	return small || l.Kind.Operands == 1
}

// reduces says whether a reduction is of all elements, given what a pointwise kernel takes per tensor.
func (w *chainWalk) reduces(l *ChainLink, perTensorNs float64) bool {
	d := float64(l.DurNs)
	return d >= leastReduction*perTensorNs && d <= mostReduction*perTensorNs
}

// end returns the chain that has been found, if it has at least two kernels.
func (w *chainWalk) end() (Chain, bool) {
	members := w.members
	w.members, w.pending, w.lead = nil, w.pending[:0], 0
	if len(members) < 2 {
		return Chain{}, false
	}
	c := Chain{Links: members}
	longest, most, perTensor, written := int64(0), 0.0, 0.0, 0.0
	cast := int64(0) // a cast moves what is of another type once, in and out, and so does what it becomes part of
	for _, i := range members {
		l := &w.links[i]
		if l.Kind.Class == ClassReduction {
			c.Reductions++
			continue
		}
		if i != w.first && !l.asMany(&w.links[w.first]) || !l.full() {
			continue
		}
		c.Full++
		longest, most = max(longest, l.DurNs), max(most, l.operands())
		if l.Kind.Class == ClassCast {
			cast = max(cast, l.DurNs)
		}
		per := float64(l.DurNs) / l.operands()
		written += per
		if l.Kind.Operands >= 2 && l.DurNs >= movingNs && (perTensor == 0 || per < perTensor) {
			perTensor = per
		}
	}
	if c.Full < 2 {
		return Chain{}, false
	}
	c.price(float64(longest), most, max(perTensor, float64(cast)/most))
	c.WrittenNs = int64(written)
	return c, true
}

// price says how long the chain takes as one kernel. Its slowest kernel need not show what its tensors cost: one that
// broadcasts computes an index for each element. Reductions over rows are made on the way at best; else what they
// reduce is read once more.
func (c *Chain) price(longest, most, perTensor float64) {
	fused := longest
	if perTensor > 0 {
		fused = min(longest, most*perTensor)
	}
	c.FusedNs = int64(fused)
	c.LowNs, c.HighNs = int64(fused*19/20), int64(max(longest, fused*(most+1)/most))
	if c.Reductions > 0 && perTensor > 0 {
		c.LowNs = int64(min(fused, 2*perTensor) * 19 / 20)
		c.HighNs = max(c.HighNs, int64(withReductionsHigh*fused))
	}
}
