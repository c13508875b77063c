package facts

import (
	"encoding/json"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// PassCasts is the casts of weights that several forward passes of one update make again. Autocast keeps what it cast
// until its context is left, which loops that accumulate gradients do for each batch.
type PassCasts struct {
	Again  []int32 // rows of Work: those of the second pass on, each of a weight that the first pass casts too
	Open   []int32 // likewise, but nothing tells whether they are of weights or of activations
	Passes int     // the most forward passes that an update has
	How    string  // what tells that they are weights
}

// What tells weights from activations.
const (
	weightsByShape = "the recorded shapes are those of the weights of linear layers and convolutions"
	weightsByGrads = "backward adds gradients of the same sizes from the second pass on, which it does for weights only"
)

// PassCasts finds them. A forward pass is what a stream computes between two stretches of backward; updates, by
// kernels or ranges of optimizers, end a group of passes. Without any update nothing says which passes share one.
func (f *Facts) PassCasts() *PassCasts {
	return f.kept.passCasts.of(f, func(f *Facts) *PassCasts {
		p := &passCasts{Facts: f, w: f.Work(), kinds: f.KernelKinds(), passes: f.Passes(), ranges: f.passRanges()}
		if !p.passes.Trains {
			return &p.out
		}
		var lanes []Lane
		rows := make(map[Lane][]int32)
		for i, kind := range p.w.Kind {
			if kind != WorkKernel {
				continue
			}
			lane := Lane{Device: p.w.Device[i], Stream: p.w.Stream[i]}
			if rows[lane] == nil {
				lanes = append(lanes, lane)
			}
			rows[lane] = append(rows[lane], int32(i))
		}
		for _, lane := range lanes {
			p.ofLane(rows[lane])
		}
		return &p.out
	})
}

type passCasts struct {
	*Facts
	w      *Work
	kinds  []KernelKind
	passes *Passes
	ranges map[model.ProcessRow][PassUpdate + 1]interval.Set
	out    PassCasts

	around []int32 // the innermost event around each call; of this and the next, nil: not asked for yet
	texts  []string
	shapes []uint32
}

// A turn is one forward pass of a stream and the backward behind it.
type turn struct {
	casts    []int32 // narrowing ones of forward
	backward []int32
}

// ofLane divides the kernels of a stream into passes, and those into updates.
func (p *passCasts) ofLane(rows []int32) {
	var groups [][]turn
	var group []turn
	updates := false
	for _, r := range rows {
		last := len(group) - 1
		switch pass := p.passes.Of[r]; {
		case p.updatesWeights(r):
			updates = true
			if len(group) > 0 {
				groups, group = append(groups, group), nil
			}
		case pass == PassForward:
			if last < 0 || len(group[last].backward) > 0 {
				group = append(group, turn{})
				last++
			}
			if k := p.kinds[p.w.Row[r]]; k.Class == ClassCast && k.To > 0 && k.To < 4 {
				group[last].casts = append(group[last].casts, r)
			}
		case pass == PassBackward && last >= 0:
			group[last].backward = append(group[last].backward, r)
		}
	}
	if !updates {
		return
	}
	for _, g := range append(groups, group) {
		if len(g) > 1 {
			p.ofUpdate(g)
		}
	}
}

// updatesWeights says whether a kernel is part of an update: an optimizer's by its name or by a range around its
// launch.
func (p *passCasts) updatesWeights(r int32) bool {
	switch pass := p.passes.Of[r]; {
	case pass == PassForward:
		return false
	case p.updates(int(p.w.Row[r]), p.kinds):
		return true
	case pass == PassBackward || p.w.Call[r] == NoCall:
		return false
	}
	t, call := p.Trace, p.w.Call[r]
	return inSet(p.ranges[p.ProcessOf(t.Calls.Thread[call])][PassUpdate], t.Calls.StartNs[call])
}

// ofUpdate finds the casts that passes of one update have in common with the first of them.
func (p *passCasts) ofUpdate(turns []turn) {
	known := false
	var weights [][]int32 // of each pass, by recorded shapes
	for _, t := range turns {
		var of []int32
		for _, r := range t.casts {
			role := p.castRole(r)
			known = known || role != roleOpen
			if role == roleWeight {
				of = append(of, r)
			}
		}
		weights = append(weights, of)
	}
	for i, t := range turns[1:] {
		switch grads := p.addedGrads(turns[0].backward, t.backward); {
		case known:
			p.add(&p.out.Again, p.matches(weights[i+1], weights[0]), weightsByShape, len(turns))
		case len(grads) > 0:
			p.add(&p.out.Again, p.matches(p.matches(t.casts, grads), turns[0].casts), weightsByGrads, len(turns))
		default:
			p.add(&p.out.Open, p.matches(t.casts, turns[0].casts), "", len(turns))
		}
	}
}

func (p *passCasts) add(to *[]int32, rows []int32, how string, passes int) {
	if len(rows) == 0 {
		return
	}
	*to = append(*to, rows...)
	p.out.Passes = max(p.out.Passes, passes)
	if how != "" {
		p.out.How = how
	}
}

// matches is the rows that find a counterpart of their size among others, each other taken once.
func (p *passCasts) matches(rows, others []int32) []int32 {
	left := slices.Clone(others)
	var out []int32
	for _, r := range rows {
		if i := slices.IndexFunc(left, func(o int32) bool { return p.sameElements(r, o) }); i >= 0 {
			out = append(out, r)
			left = slices.Delete(left, i, i+1)
		}
	}
	return out
}

// addedGrads is the kernels with which a backward adds to the gradients of the pass before: what AccumulateGrad
// launches, or pointwise kernels that the first backward, which has nothing to add to, does without.
func (p *passCasts) addedGrads(first, later []int32) []int32 {
	var byOp, more []int32
	seen := make(map[gradKey]int)
	for _, r := range first {
		seen[p.gradKey(r)]++
	}
	for _, r := range later {
		if p.kinds[p.w.Row[r]].Class != ClassPointwise {
			continue
		}
		if p.within(r, addsToGrad) {
			byOp = append(byOp, r)
		}
		if key := p.gradKey(r); seen[key] > 0 {
			seen[key]--
		} else if n, _ := p.elementsOf(r); n > 0 {
			more = append(more, r)
		}
	}
	if len(byOp) > 0 {
		return byOp
	}
	return more
}

// addsToGrad says whether an event is autograd's node that adds to a gradient.
func addsToGrad(e int32, o *OpTree) bool {
	return strings.Contains(o.Labels[o.Label[e]], "AccumulateGrad")
}

type gradKey struct {
	name model.StringID
	n    int64
}

func (p *passCasts) gradKey(r int32) gradKey {
	n, _ := p.elementsOf(r)
	return gradKey{p.Trace.Kernels.Name[p.w.Row[r]], n}
}

// within says whether an event around the launch of a piece of work is one of those looked for.
func (p *passCasts) within(r int32, is func(e int32, o *OpTree) bool) bool {
	t, call := p.Trace, p.w.Call[r]
	if call == NoCall || t.Ops.Len()+t.Ranges.Len() == 0 {
		return false
	}
	o := p.OpTree()
	if p.around == nil {
		p.around = o.aroundCalls(t.Calls.Len())
	}
	for e := p.around[call]; e != NotNested; e = o.Parent[e] {
		if is(e, o) {
			return true
		}
	}
	return false
}

// castRole is what a cast is of.
type castRole uint8

const (
	roleOpen castRole = iota
	roleWeight
	roleActivation
)

// hasWeights begins the names of operators that take an input, its weight and its bias, in this order.
var hasWeights = []string{"aten::linear", "aten::conv", "aten::_conv"}

// castRole tells weights from activations by the operator around a cast, which autocast makes for it: a cast in a
// linear layer or convolution is of the operand whose shape it has.
func (p *passCasts) castRole(r int32) castRole {
	if p.shapes == nil {
		p.texts, p.shapes = p.OpShapes()
	}
	own, role := "", roleOpen
	p.within(r, func(e int32, o *OpTree) bool {
		text := p.texts[p.shapes[e]]
		if text == "" {
			return false
		}
		if own == "" {
			own = operand(text, 0)
		}
		label := o.Labels[o.Label[e]]
		if !slices.ContainsFunc(hasWeights, func(w string) bool { return strings.HasPrefix(label, w) }) {
			return false
		}
		switch own {
		case "", "[]":
		case operand(text, 0):
			role = roleActivation
		case operand(text, 1), operand(text, 2):
			role = roleWeight
		}
		return true
	})
	return role
}

// operand is the shape of operand i in the recorded text of an operator's shapes, or "".
func operand(text string, i int) string {
	var shapes []json.RawMessage
	if json.Unmarshal([]byte(text), &shapes) != nil || i >= len(shapes) {
		return ""
	}
	return strings.ReplaceAll(string(shapes[i]), " ", "")
}

// sameElements says whether two pointwise kernels work on as many elements, as far as their grids tell.
func (p *passCasts) sameElements(a, b int32) bool {
	n, unitN := p.elementsOf(a)
	m, unitM := p.elementsOf(b)
	return n > 0 && m > 0 && max(n, m)-min(n, m) < max(unitN, unitM)
}

// elementsOf is how many elements a pointwise kernel works on, rounded up to unit; 0: not known.
func (p *passCasts) elementsOf(r int32) (n, unit int64) {
	k, i := &p.Trace.Kernels, p.w.Row[r]
	if len(k.GridX) == 0 || len(k.BlockX) == 0 {
		return 0, 0
	}
	unit = int64(k.BlockX[i]) * int64(p.kinds[i].PerThread)
	return int64(k.GridX[i]) * unit, unit
}
