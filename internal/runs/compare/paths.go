package compare

import (
	"slices"
	"sort"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
)

// maxPath is how many names a call path has at most, innermost ones: a recursion is no clearer with more.
const maxPath = 16

// paths books GPU work on call paths. Each distinct path is a node; a node is its parent and a name.
type paths struct {
	f     *facts.Facts
	tree  *facts.OpTree
	entry []int32 // of each row of Ops its event in the tree, or NotNested
	ids   map[pathKey]int32
	nodes []pathNode
	of    map[int32]int32 // event to node
}

type pathKey struct {
	parent int32
	label  uint32
}

type pathNode struct {
	pathKey
	calls, ms float64
	seen      map[int32]bool // operators counted already
}

func newPaths(f *facts.Facts) *paths {
	p := &paths{f: f, ids: make(map[pathKey]int32), of: make(map[int32]int32)}
	if f.Trace.Ops.Len() == 0 {
		return p
	}
	p.tree = f.OpTree()
	p.entry = make([]int32, f.Trace.Ops.Len())
	for e, row := range p.tree.Row {
		if p.tree.Kind[e] == facts.HostOp {
			p.entry[row] = int32(e)
		}
	}
	return p
}

// add books work on the path of the operator that launched it.
func (p *paths) add(op int32, ms, per float64) {
	if op == facts.NotNested || p.tree == nil {
		return
	}
	n := &p.nodes[p.node(p.entry[op], 0)]
	n.ms += ms
	if !n.seen[op] {
		if n.seen == nil {
			n.seen = make(map[int32]bool)
		}
		n.seen[op] = true
		n.calls += per
	}
}

// node is the node of an event: step markers and calls are not on paths.
func (p *paths) node(event int32, depth int) int32 {
	for event != facts.NotNested && !p.counts(event) {
		event = p.tree.Parent[event]
	}
	if event == facts.NotNested || depth == maxPath {
		return p.intern(pathKey{-1, ^uint32(0)})
	}
	if id, ok := p.of[event]; ok && depth == 0 {
		return id
	}
	parent, label := p.node(p.tree.Parent[event], depth+1), p.tree.Label[event]
	id := parent
	if p.nodes[parent].label != label { // an operator that calls itself again, as one under autocast does, is one
		id = p.intern(pathKey{parent, label})
	}
	if depth == 0 {
		p.of[event] = id
	}
	return id
}

func (p *paths) counts(event int32) bool {
	switch p.tree.Kind[event] {
	case facts.HostOp:
		return true
	case facts.HostRange:
		return p.f.RangeClasses()[p.tree.Row[event]] == facts.RangeUser
	}
	return false
}

func (p *paths) intern(k pathKey) int32 {
	id, ok := p.ids[k]
	if !ok {
		id = int32(len(p.nodes))
		p.ids[k] = id
		p.nodes = append(p.nodes, pathNode{pathKey: k})
	}
	return id
}

// list is the paths that launched work, by text.
func (p *paths) list() []Path {
	var out []Path
	for _, n := range p.nodes {
		if n.ms > 0 {
			out = append(out, Path{p.text(n.pathKey), n.calls, n.ms})
		}
	}
	slices.SortFunc(out, func(a, b Path) int { return strings.Compare(a.Text, b.Text) })
	return out
}

func (p *paths) text(k pathKey) string {
	var names []string
	for k.label != ^uint32(0) {
		names = append(names, p.tree.Labels[k.label])
		k = p.nodes[k.parent].pathKey
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// placeIn is where in its step an instant lies, 0 to 1.
func placeIn(steps []interval.Span, ns int64) float64 {
	i := sort.Search(len(steps), func(i int) bool { return steps[i].EndNs > ns })
	if i == len(steps) {
		return 1
	}
	return float64(ns-steps[i].StartNs) / float64(max(1, steps[i].LenNs()))
}
