package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lacuna/internal/timeline/facts"
)

// A Shape is an operator with the shapes of inputs that most of its GPU time goes to.
type Shape struct {
	Op    string
	Text  string // as the capture has it: [[32, 512], [512, 512]]
	Calls float64
	Ms    float64 // of all shapes
	all   map[string]bool
}

// shapes collects what shapes operators work on.
type shapes struct {
	f     *facts.Facts
	texts []string
	of    []uint32              // by event of the OpTree
	ms    map[[2]uint32]float64 // by label and text
	calls map[uint32]float64    // by label
	seen  map[int32]bool        // operators counted already
}

func newShapes(f *facts.Facts) *shapes {
	s := &shapes{f: f, ms: make(map[[2]uint32]float64), calls: make(map[uint32]float64), seen: make(map[int32]bool)}
	if f.Trace.Ops.Len() > 0 {
		s.texts, s.of = f.OpShapes()
	}
	return s
}

// add books work on the operator that launched it.
func (s *shapes) add(tree *facts.OpTree, event int32, ms, per float64) {
	if int(event) >= len(s.of) || event == facts.NotNested || s.of[event] == 0 {
		return
	}
	label := tree.Label[event]
	s.ms[[2]uint32{label, s.of[event]}] += ms
	if !s.seen[event] {
		s.seen[event] = true
		s.calls[label] += per
	}
}

// list is every operator with its usual shapes, by name.
func (s *shapes) list() []Shape {
	type most struct {
		whole, best float64
		text        string
		all         map[string]bool
	}
	by := make(map[uint32]most)
	keys := slices.SortedFunc(maps.Keys(s.ms), func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		ms := s.ms[key]
		m, text := by[key[0]], s.texts[key[1]]
		if m.all == nil {
			m.all = make(map[string]bool)
		}
		m.all[text] = true
		m.whole += ms
		if ms > m.best || ms == m.best && text < m.text {
			m.best, m.text = ms, text
		}
		by[key[0]] = m
	}
	var out []Shape
	for label, m := range by {
		out = append(out, Shape{s.f.OpTree().Labels[label], m.text, s.calls[label], m.whole, m.all})
	}
	slices.SortFunc(out, func(a, b Shape) int { return strings.Compare(a.Op, b.Op) })
	return out
}

// otherShapes is the share of the GPU time of operators that both sides call as often, from which on other shapes
// of most of it mean that the two sides do other work: another batch or sequence.
const otherShapes = 0.5

// shapesDiffer says that two captures work on other shapes; "": they do not, as far as is known.
func shapesDiffer(before, after []Shape) string {
	with := make(map[string]Shape)
	for _, s := range after {
		with[s.Op] = s
	}
	same, other := 0.0, 0.0
	var worst []Shape
	for _, b := range before {
		a, ok := with[b.Op]
		switch {
		case !ok || b.Calls == 0 || a.Calls/b.Calls > 1+callsSlack || a.Calls/b.Calls < 1-callsSlack:
		case a.Text == b.Text || a.all[b.Text]:
			same += b.Ms
		default:
			other += b.Ms
			worst = append(worst, b)
		}
	}
	if other <= otherShapes*(same+other) || other == 0 {
		return ""
	}
	slices.SortStableFunc(worst, func(a, b Shape) int { return cmp.Compare(b.Ms, a.Ms) })
	w := worst[0]
	return fmt.Sprintf("input shapes: %s had %s, now %s", w.Op, w.Text, with[w.Op].Text)
}
